//! The API without a socket: requests in memory, answered by the same code as requests from the network.
//!
//! Router, gateway, limits, metering, handlers and errors are those of [`super::requests`]. What belongs to a
//! connection is missing: git, the Model Context Protocol, CORS headers and time limits of connections.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response};

use super::activity::{Activity, WaitingConnections};
use super::requests::RequestHandler;
use crate::app::App;
use crate::config::Config;
use crate::dashboard::Dashboard;
use crate::gateway::Gateway;

/// The API of an open data directory, without a listener.
pub struct InProcess {
    handler: Arc<RequestHandler>,
    /// Every request belongs to a connection that never waits for its client.
    connections: Arc<WaitingConnections>,
}

impl InProcess {
    /// Makes the API of a data directory. The caller starts the jobs.
    ///
    /// # Errors
    ///
    /// The client of an external issuer cannot be created.
    pub fn new(app: Arc<App>, config: Config) -> anyhow::Result<Self> {
        let access = &config.access;
        let gateway = Gateway::new(Arc::clone(&app.accounts), access.identity.as_ref(), &access.rate_limit)?;
        let gateway = Arc::new(gateway.among_nodes(app.namespaces.ownership()));
        let dashboard = Arc::new(Dashboard::new(&config)?);
        let handler = Arc::new(RequestHandler::new(app, config, dashboard, gateway)?);
        Ok(Self { handler, connections: Arc::default() })
    }

    /// Responds to a request. Must be called within a tokio runtime that has timers.
    ///
    /// # Errors
    ///
    /// A file in the response cannot be read to its end, or differs from its upload.
    pub async fn respond(&self, request: Request<Bytes>) -> io::Result<Response<Bytes>> {
        let (head, body) = request.into_parts();
        let request = Request::from_parts(head, Full::new(body));
        let activity = Activity::new(Arc::clone(&self.connections));
        let response = Arc::clone(&self.handler).respond_by_route(request, activity).await;
        let (head, body) = response.into_parts();
        let bytes = body.collect().await?.to_bytes();
        Ok(Response::from_parts(head, bytes))
    }
}
