//! The HTTP server: listeners, connections, requests and the shutdown.
//!
//! Async code ends in this folder. The server reads a request's body ([`body`]), runs its handler as blocking code
//! ([`requests`]) on tokio's blocking pool or on the retrieval threads, and sends the answer ([`response_body`]).
//! [`admission`] limits concurrent work, so that no account takes all of it. [`connections`] limits the number of
//! connections and how slow or silent a client may be, the same on every listener. [`client_body`] keeps a connection
//! usable after a response without the request's body. [`write_wait`] answers a request when its write has ended.
//!
//! [`endpoint`] lists what the listeners serve: the API, with [`git`] and [`mcp`] as protocols of their own below its
//! address, and [`pets`], [`dashboard`], [`metrics`] and [`sandbox`] on separate addresses. [`InProcess`] is the API
//! without a listener. Start reading at [`Server::run`]; [`drain`] has the end.

#![expect(clippy::disallowed_types, reason = "this folder serves HTTP connections")]

mod activity;
mod admission;
mod at_owner;
mod body;
mod chunk_writer;
mod chunks;
mod client_body;
mod connections;
mod dashboard;
mod descriptors;
mod drain;
mod endpoint;
mod forwarding;
mod git;
mod in_process;
mod listen;
mod mcp;
mod metrics;
mod nodes;
mod page_origin;
mod pets;
mod reply_memory;
mod requests;
mod response_body;
mod sandbox;
mod sender;
mod signed_body;
mod slots;
mod timed_stream;
mod write_wait;

pub use self::in_process::InProcess;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;

use self::drain::{Listeners, announce, finish};
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
        let access = &config.access;
        let gateway = Gateway::new(Arc::clone(&app.accounts), access.identity.as_ref(), &access.rate_limit)?;
        let gateway = Arc::new(gateway.among_nodes(app.namespaces.ownership()));
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
    /// writes are synced. A process that shares its storage announces this to balancers before, and gives up its
    /// namespaces.
    pub async fn run(self, stop: impl Future<Output = ()>) -> anyhow::Result<()> {
        let app = Arc::clone(&self.handler.app);
        let endpoint = Endpoint::api(Arc::clone(&self.handler))?;
        let mut settings = self.handler.config.server.clone();
        let shutdown = settings.shutdown;
        settings.connections = descriptors::connections(settings.connections);
        let mut listeners = Listeners::new(&settings);
        let mut nodes = Listeners::new(&settings);
        if let Some(listener) = self.nodes {
            nodes.serve(listener, Endpoint::Nodes(Arc::clone(&self.handler)));
        }
        for (listener, endpoint) in [
            (self.pets, Endpoint::Pets(PetsEndpoint::new(Arc::clone(&self.handler), app.animals.clone()))),
            (self.sandbox, Endpoint::Sandbox(Arc::clone(&app.billing))),
            (self.metrics, Endpoint::Metrics(Arc::clone(&self.handler))),
            (self.dashboard, Endpoint::Dashboard(self.handler)),
            (Some(self.listener), endpoint),
        ] {
            if let Some(listener) = listener {
                listeners.serve(listener, endpoint);
            }
        }

        stop.await;
        let left = announce(app.namespaces.ownership(), shutdown).await;
        listeners.stop();
        // Requests that wait for their write are answered now.
        app.intake.end_waits();
        // A file may take seconds to read. Its upload is refused now, and can be repeated.
        app.intake.document_readers().stop();
        finish(left, listeners, nodes, Arc::clone(&app)).await?;
        if let Err(error) = app.billing.flush_meters() {
            tracing::error!(%error, "the last counts of used units could not be written");
        }
        app.close()
    }
}
