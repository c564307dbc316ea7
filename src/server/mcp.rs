//! `/v1/mcp`: the Model Context Protocol over streamable HTTP, without sessions.
//!
//! The gateway authenticates the caller as on every route. A tool calls the API within this process with the caller's
//! credential, so it has the same permissions, metering and errors as a direct request.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::activity::Activity;
use super::client_body::ClientBody;
use super::reply_memory::small_response;
use super::requests::{REQUEST_ID, RequestHandler, authorize_counted, request_id};
use super::response_body::ResponseBody;
use super::sender::Sender;
use crate::api::routes::BodyKind;
use crate::api::{BODY_BYTES_MAX, Reply};
use crate::mcp::Tools;
use crate::mcp::api::{ApiFuture, ApiRequest, ApiResponse};

/// The path of the endpoint.
const PATH: &str = "/v1/mcp";

/// Returns whether a request is for the Model Context Protocol.
pub(super) fn matches(request: &Request<ClientBody>) -> bool {
    request.uri().path() == PATH
}

/// Responds to one request and counts it.
pub(super) async fn respond_counted(
    handler: Arc<RequestHandler>,
    request: Request<ClientBody>,
    activity: Arc<Activity>,
) -> Response<ResponseBody> {
    let started = Instant::now();
    let id = request_id(request.headers());
    // Other methods are refused. The metrics do not name them, since clients can invent any.
    let method = if request.method() == Method::POST { "POST" } else { "" };
    let mut response = match answer(&handler, request, &activity).await {
        Ok(response) => response,
        Err(refusal) => small_response(refusal),
    };
    response.headers_mut().insert(REQUEST_ID, id);
    handler.metrics.record_request(method, PATH, response.status().as_u16(), started.elapsed());
    response
}

/// Answers one request; an error is the reply that refuses it.
async fn answer(
    handler: &Arc<RequestHandler>,
    request: Request<ClientBody>,
    activity: &Arc<Activity>,
) -> Result<Response<ResponseBody>, Reply> {
    let (mut head, body) = request.into_parts();
    let (headers, principal) = authorize_counted(&handler.gateway, head.headers).await?;
    activity.belongs_to(&principal.account);
    let authorization = headers.get(AUTHORIZATION).cloned();
    head.headers = headers;
    let sender = Sender::Account(principal.account);
    let body = handler.bodies.read(body, &sender, BodyKind::Json, handler.config.server.body_timeout).await?;
    let _permit = handler.admission.tool_call(&sender).await?;
    let api = InProcessApi { handler: Arc::clone(handler), authorization, activity: Arc::clone(activity) };
    // Every host name is allowed, since the gateway has authenticated the caller.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES_MAX)
        .disable_allowed_hosts();
    let tools = Tools::new(Arc::new(api), None);
    let service =
        StreamableHttpService::new(move || Ok(tools.clone()), Arc::new(NeverSessionManager::default()), config);
    let response = service.handle(Request::from_parts(head, Full::new(body.bytes.clone()))).await;
    let (head, answer) = response.into_parts();
    let bytes = match answer.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(never) => match never {},
    };
    let memory = handler.reply_memory.for_answer(&sender, bytes.len())?;
    Ok(Response::from_parts(head, ResponseBody::Bytes { bytes, memory }))
}

/// The API within this process, with the credential of one caller.
struct InProcessApi {
    handler: Arc<RequestHandler>,
    authorization: Option<HeaderValue>,
    activity: Arc<Activity>,
}

impl crate::mcp::api::Api for InProcessApi {
    fn send(&self, request: ApiRequest) -> ApiFuture<'_> {
        Box::pin(async move {
            let body = match request.body {
                Some(body) => serde_json::to_vec(&body)?,
                None => Vec::new(),
            };
            let mut request =
                Request::builder().method(request.method).uri(request.target).header(CONTENT_TYPE, "application/json");
            if let Some(authorization) = &self.authorization {
                request = request.header(AUTHORIZATION, authorization);
            }
            let request = request.body(Full::new(Bytes::from(body)))?;
            let response = Arc::clone(&self.handler).respond_by_route(request, Arc::clone(&self.activity)).await;
            let (head, body) = response.into_parts();
            let bytes = body.collect().await?.to_bytes();
            Ok(ApiResponse { status: head.status.as_u16(), body: serde_json::from_slice(&bytes).unwrap_or_default() })
        })
    }
}
