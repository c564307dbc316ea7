//! Everything that runs without a request: ingestion, re-embedding, sweeps and the settlement of wallets.
//!
//! [`Workers`] starts and stops the threads. [`ingestion`] takes writes from the queue, commits and indexes them, with
//! [`outage`] while the chat model does not respond and [`reextraction`] for kept conversations; [`attempt`] holds what
//! both kinds of extraction share. [`reembedding`] computes missing vectors; [`sweep`] removes expired data once a
//! minute and once an hour; [`settlement`] debits wallets.

mod attempt;
mod ingestion;
mod outage;
mod reembedding;
mod reextraction;
mod settlement;
mod sweep;

use std::sync::Arc;
use std::thread::JoinHandle;

use crate::service::Service;

/// The running worker threads.
pub struct Workers {
    service: Arc<Service>,
    threads: Vec<JoinHandle<()>>,
    /// Dropped to stop the sweep thread.
    sweeper: std::sync::mpsc::Sender<()>,
}

impl Workers {
    /// Starts the configured number of ingestion workers, the re-embedding thread and the sweep thread.
    pub fn start(service: &Arc<Service>) -> std::io::Result<Self> {
        let mut threads = Vec::new();
        for number in 0..service.config.ingestion.workers.get() {
            let service = Arc::clone(service);
            let thread = std::thread::Builder::new().name(format!("ingest-{number}"));
            threads.push(thread.spawn(move || ingestion::run(&service))?);
        }
        let (sweeper, stopped) = std::sync::mpsc::channel::<()>();
        let reembedding_service = Arc::clone(service);
        // A stop does not wait for this thread: its call to a model may hang, and vectors can be computed again.
        std::thread::Builder::new().name("vectors".into()).spawn(move || reembedding::run(&reembedding_service))?;
        let sweep_service = Arc::clone(service);
        let thread = std::thread::Builder::new().name("sweep".into());
        threads.push(thread.spawn(move || sweep::run(&sweep_service, &stopped))?);
        Ok(Self { service: Arc::clone(service), threads, sweeper })
    }

    /// Stops the workers after their current message. Queued messages are durable and resume at the next start.
    pub fn drain(self) {
        self.service.queue.stop();
        self.service.backlog.stop();
        drop(self.sweeper);
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a worker thread panicked");
            }
        }
        sweep::record(&self.service);
    }
}
