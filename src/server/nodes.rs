//! The internal listener: requests that other nodes forward, because this one owns their namespace.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Response};

use super::activity::Activity;
use super::git;
use super::reply_memory::small_response;
use super::requests::RequestHandler;
use super::response_body::ResponseBody;
use crate::api::error;
use crate::gateway::Refusal;

/// Responds to a forwarded request. One without a valid pass is refused.
pub(super) async fn respond(
    handler: Arc<RequestHandler>,
    mut request: Request<Incoming>,
    activity: Arc<Activity>,
) -> Response<ResponseBody> {
    let target = match request.uri().path_and_query() {
        Some(target) => target.as_str(),
        None => request.uri().path(),
    };
    let Some(caller) = handler.forwarding.verify(request.method(), target, request.headers()) else {
        return small_response(error::refusal(Refusal::Refused));
    };
    request.extensions_mut().insert(caller);
    if git::matches(&request) {
        return git::respond(handler, request, activity).await;
    }
    handler.respond(request, activity).await
}
