//! The internal listener: requests that other nodes forward, because this one owns their namespace.
//!
//! A [`SignedBody`] fails at its end if it is not the body of the request's pass. A handler runs after its request's body
//! has been read to the end, so it never acts on another body.

use std::sync::Arc;

use http_body_util::{BodyExt, Limited};
use hyper::{Request, Response, StatusCode};

use super::activity::Activity;
use super::client_body::ClientBody;
use super::forwarding::{ForwardedCaller, QUESTIONS, check_protocol};
use super::git;
use super::reply_memory::small_response;
use super::requests::RequestHandler;
use super::response_body::ResponseBody;
use super::signed_body::SignedBody;
use crate::api::error::{self, ErrorFormat};
use crate::api::{Reply, peers};
use crate::error::Error;
use crate::gateway::Refusal;
use crate::metrics::NodeCall;

/// Maximum length of a question of a service, in bytes.
const QUESTION_BYTES_MAX: usize = 1 << 20;

/// Responds to a forwarded request. One of another version of the protocol, or without a valid pass, is refused.
pub(super) async fn respond(
    handler: Arc<RequestHandler>,
    request: Request<ClientBody>,
    activity: Arc<Activity>,
) -> Response<ResponseBody> {
    if let Err(refusal) = check_protocol(request.headers()) {
        return small_response(refusal);
    }
    let target = match request.uri().path_and_query() {
        Some(target) => target.as_str(),
        None => request.uri().path(),
    };
    let Some(pass) = handler.forwarding.verify(request.method(), target, request.headers()) else {
        return small_response(error::refusal(Refusal::Refused));
    };
    let mut request = request.map(|body| SignedBody::new(body, pass.body_sha256));
    if request.uri().path() == QUESTIONS {
        handler.metrics.record_received(NodeCall::Question);
        return answer_question(&handler, request).await;
    }
    handler.metrics.record_received(NodeCall::Request);
    request.extensions_mut().insert(ForwardedCaller(pass.caller));
    if git::matches(&request) {
        return git::respond(handler, request, activity).await;
    }
    handler.respond_by_route(request, activity).await
}

/// Answers a question of a service of another node, with what this node owns. It takes no slot: the request that asks
/// has one on its node, and two nodes must not wait for each other.
async fn answer_question(
    handler: &Arc<RequestHandler>,
    request: Request<SignedBody<ClientBody>>,
) -> Response<ResponseBody> {
    let Ok(body) = Limited::new(request.into_body(), QUESTION_BYTES_MAX).collect().await else {
        return small_response(Reply::new(StatusCode::BAD_REQUEST, Vec::new()));
    };
    let question = body.to_bytes();
    let app = Arc::clone(&handler.app);
    let reading = app.namespaces.ownership().begin_reading();
    let answer = tokio::task::spawn_blocking(move || peers::answer(&app, &question)).await;
    match answer.unwrap_or_else(|_| Err(Error::internal("the answer to a question of another node panicked"))) {
        Ok(answer) if handler.app.namespaces.ownership().may_return(reading) => {
            small_response(Reply::new(StatusCode::OK, answer))
        }
        // The session of this node ended during the answer, so another node may have changed what was read.
        Ok(_) => small_response(error::unavailable()),
        Err(error) => small_response(error::reply(&error, &ErrorFormat::Envelope)),
    }
}
