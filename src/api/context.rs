//! `GET /v1/context`: what the memories hold about a query, as text for a prompt.

use std::ops::RangeInclusive;

use cuebase_language::relevance::Admission;

use super::query::QueryString;
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::retrieve::{self, admission};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::service::context::{ContextRequest, Marks, StandingFacts};

/// Names of the query parameters that a context has in addition to a retrieval.
const OWN_PARAMETERS: [&str; 4] = ["marks", "max_tokens", PRECISION, "standing"];
/// Another name of `admit`.
const PRECISION: &str = "precision";
/// Names of the query parameters.
pub const PARAMETERS: &[&str] = &parameters::<{ retrieve::PARAMETERS.len() + OWN_PARAMETERS.len() }>();
/// Valid numbers of tokens.
pub(super) const TOKENS_RANGE: RangeInclusive<usize> = 1..=32_000;
/// Tokens of a context when no number is given.
pub(super) const TOKENS_DEFAULT: usize = 1500;

/// Returns the names of the parameters, `N` in all.
const fn parameters<const N: usize>() -> [&'static str; N] {
    let mut names = [""; N];
    let mut index = 0;
    while index < N {
        names[index] = if index < retrieve::PARAMETERS.len() {
            retrieve::PARAMETERS[index]
        } else {
            OWN_PARAMETERS[index - retrieve::PARAMETERS.len()]
        };
        index += 1;
    }
    names
}

/// `GET /v1/context`.
pub fn context(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespaces = request.read_namespaces()?;
    let mut context = self::request(&request.query)?;
    context.retrieval.budget = request.reply_budget.clone();
    Reply::ok(&request.app.reads.context(request.account(), &namespaces, &context)?)
}

/// Checks the query string.
pub fn request(query: &QueryString) -> Result<ContextRequest> {
    let mut retrieval = retrieve::request(query)?;
    let precision = admission(PRECISION, query.get(PRECISION))?;
    if query.get("admit").is_none() {
        retrieval.admission = precision.unwrap_or(Admission::Balanced);
    }
    let max_tokens = query.number("max_tokens", TOKENS_RANGE, ErrorCode::InvalidLimit)?.unwrap_or(TOKENS_DEFAULT);
    let marks = match query.get("marks") {
        None | Some("on") => Marks::On,
        Some("off") => Marks::Off,
        Some(other) => {
            let message = format!("marks: {other:?} is neither on nor off");
            return Err(Error::invalid(ErrorCode::InvalidParameter, message));
        }
    };
    let standing = match query.get("standing") {
        None | Some("auto") => StandingFacts::Auto,
        Some("off") => StandingFacts::Off,
        Some("all") => StandingFacts::All,
        Some(other) => {
            let message = format!("standing: {other:?} is none of auto, off and all");
            return Err(Error::invalid(ErrorCode::InvalidParameter, message));
        }
    };
    Ok(ContextRequest { retrieval, max_tokens, marks, standing })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(query: &str) -> Result<ContextRequest, String> {
        match request(&QueryString::parse(query)) {
            Ok(request) => Ok(request),
            Err(Error::Invalid { code, .. }) => Err(code.to_string()),
            Err(other) => Err(other.to_string()),
        }
    }

    #[test]
    fn admission_is_balanced_unless_a_level_is_named() {
        for (query, expected) in [
            ("q=x", Admission::Balanced),
            ("q=x&precision=strict", Admission::Strict),
            ("q=x&admit=recall&precision=strict", Admission::Recall),
            ("q=x&admit=all", Admission::All),
        ] {
            assert_eq!(checked(query).expect(query).retrieval.admission, expected, "{query}");
        }
    }

    #[test]
    fn every_parameter_is_checked() {
        for (query, expected) in [
            ("q=x&precision=high", "invalid_admit"),
            ("q=x&marks=yes", "invalid_parameter"),
            ("q=x&standing=some", "invalid_parameter"),
            ("q=x&max_tokens=0", "invalid_limit"),
            ("q=x&max_tokens=32001", "invalid_limit"),
            ("q=x&max_tokens=some", "invalid_limit"),
            ("max_tokens=5", "missing_query"),
            ("q=x&limit=0", "invalid_limit"),
        ] {
            assert_eq!(checked(query).expect_err(query), expected, "{query}");
        }
        assert_eq!(checked("q=x").expect("valid").max_tokens, TOKENS_DEFAULT);
        assert_eq!(checked("q=x&max_tokens=32000").expect("valid").max_tokens, 32_000);
    }
}
