//! Requests of the animals API.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Request, Response};

use super::body::Budget;
use super::connections::Activity;
use super::requests::{authorize, respond};
use crate::api::Reply;
use crate::api::query::QueryString;
use crate::api::routes::Body;
use crate::gateway::{Credential, Gateway};
use crate::pets::{PetError, PetRequest, Pets};
use crate::service::Service;

/// What answers the animals API's requests.
pub(super) struct Animals {
    service: Arc<Service>,
    gateway: Arc<Gateway>,
    bodies: Budget,
    pets: Pets,
}

impl Animals {
    pub(super) fn new(service: Arc<Service>, gateway: Arc<Gateway>, bodies: Budget) -> Arc<Self> {
        Arc::new(Self { service, gateway, bodies, pets: Pets::default() })
    }

    /// Answers one request.
    pub(super) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        activity: Arc<Activity>,
    ) -> Response<Full<Bytes>> {
        respond(self.reply(request, &activity).await.unwrap_or_else(|refused| refused))
    }

    async fn reply(self: Arc<Self>, request: Request<Incoming>, activity: &Arc<Activity>) -> Result<Reply, Reply> {
        let (head, body) = request.into_parts();
        let refused = |_| PetError::unauthorized().reply();
        let (_, principal) = authorize(&self.gateway, head.headers).await.map_err(refused)?;
        // API keys alone: a dashboard session has no environment.
        let Credential::Key { env, .. } = principal.credential else { return Err(PetError::unauthorized().reply()) };
        let body = self.bodies.read(body, Body::Json, self.service.config.server.body_timeout).await;
        let body = body.map_err(|_| PetError::unreadable().reply())?;
        let _working = activity.work();
        let answered = tokio::task::spawn_blocking(move || {
            self.pets.answer(&PetRequest {
                service: &self.service,
                account: &principal.account,
                environment: env,
                method: &head.method,
                path: head.uri.path(),
                query: &QueryString::parse(head.uri.query().unwrap_or_default()),
                body: &body.bytes,
            })
        });
        answered.await.map_err(|_| PetError::internal().reply())
    }
}
