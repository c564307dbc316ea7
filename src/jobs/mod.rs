//! Everything that runs without a request: ingestion, re-embedding, sweeps and the settlement of wallets.
//!
//! [`Workers`] starts and stops the threads. [`ingestion`] takes writes from the queue to a namespace's head, with
//! [`outage`] while the chat model does not respond and [`reextraction`] for kept conversations; [`reembedding`] computes
//! missing vectors; [`sweep`] removes expired data once a minute and once an hour; [`settlement`] debits wallets.

mod ingestion;
mod outage;
mod reembedding;
mod reextraction;
mod settlement;
mod sweep;

use std::sync::Arc;
use std::thread::JoinHandle;

use crate::service::Service;

/// Running workers.
pub struct Workers {
    service: Arc<Service>,
    threads: Vec<JoinHandle<()>>,
    sweeper: std::sync::mpsc::Sender<()>,
}

impl Workers {
    /// Starts the workers that the configuration asks for.
    pub fn start(service: &Arc<Service>) -> std::io::Result<Self> {
        let mut threads = Vec::new();
        for number in 0..service.config.ingestion_workers.max(1) {
            let service = Arc::clone(service);
            let thread = std::thread::Builder::new().name(format!("ingest-{number}"));
            threads.push(thread.spawn(move || ingestion::run(&service))?);
        }
        let (sweeper, stopped) = std::sync::mpsc::channel::<()>();
        let sweeping = Arc::clone(service);
        let renewing = Arc::clone(service);
        let renewal = std::thread::Builder::new().name("vectors".into());
        // Not waited for when the service ends: it may be asking a model that hangs, and all that it makes is derived.
        renewal.spawn(move || reembedding::run(&renewing))?;
        let thread = std::thread::Builder::new().name("sweep".into());
        threads.push(thread.spawn(move || sweep::run(&sweeping, &stopped))?);
        Ok(Self { service: Arc::clone(service), threads, sweeper })
    }

    /// Lets every worker finish the message at hand and ends them. What is still queued is durable and goes on at the
    /// next start.
    pub fn drain(self) {
        self.service.queue.stop();
        self.service.backlog.stop();
        drop(self.sweeper);
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("an ingestion worker panicked");
            }
        }
        sweep::record(&self.service);
    }
}
