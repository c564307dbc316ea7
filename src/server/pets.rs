//! Requests to the pets API.

use std::sync::Arc;

use hyper::{Request, Response};

use super::activity::Activity;
use super::client_body::ClientBody;
use super::reply_memory::small_response;
use super::requests::{RequestHandler, authorize};
use super::response_body::ResponseBody;
use super::sender::Sender;
use crate::api::Reply;
use crate::api::query::QueryString;
use crate::api::routes::BodyKind;
use crate::gateway::Credential;
use crate::pets::{PetError, PetRequest, Pets};
use crate::service::animals::Animals;

/// Answers the requests to the pets API.
pub(super) struct PetsEndpoint {
    handler: Arc<RequestHandler>,
    pets: Pets,
}

impl PetsEndpoint {
    pub(super) fn new(handler: Arc<RequestHandler>, animals: Animals) -> Arc<Self> {
        Arc::new(Self { handler, pets: Pets::new(animals) })
    }

    /// Responds to one request.
    pub(super) async fn respond(
        self: Arc<Self>,
        request: Request<ClientBody>,
        activity: Arc<Activity>,
    ) -> Response<ResponseBody> {
        match self.reply(request, &activity).await {
            Ok(reply) | Err(reply) => small_response(reply),
        }
    }

    async fn reply(self: Arc<Self>, request: Request<ClientBody>, activity: &Arc<Activity>) -> Result<Reply, Reply> {
        let (head, body) = request.into_parts();
        let Ok((_, principal)) = authorize(&self.handler.gateway, head.headers).await else {
            return Err(PetError::unauthorized().reply());
        };
        activity.belongs_to(&principal.account);
        self.handler.gateway.admit(&principal).map_err(PetError::rate_limited)?;
        // Only API keys are accepted: a dashboard session has no environment.
        let Credential::Key { env, .. } = principal.credential else { return Err(PetError::unauthorized().reply()) };
        let account = principal.account;
        let sender = Sender::Account(account.clone());
        let timeout = self.handler.config.server.body_timeout;
        let Ok(body) = self.handler.bodies.read(body, &sender, BodyKind::Json, timeout).await else {
            return Err(PetError::unreadable().reply());
        };
        let _working = activity.work();
        let Ok(permit) = self.handler.admission.request(&sender).await else {
            return Err(PetError::unavailable());
        };
        let answered = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            self.pets.answer(&PetRequest {
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
