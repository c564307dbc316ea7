//! What the memories claim: `GET /v1/profile` about a subject, and `GET /v1/timeline` about the facts of a memory.

use super::limits::LINE_CHARS_MAX;
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::retrieve::{as_of, user_name};
use super::values::memory_path;
use crate::error::Result;
use crate::memory::request::zone_or_utc;
use crate::service::profile::ProfileRequest;

/// Names of the query parameters of `GET /v1/profile`.
pub const PARAMETERS: &[&str] = &["namespace", "subject", "user", "as_of", "timezone"];

/// `GET /v1/profile`.
pub fn profile(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let zone = zone_or_utc(request.query.get("timezone"))?;
    let wanted = ProfileRequest {
        // No subject has a longer name, so a longer one has no claims whether it is cut or not.
        subject: request.query.get("subject").map(|name| name.chars().take(LINE_CHARS_MAX).collect()),
        user: user_name(request.query.get("user"))?,
        as_of: as_of(request.query.get("as_of"), &zone)?,
    };
    Reply::ok(&request.app.reads.profile(request.account(), &namespace, &wanted)?)
}

/// `GET /v1/timeline`.
pub fn timeline(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let path = memory_path(request.query.get("path").unwrap_or(""))?;
    Reply::ok(&request.app.reads.timelines(request.account(), &namespace, &path)?)
}
