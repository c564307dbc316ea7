//! The dashboard's listener: its page, its ways to sign in, and the API itself under the same origin.
//!
//! What the page asks of the API takes the same path as anybody's request, gateway first. The listener's own routes are
//! `GET /session` (which ways in there are), `POST /session` (a one-time code, or what another issuer gave, becomes a
//! session), `GET /features` (what this service is configured to offer) and `POST /markdown` (for whoever is signed in).

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answers::ResponseBody;
use super::connections::Activity;
use super::git;
use super::requests::{HeldReply, RequestHandler, Running, admitted};
use crate::api::Reply;
use crate::api::error::{self, ErrorFormat};
use crate::api::routes::BodyKind;
use crate::dashboard::sign_in::Returned;
use crate::dashboard::{markdown, pages};
use crate::error::{Error, Result};
use crate::memory::request::{invalid_body, text};
use crate::service::Service;

/// Nothing from elsewhere, nothing inline, framed by nobody.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
/// Where a proof becomes a session.
const SESSION: &str = "/session";
/// What the page offers depends on.
const FEATURES: &str = "/features";
/// The API's own paths.
const API: [&str; 2] = ["/v1", "/health"];

/// Answers one request.
pub(super) async fn answer(
    api: Arc<RequestHandler>,
    request: Request<Incoming>,
    activity: Arc<Activity>,
) -> Response<ResponseBody> {
    if git::is_asked(&request) {
        return git::answer(api, request, activity).await;
    }
    let path = request.uri().path();
    if API.iter().any(|own| path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))) {
        return api.answer(request, activity).await;
    }
    let answered = own(&api, request, &activity).await;
    let mut response = answered.unwrap_or_else(HeldReply::from).respond();
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// The listener's own routes. Their senders have no credential yet, but for those of `/markdown`.
async fn own(
    api: &Arc<RequestHandler>,
    request: Request<Incoming>,
    activity: &Arc<Activity>,
) -> Result<HeldReply, Reply> {
    let (head, body) = request.into_parts();
    let service = Arc::clone(&api.service);
    match (&head.method, head.uri.path()) {
        (&Method::GET, SESSION) => {
            let running = api.open_turn(SESSION).await?;
            blocking(running, move || ways_in(&service)).await.map(HeldReply::from)
        }
        (&Method::POST, SESSION) => {
            let timeout = service.config.server.body_timeout;
            let body = api.open_bodies.read(body, SESSION, BodyKind::Json, timeout).await?;
            let _working = activity.work();
            let running = api.open_turn(SESSION).await?;
            blocking(running, move || sign_in(&service, &body.bytes)).await.map(HeldReply::from)
        }
        (&Method::POST, "/markdown") => {
            let (_, principal) = admitted(&api.gateway, head.headers).await?;
            let account = principal.account.as_str();
            activity.belongs_to(account);
            let body = api.bodies.read(body, account, BodyKind::Json, service.config.server.body_timeout).await?;
            let _working = activity.work();
            let running = api.request_turn(account).await?;
            let reply = blocking(running, move || render(&body.bytes)).await?;
            api.keep_for(account, reply)
        }
        (&Method::GET, FEATURES) => {
            let reply = features(&service).map_err(|failure| error::reply(&failure, &ErrorFormat::Envelope))?;
            Ok(HeldReply::from(reply))
        }
        (&Method::GET, path) => page(path, &head.headers).map(HeldReply::from).ok_or_else(missing),
        _ => Err(missing()),
    }
}

fn missing() -> Reply {
    error::reply(&error::no_route(), &ErrorFormat::Envelope)
}

async fn blocking(running: Running, work: impl FnOnce() -> Result<Reply> + Send + 'static) -> Result<Reply, Reply> {
    let outcome = tokio::task::spawn_blocking(move || {
        let _running = running;
        work()
    });
    let outcome = outcome.await;
    let outcome = outcome.unwrap_or_else(|_| Err(Error::internal("a request of the dashboard panicked")));
    outcome.map_err(|failure| error::reply(&failure, &ErrorFormat::Envelope))
}

/// A file of the page; where the browser has it, only that it is still the same.
fn page(path: &str, headers: &HeaderMap) -> Option<Reply> {
    let page = pages::find(path)?;
    let known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == page.tag().as_bytes());
    let (status, body) = match known {
        true => (StatusCode::NOT_MODIFIED, Bytes::new()),
        false => (StatusCode::OK, Bytes::from_static(page.body)),
    };
    let reply = Reply { status, headers: Vec::new(), body: body.into() };
    Some(reply.with(CONTENT_TYPE, page.media_type).with(CACHE_CONTROL, "no-cache").with(ETAG, page.tag()))
}

/// `GET /session`: which ways in there are.
fn ways_in(service: &Service) -> Result<Reply> {
    let external = service.dashboard.external.as_ref().map(|external| match external.invitation() {
        Ok(invitation) => json!(invitation),
        Err(error) => {
            tracing::warn!(error = format!("{error:#}"), "the issuer's sign-in page is not known");
            json!({"unreachable": true})
        }
    });
    Reply::ok(&json!({"external": external}))
}

/// `GET /features`: what this service is configured to offer. `billing` is false while no payment provider is
/// configured; the page then shows nothing about money.
fn features(service: &Service) -> Result<Reply> {
    Ok(Reply::ok(&json!({"billing": service.billing.is_live()}))?.with(CACHE_CONTROL, "no-cache"))
}

/// What the page sends to sign in.
#[derive(Deserialize)]
#[serde(untagged)]
enum Proof {
    Code { code: String },
    Returned(Returned),
}

/// `POST /session`: a proof becomes a session.
fn sign_in(service: &Service, body: &[u8]) -> Result<Reply> {
    let proof = serde_json::from_slice(body).map_err(|_| {
        invalid_body("send code, or authorization_code with code_verifier and redirect_uri, as a JSON object")
    })?;
    let token = match proof {
        Proof::Code { code } => {
            let account = service.dashboard.links.redeem(&code).ok_or_else(|| {
                Error::forbidden("code_refused", "this code is used up, too old or unknown: take a new link")
            })?;
            service.ensure_account(&account)?;
            service.issuer.mint(&account, Timestamp::now()).map_err(Error::internal)?
        }
        Proof::Returned(returned) => {
            let missing = || Error::not_found("not_found", "no other issuer is configured");
            let external = service.dashboard.external.as_ref().ok_or_else(missing)?;
            external.exchange(&returned).map_err(|error| {
                tracing::warn!(error = format!("{error:#}"), "the issuer gave no session for a code");
                Error::forbidden("code_refused", "the issuer gave no session for this code: sign in again")
            })?
        }
    };
    Ok(Reply::ok(&json!({"token": token}))?.with(CACHE_CONTROL, "no-store"))
}

/// `POST /markdown`: `content` as harmless HTML.
fn render(body: &[u8]) -> Result<Reply> {
    let body: Map<String, Value> =
        serde_json::from_slice(body).map_err(|error| invalid_body(format!("body: {error}")))?;
    let html = markdown::to_html(text(&body, "content")?.unwrap_or_default());
    Reply::ok(&json!({"html": html}))
}
