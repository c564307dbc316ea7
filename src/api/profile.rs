//! `GET /v1/profile`: what the memories claim about a subject.

use super::limits::LINE_CHARS_MAX;
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::retrieve::as_of;
use crate::error::Result;
use crate::memory::request::zone_or_utc;
use crate::service::profile::ProfileRequest;

/// Names of the query parameters.
pub const PARAMETERS: &[&str] = &["namespace", "subject", "as_of", "timezone"];

/// `GET /v1/profile`.
pub fn profile(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let zone = zone_or_utc(request.query.get("timezone"))?;
    let wanted = ProfileRequest {
        // No subject has a longer name, so a longer one has no claims whether it is cut or not.
        subject: request.query.get("subject").map(|name| name.chars().take(LINE_CHARS_MAX).collect()),
        as_of: as_of(request.query.get("as_of"), &zone)?,
    };
    Reply::ok(&request.app.reads.profile(request.account(), &namespace, &wanted)?)
}
