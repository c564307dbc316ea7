//! The listener of the dashboard: its page, the sign-in routes, and the API, git and MCP under the same origin.
//!
//! The page's API requests pass the gateway like all others. The listener has its files and four further routes, which
//! are for the page and programs only ([`page_origin`]):
//!
//! - `GET /session` lists the ways to sign in.
//! - `POST /session` exchanges a one-time code, or the code of an external issuer, for a session.
//! - `GET /features` returns the configured features.
//! - `POST /markdown` renders markdown for signed-in users.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::json;

use super::activity::Activity;
use super::admission::RunPermit;
use super::client_body::ClientBody;
use super::git;
use super::mcp;
use super::page_origin;
use super::reply_memory::HeldReply;
use super::requests::{RequestHandler, authorize_counted};
use super::response_body::ResponseBody;
use super::sender::Sender;
use crate::accounts::Accounts;
use crate::api::Reply;
use crate::api::error::{self, ErrorFormat};
use crate::api::routes::BodyKind;
use crate::billing::Billing;
use crate::dashboard::Dashboard;
use crate::dashboard::sign_in::Returned;
use crate::dashboard::{markdown, pages};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::request::invalid_body;

/// Allows nothing from other origins, nothing inline, and no framing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
/// The path of the sign-in routes.
const SESSION: &str = "/session";
/// The sender of all requests to sign in.
static SESSION_SENDER: Sender = Sender::Route(SESSION);
/// The path that renders markdown.
const MARKDOWN: &str = "/markdown";
/// The path of the configured features.
const FEATURES: &str = "/features";
/// The prefixes of the API's paths.
const API_PREFIXES: [&str; 2] = ["/v1", "/health"];

/// Responds to one request.
pub(super) async fn respond(
    handler: Arc<RequestHandler>,
    request: Request<ClientBody>,
    activity: Arc<Activity>,
) -> Response<ResponseBody> {
    if git::matches(&request) {
        return git::respond(handler, request, activity).await;
    }
    if mcp::matches(&request) {
        return mcp::respond_counted(handler, request, activity).await;
    }
    if is_api_path(request.uri().path()) {
        return handler.respond(request, activity).await;
    }
    let reply = answer(&handler, request, &activity).await;
    let mut response = reply.unwrap_or_else(HeldReply::from).respond();
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

fn is_api_path(path: &str) -> bool {
    for prefix in API_PREFIXES {
        if let Some(rest) = path.strip_prefix(prefix)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return true;
        }
    }
    false
}

/// Answers a request to the routes of this listener. Only `/markdown` requires a credential.
async fn answer(
    handler: &Arc<RequestHandler>,
    request: Request<ClientBody>,
    activity: &Arc<Activity>,
) -> Result<HeldReply, Reply> {
    let (head, body) = request.into_parts();
    page_origin::check(&head.uri, &head.headers, &handler.config.listeners.dashboard)?;
    match (&head.method, head.uri.path()) {
        (&Method::GET, SESSION) => {
            let permit = handler.admission.open_request(&SESSION_SENDER).await?;
            let dashboard = Arc::clone(&handler.dashboard);
            run_blocking(permit, move || list_sign_ins(&dashboard)).await.map(HeldReply::from)
        }
        (&Method::POST, SESSION) => {
            let timeout = handler.config.server.body_timeout;
            let body = handler.open_bodies.read(body, &SESSION_SENDER, BodyKind::Json, timeout).await?;
            let _working = activity.work();
            let permit = handler.admission.open_request(&SESSION_SENDER).await?;
            let (dashboard, accounts) = (Arc::clone(&handler.dashboard), Arc::clone(&handler.app.accounts));
            run_blocking(permit, move || sign_in(&dashboard, &accounts, &body.bytes)).await.map(HeldReply::from)
        }
        (&Method::POST, MARKDOWN) => {
            let (_, principal) = authorize_counted(&handler.gateway, head.headers).await?;
            activity.belongs_to(&principal.account);
            let sender = Sender::Account(principal.account);
            let body = handler.bodies.read(body, &sender, BodyKind::Json, handler.config.server.body_timeout).await?;
            let _working = activity.work();
            let permit = handler.admission.request(&sender).await?;
            let reply = run_blocking(permit, move || render_markdown(&body.bytes)).await?;
            handler.reply_memory.hold_unlisted(&sender, reply)
        }
        (&Method::GET, FEATURES) => {
            let reply = features(&handler.app.billing).map_err(|error| error::reply(&error, &ErrorFormat::Envelope))?;
            Ok(HeldReply::from(reply))
        }
        (&Method::GET, path) => page(path, &head.headers).map(HeldReply::from).ok_or_else(|| no_route(path)),
        (_, path) => Err(no_route(path)),
    }
}

/// Makes the response for a request that this listener does not answer.
fn no_route(path: &str) -> Reply {
    let methods: &[&str] = match path {
        SESSION => &["GET", "POST"],
        MARKDOWN => &["POST"],
        FEATURES => &["GET"],
        path if pages::find(path).is_some() => &["GET"],
        _ => &[],
    };
    error::no_route(methods)
}

async fn run_blocking(
    permit: RunPermit,
    work: impl FnOnce() -> Result<Reply> + Send + 'static,
) -> Result<Reply, Reply> {
    let task = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    let outcome = task.await.unwrap_or_else(|_| Err(Error::internal("a request of the dashboard panicked")));
    outcome.map_err(|error| error::reply(&error, &ErrorFormat::Envelope))
}

/// Returns a file of the page, or `304` without a body if the browser has the current version.
fn page(path: &str, headers: &HeaderMap) -> Option<Reply> {
    let page = pages::find(path)?;
    let (status, body) = match headers.get(IF_NONE_MATCH) {
        Some(known) if known.as_bytes() == page.tag().as_bytes() => (StatusCode::NOT_MODIFIED, Bytes::new()),
        _ => (StatusCode::OK, Bytes::from_static(page.body)),
    };
    let reply = Reply::new(status, body);
    Some(reply.with(CONTENT_TYPE, page.media_type).with(CACHE_CONTROL, page.cache_control()).with(ETAG, page.tag()))
}

/// `GET /session`: lists the ways to sign in.
fn list_sign_ins(dashboard: &Dashboard) -> Result<Reply> {
    let external = dashboard.external.as_ref().map(|external| match external.invitation() {
        Ok(invitation) => json!(invitation),
        Err(error) => {
            tracing::warn!(error = format!("{error:#}"), "the external issuer's sign-in page could not be found");
            json!({"unreachable": true})
        }
    });
    Reply::ok(&json!({"external": external}))
}

/// `GET /features`: the configured features. `billing` is false if no payment provider is configured; the page then
/// hides prices and payments.
fn features(billing: &Billing) -> Result<Reply> {
    Ok(Reply::ok(&json!({"billing": billing.is_live()}))?.with(CACHE_CONTROL, "no-cache"))
}

/// The body of a sign-in.
#[derive(Deserialize)]
#[serde(untagged)]
enum Proof {
    Code { code: String },
    Returned(Returned),
}

/// `POST /session`: creates a session.
fn sign_in(dashboard: &Dashboard, accounts: &Accounts, body: &[u8]) -> Result<Reply> {
    let proof = serde_json::from_slice(body).map_err(|_| {
        invalid_body("send code, or authorization_code with code_verifier and redirect_uri, as a JSON object")
    })?;
    let token = match proof {
        Proof::Code { code } => {
            let Some(account) = accounts.redeem_link_code(&code)? else {
                let message = "this code is used, expired or unknown: create a new link";
                return Err(Error::forbidden(ErrorCode::CodeRefused, message));
            };
            accounts.ensure_account(&account)?;
            accounts.create_session(&account)?
        }
        Proof::Returned(returned) => {
            let Some(external) = &dashboard.external else {
                return Err(Error::not_found(ErrorCode::NotFound, "no external issuer is configured"));
            };
            external.exchange(&returned).map_err(|error| {
                tracing::warn!(error = format!("{error:#}"), "the external issuer refused a code");
                Error::forbidden(ErrorCode::CodeRefused, "the issuer refused this code: sign in again")
            })?
        }
    };
    Ok(Reply::ok(&json!({"token": token}))?.with(CACHE_CONTROL, "no-store"))
}

/// The body of `POST /markdown`.
#[derive(Deserialize)]
struct MarkdownRequest {
    content: Option<String>,
}

/// `POST /markdown`: renders `content` as safe HTML.
fn render_markdown(body: &[u8]) -> Result<Reply> {
    let body: MarkdownRequest = serde_json::from_slice(body).map_err(|error| invalid_body(format!("body: {error}")))?;
    let html = markdown::to_html(body.content.as_deref().unwrap_or_default());
    Reply::ok(&json!({"html": html}))
}
