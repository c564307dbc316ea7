//! The end of a server: what ends in which order, and what balancers and other nodes see of it.
//!
//! A single process stops its listeners, finishes open requests, and then its jobs. A process that shares its storage
//! first answers `GET /health` with `503` for a moment, so that balancers send requests elsewhere. Its listener for other
//! nodes ends last: other nodes send it the requests to its namespaces until these have been given up, and then it
//! refuses them, so that the sender finds the next owner.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::connections::Connections;
use super::endpoint::Endpoint;
use crate::app::App;
use crate::cluster::Ownership;
use crate::config::ServerSettings;

/// How long balancers have to notice that the server stops. Two health checks of the balancer in `packaging/cluster`
/// take 2 s.
const NOTICE: Duration = Duration::from_secs(3);

/// Listeners that serve until they are stopped together.
pub(super) struct Listeners {
    settings: ServerSettings,
    stop: watch::Sender<bool>,
    serving: JoinSet<()>,
}

impl Listeners {
    /// No listeners yet.
    pub(super) fn new(settings: &ServerSettings) -> Self {
        Self { settings: settings.clone(), stop: watch::Sender::new(false), serving: JoinSet::new() }
    }

    /// Begins to serve at a listener.
    pub(super) fn serve(&mut self, listener: TcpListener, endpoint: Endpoint) {
        let connections = Connections::new(&self.settings);
        self.serving.spawn(connections.serve(listener, self.stop.subscribe(), endpoint));
    }

    /// Makes the listeners accept no more connections.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until all open requests have finished.
    async fn finish(&mut self) {
        while self.serving.join_next().await.is_some() {}
    }
}

/// Announces the end to balancers, if there are other nodes that answer in place of this one. Returns the time that is
/// left for the rest.
pub(super) async fn announce(ownership: &Arc<Ownership>, shutdown: Duration) -> Duration {
    if ownership.is_alone() {
        // Stops at once, also if no blocking thread is free.
        return shutdown;
    }
    let began = Instant::now();
    let ownership = Arc::clone(ownership);
    // Waits for claims in progress, so it runs on a blocking thread.
    let has_peers = tokio::task::spawn_blocking(move || ownership.begin_drain()).await;
    if matches!(has_peers, Ok(true)) {
        let notice = NOTICE.min(shutdown / 4);
        tracing::info!(?notice, "this node stops: /health answers 503, and other nodes take its namespaces");
        tokio::time::sleep(notice).await;
    }
    shutdown.saturating_sub(began.elapsed())
}

/// Waits until open requests and workers have finished and all namespaces are given up, at most for a time.
/// `listeners` have been stopped.
pub(super) async fn finish(
    time: Duration,
    mut listeners: Listeners,
    mut nodes: Listeners,
    app: Arc<App>,
) -> anyhow::Result<()> {
    let drained = async move {
        listeners.finish().await;
        let ended = tokio::task::spawn_blocking(move || {
            app.jobs.drain();
            // After the jobs, which write to namespaces. Requests of other nodes are answered until here.
            app.namespaces.ownership().hand_over_all();
        });
        let ended = ended.await;
        nodes.stop();
        nodes.finish().await;
        ended
    };
    match tokio::time::timeout(time, drained).await {
        Ok(drained) => drained?,
        // Nothing is lost: accepted writes are durable.
        Err(_) => tracing::warn!("some work did not finish in time; accepted writes resume at the next start"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_single_process_stops_without_notice() {
        let shutdown = Duration::from_secs(30);
        assert_eq!(announce(&Arc::new(Ownership::alone()), shutdown).await, shutdown);
    }
}
