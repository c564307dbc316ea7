//! `/v1/media`: uploads, and signed URLs that return a file for a limited time.

use cuebase_storage::records::MediaRecord;
use hyper::StatusCode;
use hyper::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::error;
use super::reply::{Reply, ReplyBody, StoredFile};
use super::request::{AuthenticatedRequest, RouteRequest};
use super::views::media::{MediaAddressView, MediaView};
use crate::error::Result;
use crate::gateway::Refusal;
use crate::memory::request::invalid_body;
use crate::memory::time::format_ms;

/// Most characters of a file's name, and of its media type.
const NAME_CHARS_MAX: usize = 255;
/// Media types that a browser shows without running code. All others are sent as [`BYTES`].
const SAFE_TYPES: [&str; 10] = [
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
pub fn upload(request: &AuthenticatedRequest) -> Result<Reply> {
    request.require_file()?;
    let content_type = match request.header("content-type") {
        "" => BYTES.to_owned(),
        sent if sent.chars().count() <= NAME_CHARS_MAX && sent.contains('/') => sent.to_owned(),
        _ => return Err(invalid_body("content-type is not a media type, such as image/png")),
    };
    let filename = filename(request)?;
    let namespace = request.write_namespace()?;
    let record = request.app.media.upload(&namespace, content_type, filename, &request.body)?;
    Reply::json(StatusCode::CREATED, &MediaView::of(&record))
}

fn filename(request: &AuthenticatedRequest) -> Result<Option<String>> {
    let Some(name) = request.query.get("filename") else { return Ok(None) };
    if name.chars().count() > NAME_CHARS_MAX || name.chars().any(char::is_control) {
        return Err(invalid_body(format!("filename must be at most {NAME_CHARS_MAX} characters on one line")));
    }
    Ok(Some(name.to_owned()))
}

/// `GET /v1/media/{id}`: a URL that returns the file for 15 minutes.
pub fn address(request: &AuthenticatedRequest) -> Result<Reply> {
    request.read_namespace()?;
    let record = request.app.media.record(request.account(), request.parameter(0))?;
    request.readable_namespace(Some(record.namespace.as_str()))?;
    let (url, expires) = request.app.media.signed_url(&record, request.header("host"));
    let expires_at = format_ms(expires.saturating_mul(1000));
    let MediaRecord { id, content_type, bytes, .. } = &record;
    Reply::ok(&MediaAddressView { id: *id, url, expires_at, content_type, bytes: *bytes })
}

/// `GET /v1/media/{id}/content`: the bytes, with headers that keep browsers from running them.
pub fn content(request: &RouteRequest) -> Result<Reply> {
    let expires = request.query.get("expires").unwrap_or("");
    let signature = request.query.get("signature").unwrap_or("");
    let Some((record, content)) = request.app.media.open(request.parameter(0), expires, signature)? else {
        return Ok(error::refusal(Refusal::Refused));
    };
    let content_type = safe_type(&record.content_type);
    let MediaRecord { id, account, filename, bytes, sha256, .. } = record;
    let name = filename.unwrap_or_else(|| id.to_string());
    let name = utf8_percent_encode(&name, NON_ALPHANUMERIC);
    let body = ReplyBody::File(Box::new(StoredFile { content, bytes, sha256, account, id }));
    let reply = Reply::new(StatusCode::OK, body);
    Ok(reply
        .with(CONTENT_TYPE, content_type)
        .with(CONTENT_DISPOSITION, &format!("attachment; filename*=UTF-8''{name}"))
        .with(CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox")
        .with(X_CONTENT_TYPE_OPTIONS, "nosniff")
        .with(REFERRER_POLICY, "no-referrer")
        .with(HeaderName::from_static("cross-origin-resource-policy"), "same-site")
        .with(CACHE_CONTROL, "private, no-store"))
}

/// Returns the media type to send for a file that was uploaded as `content_type`.
fn safe_type(content_type: &str) -> &'static str {
    let (media_type, _) = content_type.split_once(';').unwrap_or((content_type, ""));
    let media_type = media_type.trim().to_ascii_lowercase();
    for safe in SAFE_TYPES {
        if safe == media_type {
            return safe;
        }
    }
    BYTES
}
