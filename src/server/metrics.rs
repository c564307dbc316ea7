//! The listener of the metrics: `GET /metrics`, without a credential, on a separate address.

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use super::activity::Activity;
use super::reply_memory::small_response;
use super::response_body::ResponseBody;
use crate::api::error::{self, ErrorFormat};
use crate::app::App;
use crate::error::Error;

/// The media type of OpenMetrics.
const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Responds to one request.
pub(super) async fn respond(
    app: Arc<App>,
    request: Request<Incoming>,
    activity: Arc<Activity>,
) -> Response<ResponseBody> {
    let _working = activity.work();
    if request.method() != Method::GET || request.uri().path() != "/metrics" {
        return small_response(error::reply(&error::no_route(), &ErrorFormat::Envelope));
    }
    let text = tokio::task::spawn_blocking(move || app.jobs.metrics_text()).await;
    match text.unwrap_or_else(|_| Err(Error::internal("reading the metrics panicked"))) {
        Ok(text) => {
            let mut response = Response::new(ResponseBody::from(Bytes::from(text)));
            *response.status_mut() = StatusCode::OK;
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
            response
        }
        Err(error) => small_response(error::reply(&error, &ErrorFormat::Envelope)),
    }
}
