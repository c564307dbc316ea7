//! `GET /v1/retrieve`: the query string is checked and answered.

use cuebase_retrieval::{Filter, TimeField};
use cuebase_storage::memory_file::{Tier, path};

use super::query::QueryString;
use super::{AuthenticatedRequest, Reply};
use crate::error::{Error, Result};
use crate::gateway::Principal;
use crate::memory::{tags, time};
use crate::namespace::names::DEFAULT;
use crate::service::retrieval::Retrieve;

/// The parameters of the query.
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
/// Most hits that can be asked for.
const LIMIT_MAX: usize = 200;
/// Longest query, in characters; what is longer is cut, not refused.
const QUERY_CHARS_MAX: usize = 8192;

/// `GET /v1/retrieve`.
pub fn retrieve(call: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = call.read_namespace()?;
    let request = request(&call.query)?;
    Reply::ok(&call.service.retrieve(&call.principal.account, &namespace, &request)?)
}

/// The namespace as the caller named it, for error bodies.
pub fn named_namespace(query: &QueryString, principal: Option<&Principal>) -> String {
    query.value("namespace").or(principal.and_then(Principal::scope)).unwrap_or(DEFAULT).to_owned()
}

/// Checks the query string.
pub fn request(query: &QueryString) -> Result<Retrieve> {
    let zone = query.zone()?;
    let bound = |name: &str| -> Result<Option<time::TimeInput>> {
        let Some(text) = query.get(name) else { return Ok(None) };
        let written = time::parse(text, &zone);
        let forms = "use RFC 3339, YYYY-MM-DD, a datetime without offset, or epoch seconds";
        written.map(Some).ok_or_else(|| Error::invalid("invalid_time", format!("{name}: {text:?} is no time: {forms}")))
    };
    let out_of_range = || Error::invalid("invalid_time", "since or until is out of range");
    let since = bound("since")?.map(|at| at.since_ms(&zone).ok_or_else(out_of_range)).transpose()?;
    let until = bound("until")?.map(|at| at.until_ms(&zone).ok_or_else(out_of_range)).transpose()?;
    let mut tiers = query.list("tiers");
    for tier in &mut tiers {
        let known = tier.parse::<Tier>();
        *tier =
            known.map_err(|error| Error::invalid("invalid_tier", format!("tiers: {tier:?}: {error}")))?.name().into();
    }
    let mut folders = query.list("paths");
    for folder in &mut folders {
        let checked = path::parse_directory(folder).map(str::to_owned);
        *folder = checked.map_err(|error| Error::invalid("invalid_path", format!("paths: {error}")))?;
    }
    let time_field = match query.get("time_field") {
        None | Some("updated") => TimeField::Updated,
        Some("occurred") => TimeField::Occurred,
        Some("created") => TimeField::Created,
        Some(other) => {
            let message = format!("time_field: {other:?} is none of occurred, created, updated");
            return Err(Error::invalid("invalid_time_field", message));
        }
    };
    let filter = Filter {
        tiers,
        folders,
        tags_any: tags::check_all("tags", query.list("tags"))?,
        tags_all: tags::check_all("tags_all", query.list("tags_all"))?,
        since,
        until,
        time_field,
    };
    let text = query.get("q").map(str::trim).filter(|text| !text.is_empty());
    if text.is_none() && filter.is_empty() {
        let message = "send q, or a filter to list by: tags, tags_all, since, until, tiers, paths";
        return Err(Error::invalid("missing_query", message));
    }
    Ok(Retrieve {
        query: text.map(cut),
        filter,
        min_score: min_score(query.get("min_score"))?,
        limit: query.number("limit", 1..=LIMIT_MAX, "invalid_limit")?.unwrap_or(LIMIT_DEFAULT),
        zone: Some(zone),
        full: query.get("detail") == Some("full"),
    })
}

/// A query of a bearable length.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(QUERY_CHARS_MAX).collect()
}

fn min_score(text: Option<&str>) -> Result<f32> {
    let Some(text) = text else { return Ok(0.0) };
    let score = text.parse().ok().filter(|score| (0.0..=1.0).contains(score));
    score.ok_or_else(|| Error::invalid("invalid_score", format!("min_score: {text:?} is no number from 0 to 1")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn code(query: &str) -> String {
        match request(&QueryString::parse(query)) {
            Ok(_) => "ok".into(),
            Err(Error::Invalid { code, .. }) => code.into(),
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
