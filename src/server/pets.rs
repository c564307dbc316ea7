//! Requests to the pets API.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Response};

use super::activity::Activity;
use super::reply_memory::small_response;
use super::requests::{RequestHandler, authorize};
use super::response_body::ResponseBody;
use crate::api::Reply;
use crate::api::query::QueryString;
use crate::api::routes::BodyKind;
use crate::gateway::Credential;
use crate::pets::{PetError, PetRequest, Pets};

/// Answers the requests to the pets API.
pub(super) struct PetsEndpoint {
    handler: Arc<RequestHandler>,
    pets: Pets,
}

impl PetsEndpoint {
    pub(super) fn new(handler: Arc<RequestHandler>) -> Arc<Self> {
        Arc::new(Self { handler, pets: Pets::default() })
    }

    /// Responds to one request.
    pub(super) async fn respond(
        self: Arc<Self>,
        request: Request<Incoming>,
        activity: Arc<Activity>,
    ) -> Response<ResponseBody> {
        match self.reply(request, &activity).await {
            Ok(reply) | Err(reply) => small_response(reply),
        }
    }

    async fn reply(self: Arc<Self>, request: Request<Incoming>, activity: &Arc<Activity>) -> Result<Reply, Reply> {
        let (head, body) = request.into_parts();
        let Ok((_, principal)) = authorize(&self.handler.gateway, head.headers).await else {
            return Err(PetError::unauthorized().reply());
        };
        activity.belongs_to(principal.account.as_str());
        self.handler.gateway.admit(&principal).map_err(PetError::rate_limited)?;
        // Only API keys are accepted: a dashboard session has no environment.
        let Credential::Key { env, .. } = principal.credential else { return Err(PetError::unauthorized().reply()) };
        let account = principal.account;
        let timeout = self.handler.service.config.server.body_timeout;
        let Ok(body) = self.handler.bodies.read(body, account.as_str(), BodyKind::Json, timeout).await else {
            return Err(PetError::unreadable().reply());
        };
        let _working = activity.work();
        let Ok(permit) = self.handler.admission.request(account.as_str()).await else {
            return Err(PetError::unavailable());
        };
        let answered = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            self.pets.answer(&PetRequest {
                service: &self.handler.service,
                account: &account,
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
