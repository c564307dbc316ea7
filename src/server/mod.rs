//! The HTTP server: listeners, connections, requests and the shutdown.
//!
//! Async code ends in this folder. The server reads a request's body ([`body`]), runs its handler as blocking code
//! ([`requests`]) on tokio's blocking pool or on the retrieval threads, and sends the answer ([`response_body`]).
//! [`admission`] limits concurrent work, so that no account takes all of it. [`connections`] limits the number of
//! connections and how slow or silent a client may be, the same on every listener. [`write_wait`] answers a request when
//! its write has ended.
//!
//! [`endpoint`] lists what the listeners serve: the API, with [`git`] and [`mcp`] as protocols of their own below its
//! address, and [`pets`], [`dashboard`], [`metrics`] and [`sandbox`] on separate addresses. [`InProcess`] is the API
//! without a listener. Start reading at [`Server::run`].

#![expect(clippy::disallowed_types, reason = "this folder serves HTTP connections")]

mod activity;
mod admission;
mod at_owner;
mod body;
mod connections;
mod dashboard;
mod descriptors;
mod endpoint;
mod forwarding;
mod git;
mod in_process;
mod listen;
mod mcp;
mod metrics;
mod nodes;
mod pets;
mod reply_memory;
mod requests;
mod response_body;
mod sandbox;
mod sender;
mod slots;
mod timed_stream;
mod write_wait;

pub use self::in_process::InProcess;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::connections::Connections;
use self::endpoint::Endpoint;
use self::listen::{bind, bind_dashboard, bind_optional};
use self::pets::PetsEndpoint;
use self::requests::RequestHandler;
use crate::app::App;
use crate::config::{Config, StorageSettings};
use crate::dashboard::Dashboard;
use crate::gateway::Gateway;

/// A server whose sockets are bound and whose jobs run.
pub struct Server {
    listener: TcpListener,
    pets: Option<TcpListener>,
    sandbox: Option<TcpListener>,
    metrics: Option<TcpListener>,
    dashboard: Option<TcpListener>,
    /// For requests of other nodes.
    nodes: Option<TcpListener>,
    handler: Arc<RequestHandler>,
}

impl Server {
    /// Binds the addresses and starts the jobs.
    pub async fn bind(app: Arc<App>, config: Config) -> anyhow::Result<Self> {
        let listener = bind(&config.listeners.api, "--listen").await?;
        let pets = bind_optional(config.listeners.pets.listen.as_ref(), "--pets-listen").await?;
        let metrics = bind_optional(config.listeners.metrics.listen.as_ref(), "--metrics-listen").await?;
        let dashboard = Arc::new(Dashboard::new(&config)?);
        let dashboard_listener = bind_dashboard(&config, &dashboard).await?;
        let sandbox = match app.billing.sandbox() {
            Some(sandbox) => {
                let listener = bind(&config.payments.sandbox_listen, "setting payments.sandbox_listen").await?;
                sandbox.listens_at(format!("http://{}", listener.local_addr()?));
                Some(listener)
            }
            None => None,
        };
        let nodes = match &config.storage {
            StorageSettings::Shared(shared) => Some(bind(&shared.listen, "setting cluster.listen").await?),
            StorageSettings::Directory => None,
        };
        app.jobs.start()?;
        let gateway = Arc::new(Gateway::new(
            Arc::clone(&app.accounts),
            config.access.identity.as_ref(),
            &config.access.rate_limit,
        )?);
        let handler = Arc::new(RequestHandler::new(app, config, dashboard, gateway)?);
        Ok(Self { listener, pets, sandbox, metrics, dashboard: dashboard_listener, nodes, handler })
    }

    /// Returns the address of the API.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the address of the pets API, if it is served.
    pub fn pets_address(&self) -> Option<SocketAddr> {
        self.pets.as_ref()?.local_addr().ok()
    }

    /// Returns the address of the metrics, if they are served.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref()?.local_addr().ok()
    }

    /// Returns the dashboard.
    pub fn dashboard(&self) -> Arc<Dashboard> {
        Arc::clone(&self.handler.dashboard)
    }

    /// Returns the base URL of the API.
    pub fn url(&self) -> std::io::Result<String> {
        Ok(format!("http://{}", self.address()?))
    }

    /// Serves until `stop` completes. Then open requests finish, each worker finishes its current message, and buffered
    /// writes are synced.
    pub async fn run(self, stop: impl Future<Output = ()>) -> anyhow::Result<()> {
        let app = Arc::clone(&self.handler.app);
        let endpoint = Endpoint::api(Arc::clone(&self.handler))?;
        let mut settings = self.handler.config.server.clone();
        let shutdown = settings.shutdown;
        settings.connections = descriptors::connections(settings.connections);
        let (stop_listeners, stopped) = watch::channel(false);
        let mut listeners = JoinSet::new();
        for (listener, endpoint) in [
            (self.pets, Endpoint::Pets(PetsEndpoint::new(Arc::clone(&self.handler), app.animals.clone()))),
            (self.sandbox, Endpoint::Sandbox(Arc::clone(&app.billing))),
            (self.metrics, Endpoint::Metrics(Arc::clone(&app))),
            (self.nodes, Endpoint::Nodes(Arc::clone(&self.handler))),
            (self.dashboard, Endpoint::Dashboard(self.handler)),
            (Some(self.listener), endpoint),
        ] {
            if let Some(listener) = listener {
                listeners.spawn(Connections::new(&settings).serve(listener, stopped.clone(), endpoint));
            }
        }

        stop.await;
        // Cannot fail: `stopped` is still there to receive it.
        let _ = stop_listeners.send(true);
        // Requests that wait for their write are answered now.
        app.intake.end_waits();
        drain(shutdown, listeners, Arc::clone(&app)).await?;
        if let Err(error) = app.billing.flush_meters() {
            tracing::error!(%error, "the last counts of used units could not be written");
        }
        app.close()
    }
}

/// Waits until open requests and workers have finished, at most for the time that `server.shutdown` allows.
async fn drain(shutdown: Duration, mut listeners: JoinSet<()>, app: Arc<App>) -> anyhow::Result<()> {
    let drained = async move {
        while listeners.join_next().await.is_some() {}
        tokio::task::spawn_blocking(move || app.jobs.drain()).await
    };
    match tokio::time::timeout(shutdown, drained).await {
        Ok(drained) => drained?,
        // Nothing is lost: accepted writes are durable.
        Err(_) => tracing::warn!("some work did not finish in time; accepted writes resume at the next start"),
    }
    Ok(())
}
