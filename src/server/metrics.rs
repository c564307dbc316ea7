//! The listener of the metrics: `GET /metrics`, without a credential, on a separate address.
//!
//! As on the other open routes, few requests run at once, and their answers count in the memory of answers.

use std::sync::Arc;

use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, Response, StatusCode};

use super::activity::Activity;
use super::client_body::ClientBody;
use super::reply_memory::{HeldReply, small_response};
use super::requests::RequestHandler;
use super::response_body::ResponseBody;
use super::sender::Sender;
use crate::api::Reply;
use crate::api::error::{self, ErrorFormat};
use crate::error::Error;

/// The only path of this listener.
const METRICS: &str = "/metrics";
/// The sender of all its requests.
static METRICS_SENDER: Sender = Sender::Route(METRICS);
/// The media type of OpenMetrics.
const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Responds to one request.
pub(super) async fn respond(
    handler: Arc<RequestHandler>,
    request: Request<ClientBody>,
    activity: Arc<Activity>,
) -> Response<ResponseBody> {
    let _working = activity.work();
    if request.uri().path() != METRICS {
        return small_response(error::no_route(&[]));
    }
    if request.method() != Method::GET {
        return small_response(error::no_route(&["GET"]));
    }
    match answer(&handler).await {
        Ok(reply) => reply.respond(),
        Err(refusal) => small_response(refusal),
    }
}

async fn answer(handler: &RequestHandler) -> Result<HeldReply, Reply> {
    let permit = handler.admission.open_request(&METRICS_SENDER).await?;
    let app = Arc::clone(&handler.app);
    let task = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        app.jobs.metrics_text()
    });
    let text = task.await.unwrap_or_else(|_| Err(Error::internal("reading the metrics panicked")));
    let text = text.map_err(|error| refuse(&error))?;
    let reply = Reply::new(StatusCode::OK, text).with(CONTENT_TYPE, MEDIA_TYPE);
    handler.reply_memory.hold_unlisted(&METRICS_SENDER, reply)
}

fn refuse(error: &Error) -> Reply {
    error::reply(error, &ErrorFormat::Envelope)
}
