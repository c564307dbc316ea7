//! The metrics' listener: `GET /metrics`, without a credential, on an address of its own.

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use super::answers::ResponseBody;
use super::connections::Activity;
use super::requests::respond;
use crate::api::error::{self, ErrorFormat};
use crate::error::Error;
use crate::service::Service;

/// As OpenMetrics wants it.
const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers one request.
pub(super) async fn answer(
    service: Arc<Service>,
    request: Request<Incoming>,
    activity: Arc<Activity>,
) -> Response<ResponseBody> {
    let _working = activity.work();
    if request.method() != Method::GET || request.uri().path() != "/metrics" {
        return respond(error::reply(&error::no_route(), &ErrorFormat::Envelope));
    }
    let read = tokio::task::spawn_blocking(move || service.metrics_text()).await;
    match read.unwrap_or_else(|_| Err(Error::internal("reading the metrics panicked"))) {
        Ok(text) => {
            let mut response = Response::new(ResponseBody::from(Bytes::from(text)));
            *response.status_mut() = StatusCode::OK;
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
            response
        }
        Err(failure) => respond(error::reply(&failure, &ErrorFormat::Envelope)),
    }
}
