//! The connections of a listener: their number is limited, both directions have time limits, and open requests finish
//! when the server stops.
//!
//! When the limit is reached, a new connection replaces one that waits for its client ([`super::activity`]).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::activity::{Activity, WaitingConnections};
use super::client_body::with_client_body;
use super::endpoint::Endpoint;
use super::response_body::ResponseBody;
use super::timed_stream::TimedStream;
use crate::config::ServerSettings;

/// Headers of one request, at most.
const HEADERS_MAX: usize = 100;
/// A longer request head is refused, however it arrives.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// Time that open requests have to finish when the server stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);

/// The connections of one listener.
pub(super) struct Connections {
    settings: ServerSettings,
    slots: Arc<Semaphore>,
    waiting: Arc<WaitingConnections>,
}

impl Connections {
    pub(super) fn new(settings: &ServerSettings) -> Self {
        let slots = Arc::new(Semaphore::new(settings.connections));
        Self { settings: settings.clone(), slots, waiting: Arc::default() }
    }

    /// Accepts connections and answers their requests until `stop` becomes true. Then open requests finish.
    pub(super) async fn serve(self, listener: TcpListener, mut stop: watch::Receiver<bool>, endpoint: Endpoint) {
        let graceful = GracefulShutdown::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Most likely the process has no file descriptor left: make room, and wait instead of spinning.
                    tracing::warn!(%error, "a connection could not be accepted");
                    self.waiting.close_one();
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            if self.slots.available_permits() == 0 {
                self.waiting.close_one();
            }
            let slot = tokio::select! {
                slot = Arc::clone(&self.slots).acquire_owned() => slot,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            // The semaphore is never closed.
            let Ok(slot) = slot else { break };
            self.spawn_connection(stream, slot, endpoint.clone(), &graceful);
        }
        drop(listener);
        if tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown()).await.is_err() {
            tracing::warn!("some requests did not finish in time and are cut off");
        }
    }

    /// Starts the task of one connection. It holds the slot until it ends.
    fn spawn_connection(
        &self,
        stream: TcpStream,
        slot: OwnedSemaphorePermit,
        endpoint: Endpoint,
        graceful: &GracefulShutdown,
    ) {
        // Small replies are sent at once.
        let _ = stream.set_nodelay(true);
        let activity = Activity::new(Arc::clone(&self.waiting));
        let shared = Arc::clone(&activity);
        let service = hyper::service::service_fn(move |request| {
            let response = respond(endpoint.clone(), request, Arc::clone(&shared));
            async move { Ok::<_, Infallible>(response.await) }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.settings.header_timeout)
            .max_headers(HEADERS_MAX)
            // The limit of the buffer alone would admit a longer head that arrives in one piece.
            .max_header_size(HEAD_BYTES_MAX)
            .max_buf_size(HEAD_BYTES_MAX)
            // A client may close its sending half after the request and still read the answer.
            .half_close(true)
            .serve_connection(TokioIo::new(TimedStream::new(stream, &self.settings)), service);
        let connection = graceful.watch(connection);
        let task = tokio::spawn(async move {
            // An error means that the client left or did not speak HTTP: nothing to do.
            let _ = connection.await;
            drop(slot);
        });
        activity.runs_as(task.abort_handle());
    }
}

/// Responds to one request. A body that was not read is read now if it is small; otherwise the connection closes.
async fn respond(endpoint: Endpoint, request: Request<Incoming>, activity: Arc<Activity>) -> Response<ResponseBody> {
    let (request, unread) = with_client_body(request);
    let mut response = endpoint.respond(request, activity).await;
    unread.finish(&mut response).await;
    response
}
