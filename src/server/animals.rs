//! Requests of the animals API.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::RETRY_AFTER;
use hyper::{Request, Response, StatusCode};
use serde_json::json;

use super::answers::ResponseBody;
use super::connections::Activity;
use super::requests::{RequestHandler, authorize, respond};
use crate::api::Reply;
use crate::api::query::QueryString;
use crate::api::routes::BodyKind;
use crate::gateway::Credential;
use crate::pets::{PetError, PetRequest, Pets};

/// What answers the animals API's requests.
pub(super) struct Animals {
    api: Arc<RequestHandler>,
    pets: Pets,
}

impl Animals {
    pub(super) fn new(api: Arc<RequestHandler>) -> Arc<Self> {
        Arc::new(Self { api, pets: Pets::default() })
    }

    /// Answers one request.
    pub(super) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        activity: Arc<Activity>,
    ) -> Response<ResponseBody> {
        respond(self.reply(request, &activity).await.unwrap_or_else(|refused| refused))
    }

    async fn reply(self: Arc<Self>, request: Request<Incoming>, activity: &Arc<Activity>) -> Result<Reply, Reply> {
        let (head, body) = request.into_parts();
        let refused = |_| PetError::unauthorized().reply();
        let (_, principal) = authorize(&self.api.gateway, head.headers).await.map_err(refused)?;
        activity.belongs_to(&principal.account);
        self.api.gateway.admit(&principal).map_err(rate_limited)?;
        // API keys alone: a dashboard session has no environment.
        let Credential::Key { env, .. } = principal.credential else { return Err(PetError::unauthorized().reply()) };
        let account = principal.account;
        let timeout = self.api.service.config.server.body_timeout;
        let body = self.api.bodies.read(body, &account, BodyKind::Json, timeout).await;
        let body = body.map_err(|_| PetError::unreadable().reply())?;
        let _working = activity.work();
        let running = self.api.request_turn(&account).await.map_err(|_| unavailable())?;
        let answered = tokio::task::spawn_blocking(move || {
            let _running = running;
            self.pets.answer(&PetRequest {
                service: &self.api.service,
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

/// Too many requests of one account, as this API's errors look.
fn rate_limited(retry_after: u64) -> Reply {
    let message = format!("too many requests: try again in {retry_after} s");
    refusal(StatusCode::TOO_MANY_REQUESTS, "rate_limited", &message).with(RETRY_AFTER, &retry_after.to_string())
}

/// Too many requests at once.
fn unavailable() -> Reply {
    let message = "too much is worked on at once: try again in a second";
    refusal(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message).with(RETRY_AFTER, "1")
}

fn refusal(status: StatusCode, code: &str, message: &str) -> Reply {
    let body = json!({"code": code, "message": message, "status": status.as_u16()});
    Reply { status, headers: Vec::new(), body: body.to_string().into() }
}
