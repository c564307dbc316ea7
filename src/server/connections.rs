//! What every listener has in common: a cap on connections, deadlines on both directions, and a drain at the end.
//!
//! At the cap a new connection takes the place of the one that has kept us waiting longest for a whole request, so
//! that clients which connect and say nothing, or say it a byte at a time, do not keep others out.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;

use super::stalled::Stalled;
use crate::config::ServerSettings;

/// Headers of one request, at most.
const HEADERS_MAX: usize = 100;
/// A request's head is refused when it is not whole after so many bytes. What arrives in one piece with the last of them
/// counts too, so a head of up to twice this may pass.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// Open requests get so long to finish when the server stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);

/// The connections of one listener.
pub(super) struct Connections {
    settings: ServerSettings,
    places: Arc<Semaphore>,
    waiting: Arc<Waiting>,
}

/// Connections that we wait for, the longest wait first: by the number of the moment when the wait began.
#[derive(Default)]
struct Waiting {
    held: Mutex<(u64, BTreeMap<u64, AbortHandle>)>,
}

/// Whether one connection keeps us waiting, or we keep it waiting.
pub(super) struct Activity {
    waiting: Arc<Waiting>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The connection's task, once it runs.
    task: Option<AbortHandle>,
    /// Its place among those that we wait for.
    turn: Option<u64>,
    /// Whether a request of it is being worked on.
    working: bool,
}

impl Activity {
    fn new(waiting: Arc<Waiting>) -> Arc<Self> {
        Arc::new(Self { waiting, state: Mutex::default() })
    }

    /// The connection runs as this task; until it has sent a request we wait for it.
    fn runs_as(&self, task: AbortHandle) {
        let mut state = self.state.lock();
        state.task = Some(task);
        // It may have been quick.
        if !state.working {
            self.wait(&mut state);
        }
    }

    /// From now on we wait for the client.
    fn wait(&self, state: &mut State) {
        let Some(task) = state.task.clone() else { return };
        let mut held = self.waiting.held.lock();
        held.0 += 1;
        let turn = held.0;
        held.1.insert(turn, task);
        if let Some(former) = state.turn.replace(turn) {
            held.1.remove(&former);
        }
    }

    /// The whole request is here: until the guard is dropped the client waits for us.
    pub(super) fn work(self: &Arc<Self>) -> Working {
        let mut state = self.state.lock();
        state.working = true;
        if let Some(turn) = state.turn.take() {
            self.waiting.held.lock().1.remove(&turn);
        }
        Working(Arc::clone(self))
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        if let Some(turn) = self.state.get_mut().turn.take() {
            self.waiting.held.lock().1.remove(&turn);
        }
    }
}

/// A request is being worked on.
pub(super) struct Working(Arc<Activity>);

impl Drop for Working {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.working = false;
        self.0.wait(&mut state);
    }
}

impl Connections {
    pub(super) fn new(settings: &ServerSettings) -> Self {
        let places = Arc::new(Semaphore::new(settings.connections));
        Self { settings: settings.clone(), places, waiting: Arc::default() }
    }

    /// Answers every request of every connection until it is told to halt, then lets open ones finish.
    pub(super) async fn serve<F, A, B>(self, listener: TcpListener, mut halted: watch::Receiver<bool>, answer: F)
    where
        F: Fn(Request<Incoming>, Arc<Activity>) -> A + Clone + Send + 'static,
        A: Future<Output = Response<B>> + Send,
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
    {
        let graceful = GracefulShutdown::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = halted.wait_for(|halted| *halted) => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors, most likely: make room, and wait rather than spin.
                    tracing::warn!(%error, "a connection could not be accepted");
                    self.give_up_longest_wait();
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            if self.places.available_permits() == 0 {
                self.give_up_longest_wait();
            }
            let place = tokio::select! {
                place = Arc::clone(&self.places).acquire_owned() => place,
                _ = halted.wait_for(|halted| *halted) => break,
            };
            // Never closed while this runs.
            let Ok(place) = place else { break };
            // Small replies must not wait for more to send.
            let _ = stream.set_nodelay(true);
            let activity = Activity::new(Arc::clone(&self.waiting));
            let (shared, answer) = (Arc::clone(&activity), answer.clone());
            let service = hyper::service::service_fn(move |request| {
                let answered = answer(request, Arc::clone(&shared));
                async move { Ok::<_, Infallible>(answered.await) }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(self.settings.header_timeout)
                .max_headers(HEADERS_MAX)
                .max_buf_size(HEAD_BYTES_MAX)
                // A client may close its sending half after the request and still read the answer.
                .half_close(true)
                .serve_connection(TokioIo::new(Stalled::new(stream, self.settings.write_timeout)), service);
            let connection = graceful.watch(connection);
            let task = tokio::spawn(async move {
                // A client that went away or spoke no HTTP is its own affair.
                let _ = connection.await;
                drop(place);
            });
            activity.runs_as(task.abort_handle());
        }
        drop(listener);
        if tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown()).await.is_err() {
            tracing::warn!("some requests did not finish in time and are cut off");
        }
    }

    fn give_up_longest_wait(&self) {
        if let Some((_, task)) = self.waiting.held.lock().1.pop_first() {
            task.abort();
        }
    }
}
