//! `GET /v1/retrieve`: checks the query string and searches.

use cuebase_retrieval::{Filter, TimeField};
use cuebase_storage::NamespaceName;
use cuebase_storage::memory_file::Tier;
use jiff::tz::TimeZone;

use super::query::QueryString;
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::values::directory;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::gateway::Principal;
use crate::memory::tags;
use crate::memory::time::{self, TimeInput};
use crate::service::retrieval::RetrievalRequest;

/// Names of the query parameters.
pub const PARAMETERS: &[&str] = &[
    "q",
    "namespace",
    "tiers",
    "paths",
    "tags",
    "tags_all",
    "since",
    "until",
    "time_field",
    "timezone",
    "min_score",
    "limit",
    "detail",
];
/// Hits when no limit is given.
const LIMIT_DEFAULT: usize = 24;
/// Most hits that a request can ask for.
const LIMIT_MAX: usize = 200;
/// Longest query, in characters. A longer query is cut, not refused.
const QUERY_CHARS_MAX: usize = 8192;

/// `GET /v1/retrieve`.
pub fn retrieve(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let search = self::request(&request.query)?;
    Reply::ok(&request.service.retrieve(request.account(), &namespace, &search)?)
}

/// Returns the namespace as the caller named it, for the bodies of errors.
pub fn named_namespace(query: &QueryString, principal: Option<&Principal>) -> String {
    if let Some(name) = query.last("namespace") {
        return name.to_owned();
    }
    match principal.and_then(Principal::scope) {
        Some(scope) => scope.to_string(),
        None => NamespaceName::default().to_string(),
    }
}

/// Checks the query string.
pub fn request(query: &QueryString) -> Result<RetrievalRequest> {
    let zone = query.zone()?;
    let filter = filter(query, &zone)?;
    let text = search_text(query);
    if text.is_none() && filter.is_empty() {
        let message = "send q, or a filter to list by: tags, tags_all, since, until, tiers, paths";
        return Err(Error::invalid(ErrorCode::MissingQuery, message));
    }
    Ok(RetrievalRequest {
        query: text,
        filter,
        min_score: min_score(query.get("min_score"))?,
        limit: query.number("limit", 1..=LIMIT_MAX, ErrorCode::InvalidLimit)?.unwrap_or(LIMIT_DEFAULT),
        zone: Some(zone),
        full: query.get("detail") == Some("full"),
    })
}

fn filter(query: &QueryString, zone: &TimeZone) -> Result<Filter> {
    let since = match time_parameter(query, "since", zone)? {
        Some(time) => Some(time.since_ms(zone).ok_or_else(out_of_range)?),
        None => None,
    };
    let until = match time_parameter(query, "until", zone)? {
        Some(time) => Some(time.until_ms(zone).ok_or_else(out_of_range)?),
        None => None,
    };
    Ok(Filter {
        tiers: tiers(query)?,
        folders: folders(query)?,
        time_field: time_field(query)?,
        tags_any: tags::check_all("tags", query.list("tags"))?,
        tags_all: tags::check_all("tags_all", query.list("tags_all"))?,
        since,
        until,
    })
}

fn time_parameter(query: &QueryString, name: &str, zone: &TimeZone) -> Result<Option<TimeInput>> {
    let Some(text) = query.get(name) else { return Ok(None) };
    if let Some(time) = time::parse(text, zone) {
        return Ok(Some(time));
    }
    let forms = "use RFC 3339, YYYY-MM-DD, a datetime without offset, or epoch seconds";
    Err(Error::invalid(ErrorCode::InvalidTime, format!("{name}: {text:?} is not a valid time: {forms}")))
}

fn out_of_range() -> Error {
    Error::invalid(ErrorCode::InvalidTime, "since or until is out of range")
}

fn tiers(query: &QueryString) -> Result<Vec<String>> {
    let mut tiers = Vec::new();
    for name in query.list("tiers") {
        match name.parse::<Tier>() {
            Ok(tier) => tiers.push(tier.name().into()),
            Err(error) => return Err(Error::invalid(ErrorCode::InvalidTier, format!("tiers: {name:?}: {error}"))),
        }
    }
    Ok(tiers)
}

fn folders(query: &QueryString) -> Result<Vec<String>> {
    let mut folders = Vec::new();
    for folder in query.list("paths") {
        folders.push(directory("paths", &folder)?);
    }
    Ok(folders)
}

fn time_field(query: &QueryString) -> Result<TimeField> {
    match query.get("time_field") {
        None | Some("updated") => Ok(TimeField::Updated),
        Some("occurred") => Ok(TimeField::Occurred),
        Some("created") => Ok(TimeField::Created),
        Some(other) => {
            let message = format!("time_field: {other:?} is not one of occurred, created, updated");
            Err(Error::invalid(ErrorCode::InvalidTimeField, message))
        }
    }
}

/// Returns the text of `q`, cut to the longest query. `None` where it is blank.
pub(super) fn search_text(query: &QueryString) -> Option<String> {
    let text = query.get("q")?.trim();
    if text.is_empty() {
        return None;
    }
    Some(text.chars().take(QUERY_CHARS_MAX).collect())
}

fn min_score(text: Option<&str>) -> Result<f32> {
    let Some(text) = text else { return Ok(0.0) };
    if let Ok(score) = text.parse::<f32>()
        && (0.0..=1.0).contains(&score)
    {
        return Ok(score);
    }
    Err(Error::invalid(ErrorCode::InvalidScore, format!("min_score: {text:?} is not a number from 0 to 1")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn code(query: &str) -> String {
        match request(&QueryString::parse(query)) {
            Ok(_) => "ok".into(),
            Err(Error::Invalid { code, .. }) => code.to_string(),
            Err(other) => other.to_string(),
        }
    }

    #[test]
    fn every_parameter_is_checked() {
        for (query, expected) in [
            ("q=x", "ok"),
            ("tags=a", "ok"),
            ("until=2026-01-01", "ok"),
            ("", "missing_query"),
            ("q=+", "missing_query"),
            ("limit=5", "missing_query"),
            ("q=x&tiers=facts,notes", "invalid_tier"),
            ("q=x&since=soon", "invalid_time"),
            ("q=x&timezone=Mars/Base", "invalid_timezone"),
            ("q=x&limit=0", "invalid_limit"),
            ("q=x&limit=201", "invalid_limit"),
            ("q=x&min_score=2", "invalid_score"),
            ("q=x&min_score=nan", "invalid_score"),
            ("q=x&tags=a!", "invalid_tag"),
            ("q=x&paths=../etc", "invalid_path"),
            ("q=x&time_field=when", "invalid_time_field"),
        ] {
            assert_eq!(code(query), expected, "{query}");
        }
    }

    proptest! {
        #[test]
        fn any_query_string_is_read_or_refused(raw in "\\PC{0,120}", named in "(q|since|until|limit|tags|paths|timezone)=\\PC{0,40}") {
            let _ = code(&raw);
            let _ = code(&named);
        }
    }
}
