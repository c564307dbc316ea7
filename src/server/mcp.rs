//! `/v1/mcp`: the Model Context Protocol over streamable HTTP, without sessions.
//!
//! The gateway stands before it as before any route. A tool's request then goes through the API in this process, with the
//! caller's own credential: it may do what that may do, is counted the same, and is refused in the same words.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::answers::ResponseBody;
use super::connections::Activity;
use super::requests::{REQUEST_ID, RequestHandler, admitted, request_id, respond};
use crate::api::routes::BodyKind;
use crate::api::{BODY_BYTES_MAX, Reply};
use crate::mcp::Tools;
use crate::mcp::api::{ApiFuture, ApiRequest, ApiResponse};

/// Where it is.
const PATH: &str = "/v1/mcp";

/// Whether a request is one of the Model Context Protocol.
pub(super) fn matches(request: &Request<Incoming>) -> bool {
    request.uri().path() == PATH
}

/// Responds to one request and counts it.
pub(super) async fn respond_counted(
    api: Arc<RequestHandler>,
    request: Request<Incoming>,
    activity: Arc<Activity>,
) -> Response<ResponseBody> {
    let (began, id) = (Instant::now(), request_id(request.headers()));
    // Other methods are refused, and the client may have made them up.
    let method = if request.method() == Method::POST { "POST" } else { "" };
    let mut response = match answer(&api, request, &activity).await {
        Ok(response) => response,
        Err(refusal) => respond(refusal),
    };
    response.headers_mut().insert(REQUEST_ID, id);
    api.service.metrics.answered(method, PATH, response.status().as_u16(), began.elapsed());
    response
}

/// Answers one request.
async fn answer(
    api: &Arc<RequestHandler>,
    request: Request<Incoming>,
    activity: &Arc<Activity>,
) -> Result<Response<ResponseBody>, Reply> {
    let (mut head, body) = request.into_parts();
    let (headers, principal) = admitted(&api.gateway, head.headers).await?;
    activity.belongs_to(&principal.account);
    let authorization = headers.get(AUTHORIZATION).cloned();
    head.headers = headers;
    let account = principal.account.as_str();
    let held = api.bodies.read(body, account, BodyKind::Json, api.service.config.server.body_timeout).await?;
    let _running = api.tool_turn(account).await?;
    let within = Arc::new(InProcessApi { api: Arc::clone(api), authorization, activity: Arc::clone(activity) });
    // The gateway has let the caller in, so it does not matter which name the host was called by.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES_MAX)
        .disable_allowed_hosts();
    let tools = Tools::new(within, None);
    let service =
        StreamableHttpService::new(move || Ok(tools.clone()), Arc::new(NeverSessionManager::default()), config);
    let response = service.handle(Request::from_parts(head, Full::new(held.bytes.clone()))).await;
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.map_or_else(|never| match never {}, http_body_util::Collected::to_bytes);
    let memory = api.answer_memory(account, bytes.len())?;
    Ok(Response::from_parts(head, ResponseBody::Bytes { bytes, memory }))
}

/// The API in this process, as one caller.
struct InProcessApi {
    api: Arc<RequestHandler>,
    authorization: Option<HeaderValue>,
    activity: Arc<Activity>,
}

impl crate::mcp::api::Api for InProcessApi {
    fn send(&self, asked: ApiRequest) -> ApiFuture<'_> {
        Box::pin(async move {
            let body = asked.body.map(|body| serde_json::to_vec(&body)).transpose()?.unwrap_or_default();
            let mut request =
                Request::builder().method(asked.method).uri(asked.target).header(CONTENT_TYPE, "application/json");
            if let Some(authorization) = &self.authorization {
                request = request.header(AUTHORIZATION, authorization);
            }
            let request = request.body(Full::new(Bytes::from(body)))?;
            let response = Arc::clone(&self.api).answer_route(request, Arc::clone(&self.activity)).await;
            let (head, body) = response.into_parts();
            let bytes = body.collect().await?.to_bytes();
            Ok(ApiResponse { status: head.status.as_u16(), body: serde_json::from_slice(&bytes).unwrap_or_default() })
        })
    }
}
