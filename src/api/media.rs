//! `/v1/media`: uploading files, and addresses that open one for a while.

use cuebase_storage::records::MediaRecord;
use hyper::StatusCode;
use hyper::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use jiff::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::error;
use super::{AuthenticatedRequest, Content, Reply, RouteRequest, StoredFile};
use crate::error::Result;
use crate::gateway::Refusal;
use crate::memory::request::invalid_body;
use crate::memory::time::format_ms;
use crate::service::media::LIFETIME_SECONDS;

/// Characters of a file's name.
const NAME_CHARS_MAX: usize = 255;
/// Types that a browser shows without running anything; any other is sent as plain bytes.
const SHOWN: [&str; 10] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "video/mp4",
    "video/webm",
];
const BYTES: &str = "application/octet-stream";

/// `POST /v1/media`.
pub fn upload(call: &AuthenticatedRequest) -> Result<Reply> {
    if call.body.is_empty() {
        return Err(invalid_body("the body is empty: send the file's bytes"));
    }
    let content_type = match call.header("content-type") {
        "" => BYTES.to_owned(),
        given if given.chars().count() <= NAME_CHARS_MAX && given.contains('/') => given.to_owned(),
        _ => return Err(invalid_body("content-type is no media type, such as image/png")),
    };
    let filename = call.query.get("filename").map(str::to_owned);
    let plain = |name: &String| name.chars().count() <= NAME_CHARS_MAX && !name.chars().any(char::is_control);
    if !filename.as_ref().is_none_or(plain) {
        return Err(invalid_body(format!("filename must be at most {NAME_CHARS_MAX} characters on one line")));
    }
    let namespace = call.write_namespace()?;
    let record = call.service.upload(&namespace, content_type, filename, &call.body)?;
    let MediaRecord { id, namespace, content_type, bytes, sha256, .. } = record;
    let id = id.to_string();
    Reply::json(
        StatusCode::CREATED,
        &json!({"id": id, "namespace": namespace, "content_type": content_type, "bytes": bytes, "sha256": sha256}),
    )
}

/// `GET /v1/media/{id}`: an address that opens the file for 15 minutes.
pub fn address(call: &AuthenticatedRequest) -> Result<Reply> {
    call.read_namespace()?;
    let record = call.service.media_record(call.account(), call.parameter(0))?;
    call.readable(Some(&record.namespace))?;
    let expires = Timestamp::now().as_second() + LIFETIME_SECONDS;
    let signature = call.service.media.sign(record.id, expires);
    let base = match &call.service.config.server.public_url {
        Some(url) => url.clone(),
        // What the caller itself called.
        None => format!("http://{}", call.header("host")),
    };
    let url = format!("{base}/v1/media/{}/content?expires={expires}&signature={signature}", record.id);
    let expires_at = format_ms(expires.saturating_mul(1000));
    Reply::ok(&json!({
        "id": record.id.to_string(),
        "url": url,
        "expires_at": expires_at,
        "content_type": record.content_type,
        "bytes": record.bytes,
    }))
}

/// `GET /v1/media/{id}/content`: the bytes, sent from disk so that no browser runs them.
pub fn content(request: &RouteRequest) -> Result<Reply> {
    let expires = request.query.get("expires").unwrap_or_default();
    let signature = request.query.get("signature").unwrap_or_default();
    let Some((record, file)) = request.service.open_media(request.parameter(0), expires, signature)? else {
        return Ok(error::refusal(Refusal::Refused));
    };
    let media_type = record.content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let shown = SHOWN.iter().find(|shown| **shown == media_type).copied().unwrap_or(BYTES);
    let MediaRecord { id, account, filename, bytes, sha256, .. } = record;
    let name = filename.unwrap_or_else(|| id.to_string());
    let name = utf8_percent_encode(&name, NON_ALPHANUMERIC);
    let body = Content::File(StoredFile { file, bytes, sha256, account, id });
    let reply = Reply { status: StatusCode::OK, headers: Vec::new(), body };
    Ok(reply
        .with(CONTENT_TYPE, shown)
        .with(CONTENT_DISPOSITION, &format!("attachment; filename*=UTF-8''{name}"))
        .with(CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox")
        .with(X_CONTENT_TYPE_OPTIONS, "nosniff")
        .with(REFERRER_POLICY, "no-referrer")
        .with(HeaderName::from_static("cross-origin-resource-policy"), "same-site")
        .with(CACHE_CONTROL, "private, no-store"))
}
