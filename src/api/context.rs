//! `GET /v1/context` and `POST /v1/context`: what the memories hold about a query, as text for a prompt.

use std::ops::RangeInclusive;

use cuebase_language::relevance::Admission;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::query::{ParameterValues, QueryString};
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::retrieve::{self, RetrieveBody, admission, warn_of_unclear_user};
use super::schema::values;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::fields::{Field, Fields, joined, names, request_type};
use crate::service::context::{ContextRequest, Marks, StandingFacts};

request_type! {
    /// What a context has in addition to a retrieval.
    #[derive(Debug, Default, Deserialize, JsonSchema)]
    #[serde(default)]
    pub(super) struct ContextOptions {
        /// Most tokens of the text, by the WordPiece tokenizer of BERT.
        #[schemars(with = "values::Integer", range(min = 1, max = TOKENS_MAX))]
        max_tokens: ParameterValues,
        /// Whether each entry ends with the number of its citation, as `[1]`.
        #[schemars(with = "Value", extend("enum" = ["on", "off"]))]
        marks: ParameterValues,
        /// Which standing facts come first.
        #[schemars(with = "Value", extend("enum" = ["auto", "off", "all"]))]
        standing: ParameterValues,
        /// Another name of `admit`.
        #[schemars(with = "Value", extend("enum" = ["all", "recall", "balanced", "strict"]))]
        precision: ParameterValues,
    }
}

/// The body of `POST /v1/context`: the parameters of `GET /v1/context`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only describes the four parts as one")]
pub(super) struct ContextBody {
    #[serde(flatten)]
    retrieve: RetrieveBody,
    #[serde(flatten)]
    options: ContextOptions,
}

/// Another name of `admit`.
const PRECISION: &str = "precision";
/// All fields of a context.
pub const FIELDS: [Field; retrieve::FIELDS.len() + ContextOptions::FIELDS.len()] =
    joined(&retrieve::FIELDS, ContextOptions::FIELDS);
/// Names of the query parameters.
pub const PARAMETERS: &[&str] = &names::<{ FIELDS.len() }>(&FIELDS);
/// Most tokens that a request can ask for.
const TOKENS_MAX: usize = 32_000;
/// Valid numbers of tokens.
pub(super) const TOKENS_RANGE: RangeInclusive<usize> = 1..=TOKENS_MAX;
/// Tokens of a context when no number is given.
pub(super) const TOKENS_DEFAULT: usize = 1500;

/// `GET /v1/context` and `POST /v1/context`.
pub fn context(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespaces = request.read_namespaces()?;
    let mut context = self::request(&request.query)?;
    context.retrieval.budget = request.reply_budget.clone();
    let response = request.app.reads.context(request.account(), &namespaces, &context)?;
    warn_of_unclear_user(request, &namespaces, &context.retrieval);
    Reply::ok(&response)
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
