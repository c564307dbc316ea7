//! Making buffered writes durable, with one commit for all callers that wait, and noticing a server that lost some.
//!
//! A buffered write commits without waiting for the disk and the standby. The server writes its log in order, so a later
//! commit that waits for them covers all writes before it. That holds for writes to the same server only: a standby that
//! took its place may lack them.
//!
//! All syncs of a process therefore use one connection, which is opened before the writes that it is to cover. When it is
//! lost, the generation changes, and a sync for the former generation fails. The connection writes a token. Every other
//! connection is lent only to a server that has the token, so never to a former primary.
//!
//! A promoted standby has the token too, while this connection may still lead to the primary before it. A sync there does
//! not succeed, because it waits for the standby. That needs a synchronous standby: without one, writes that were
//! acknowledged may be lost in a fail-over anyway.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::ClientWrapper;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval};
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;
use ulid::Ulid;

use super::connections::Connections;
use super::deadline::Deadline;
use super::errors::{convert, is_passing};
use super::schema::create_tables;
use crate::error::{DiskTrouble, Error, Result};
use crate::key_value::OpenGeneration;

const SYNC: &str = "INSERT INTO cuebase_syncs (process, token, syncs) VALUES ($1, $2, 1) \
    ON CONFLICT (process) DO UPDATE SET token = EXCLUDED.token, syncs = cuebase_syncs.syncs + 1";
/// Requests that may wait.
const REQUESTS_MAX: usize = 4096;
/// How often the task looks whether its connection is lost.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Sends requests to the task that syncs.
#[derive(Clone)]
pub(super) struct Syncs {
    requests: mpsc::Sender<Request>,
    state: Arc<State>,
}

/// What callers learn without asking the task.
#[derive(Default)]
struct State {
    generation: AtomicU64,
    /// Whether the connection is lost or fails, and was not opened again yet.
    is_lost: AtomicBool,
}

impl State {
    fn generation(&self) -> OpenGeneration {
        OpenGeneration(self.generation.load(Ordering::SeqCst))
    }
}

/// What a caller waits for.
enum Request {
    /// That all writes since a generation are durable.
    Sync { since: OpenGeneration, done: oneshot::Sender<Result<()>> },
    /// That the connection is open, and its generation.
    Generation { done: oneshot::Sender<OpenGeneration> },
}

/// The task that owns the connection.
struct Task {
    connections: Connections,
    state: Arc<State>,
    connection: Connection,
}

/// The connection, its prepared statement and their parameters.
struct Connection {
    client: ClientWrapper,
    sync: Statement,
    process: String,
    token: String,
}

impl Syncs {
    /// Opens the connection, creates missing tables, and starts the task on the current runtime. It ends when the last
    /// [`Syncs`] is dropped.
    pub(super) async fn start(connections: &Connections) -> Result<Self> {
        let connection = Connection::open(connections).await?;
        let (requests, received) = mpsc::channel(REQUESTS_MAX);
        let state = Arc::new(State::default());
        let task = Task { connections: connections.clone(), state: Arc::clone(&state), connection };
        tokio::spawn(task.run(received));
        Ok(Self { requests, state })
    }

    /// The generation of the last open connection.
    pub(super) fn last_generation(&self) -> OpenGeneration {
        self.state.generation()
    }

    /// Whether the connection is lost, as far as the task has noticed.
    pub(super) fn is_lost(&self) -> bool {
        self.state.is_lost.load(Ordering::SeqCst)
    }

    /// Opens the connection again if it is lost. Returns the current generation. Waits for a sync that runs.
    pub(super) async fn generation(&self) -> Result<OpenGeneration> {
        let (done, answer) = oneshot::channel();
        self.requests.send(Request::Generation { done }).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())
    }

    /// Makes all writes durable that returned before the call.
    pub(super) async fn sync(&self, since: OpenGeneration) -> Result<()> {
        let (done, answer) = oneshot::channel();
        self.requests.send(Request::Sync { since, done }).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }
}

impl Task {
    async fn run(mut self, mut received: mpsc::Receiver<Request>) {
        let mut checks = interval(CHECK_INTERVAL);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let mut requests = Vec::new();
            tokio::select! {
                request = received.recv() => match request {
                    Some(request) => requests.push(request),
                    None => return,
                },
                _ = checks.tick() => {}
            }
            // Callers write before they request a sync, so one commit covers all requests that are here.
            while let Ok(request) = received.try_recv() {
                requests.push(request);
            }
            if self.connection.client.is_closed() || self.state.is_lost.load(Ordering::SeqCst) {
                self.reopen().await;
            }
            self.answer(requests).await;
        }
    }

    async fn answer(&mut self, requests: Vec<Request>) {
        let current = self.state.generation();
        let mut waiting = Vec::new();
        for request in requests {
            match request {
                Request::Generation { done } => {
                    // A caller that no longer waits needs no answer, here and below.
                    let _ = done.send(current);
                }
                Request::Sync { since, done } if since == current => waiting.push(done),
                Request::Sync { done, .. } => {
                    let _ = done.send(Err(lost()));
                }
            }
        }
        if waiting.is_empty() {
            return;
        }
        let synced = self.connection.sync().await;
        if synced.is_err() {
            // The connection may hang as well as be closed, so it is opened again in any case.
            self.state.is_lost.store(true, Ordering::SeqCst);
        }
        for done in waiting {
            let result = match &synced {
                Ok(()) => Ok(()),
                Err(error) => Err(repeated(error)),
            };
            let _ = done.send(result);
        }
    }

    /// Opens the connection again, which begins a generation. Keeps the lost one if that fails.
    async fn reopen(&mut self) {
        match Connection::open(&self.connections).await {
            Ok(connection) => {
                self.connection = connection;
                self.state.generation.fetch_add(1, Ordering::SeqCst);
                self.state.is_lost.store(false, Ordering::SeqCst);
                tracing::info!("the connection to the database is open again");
            }
            Err(error) => {
                self.state.is_lost.store(true, Ordering::SeqCst);
                tracing::warn!(%error, "the connection to the database is lost");
            }
        }
    }
}

impl Connection {
    /// Opens the connection, and tries again while the server cannot be reached.
    async fn open(connections: &Connections) -> Result<Self> {
        let deadline = Deadline::of_call();
        loop {
            match deadline.limit(Self::open_once(connections)).await {
                Err(error) if is_passing(&error) && deadline.pause().await => {}
                opened => return opened,
            }
        }
    }

    async fn open_once(connections: &Connections) -> Result<Self> {
        let client = connections.open().await?;
        create_tables(&client).await?;
        let sync = client.prepare_cached(SYNC).await.map_err(convert)?;
        let connection =
            Self { client, sync, process: connections.origin().process, token: Ulid::generate().to_string() };
        connection.sync().await?;
        connections.set_token(connection.token.clone());
        Ok(connection)
    }

    /// Commits a change of the process's row, and waits for the disk and the standby.
    async fn sync(&self) -> Result<()> {
        let commit = async {
            let parameters: [&(dyn ToSql + Sync); 2] = [&self.process, &self.token];
            self.client.execute(&self.sync, &parameters).await.map_err(convert)
        };
        Deadline::of_call().limit(commit).await?;
        Ok(())
    }
}

fn ended() -> Error {
    Error::Engine { trouble: None, source: "the connection to the database was closed".into() }
}

fn lost() -> Error {
    let source = "the connection to the database was lost before the preceding writes were durable".into();
    Error::Engine { trouble: Some(DiskTrouble::Unreachable), source }
}

/// The error of a shared sync, for each of its callers.
fn repeated(error: &Error) -> Error {
    Error::Engine { trouble: error.disk_trouble(), source: error.to_string().into() }
}
