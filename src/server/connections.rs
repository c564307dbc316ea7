//! What every listener has in common: a cap on connections, deadlines on both directions, and a drain at the end.
//!
//! At the cap a new connection takes the place of one that keeps us waiting for a whole request, or that takes its answer
//! slowly: of the account that has most such connections, the one that has waited longest. Connections that sent no good
//! credential yet count as one account. So clients which connect and say nothing, or say it a byte at a time, do not keep
//! others out, and no account's connections push out another's.

use std::collections::{BTreeMap, HashMap};
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
/// A request's head that is longer is refused, however it arrives.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// Open requests get so long to finish when the server stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);

/// The connections of one listener.
pub(super) struct Connections {
    settings: ServerSettings,
    places: Arc<Semaphore>,
    waiting: Arc<Waiting>,
}

/// Accounts that are remembered while none of their connections waits, so that the next wait allocates less.
const REMEMBERED_MAX: usize = 1024;

/// Connections that we wait for.
#[derive(Default)]
struct Waiting {
    queues: Mutex<Queues>,
}

/// Waiting connections by account; of each the longest wait first, by the number of the moment when it began.
#[derive(Default)]
struct Queues {
    last: u64,
    accounts: HashMap<Arc<str>, BTreeMap<u64, AbortHandle>>,
}

impl Queues {
    fn insert(&mut self, account: &Arc<str>, turn: u64, task: AbortHandle) {
        if let Some(queue) = self.accounts.get_mut(account) {
            queue.insert(turn, task);
            return;
        }
        self.accounts.insert(Arc::clone(account), BTreeMap::from([(turn, task)]));
    }

    fn remove(&mut self, account: &Arc<str>, turn: u64) -> Option<AbortHandle> {
        let many = self.accounts.len() > REMEMBERED_MAX;
        let queue = self.accounts.get_mut(account)?;
        let removed = queue.remove(&turn);
        if many && queue.is_empty() {
            self.accounts.remove(account);
        }
        removed
    }

    /// The longest wait of the account that has most connections waiting.
    fn pop(&mut self) -> Option<AbortHandle> {
        let most = self.accounts.values_mut().max_by_key(|queue| queue.len())?;
        most.pop_first().map(|(_, task)| task)
    }
}

/// Whether one connection keeps us waiting, or we keep it waiting.
pub(super) struct Activity {
    waiting: Arc<Waiting>,
    state: Mutex<State>,
}

struct State {
    /// Whose connection it is; empty until a request had a good credential.
    account: Arc<str>,
    /// The connection's task, once it runs.
    task: Option<AbortHandle>,
    /// Its place among those that we wait for.
    turn: Option<u64>,
    /// Whether a request of it is being worked on.
    working: bool,
}

impl Activity {
    fn new(waiting: Arc<Waiting>) -> Arc<Self> {
        let state = State { account: Arc::from(""), task: None, turn: None, working: false };
        Arc::new(Self { waiting, state: Mutex::new(state) })
    }

    /// The connection's requests are an account's.
    pub(super) fn belongs_to(&self, account: &str) {
        let mut state = self.state.lock();
        if *state.account == *account {
            return;
        }
        let former = std::mem::replace(&mut state.account, Arc::from(account));
        let Some(turn) = state.turn else { return };
        let mut queues = self.waiting.queues.lock();
        if let Some(task) = queues.remove(&former, turn) {
            queues.insert(&state.account, turn, task);
        }
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
        let mut queues = self.waiting.queues.lock();
        queues.last += 1;
        let turn = queues.last;
        queues.insert(&state.account, turn, task);
        if let Some(former) = state.turn.replace(turn) {
            queues.remove(&state.account, former);
        }
    }

    /// The whole request is here: until the guard is dropped the client waits for us.
    pub(super) fn work(self: &Arc<Self>) -> Working {
        let mut state = self.state.lock();
        state.working = true;
        if let Some(turn) = state.turn.take() {
            self.waiting.queues.lock().remove(&state.account, turn);
        }
        Working(Arc::clone(self))
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        if let Some(turn) = state.turn.take() {
            self.waiting.queues.lock().remove(&state.account, turn);
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
                    self.give_up_one();
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            if self.places.available_permits() == 0 {
                self.give_up_one();
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
                // The buffer's own limit lets pass what arrives in one piece with its last bytes.
                .max_header_size(HEAD_BYTES_MAX)
                .max_buf_size(HEAD_BYTES_MAX)
                // A client may close its sending half after the request and still read the answer.
                .half_close(true)
                .serve_connection(TokioIo::new(Stalled::new(stream, &self.settings)), service);
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

    fn give_up_one(&self) {
        if let Some(task) = self.waiting.queues.lock().pop() {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_with_most_waiting_connections_gives_one_up() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let tasks: Vec<_> = (0..4).map(|_| runtime.spawn(std::future::pending::<()>())).collect();
        let (greedy, modest): (Arc<str>, Arc<str>) = (Arc::from("greedy"), Arc::from("modest"));
        let mut queues = Queues::default();
        queues.insert(&modest, 1, tasks[0].abort_handle());
        for (turn, task) in (2..).zip(&tasks[1..]) {
            queues.insert(&greedy, turn, task.abort_handle());
        }
        // Two of three go, the longest wait first, and then they are as many as each other's.
        for expected in [1, 2] {
            let given_up = queues.pop().expect("one");
            assert_eq!(given_up.id(), tasks[expected].id());
        }
        assert_eq!(queues.accounts.values().map(BTreeMap::len).collect::<Vec<_>>(), [1, 1]);
        assert!(queues.remove(&modest, 1).is_some() && queues.remove(&modest, 1).is_none());
    }
}
