//! `POST /v1/answer`: an answer to a question from the memories, with citations.

use serde_json::{Map, Number, Value};

use super::query::QueryString;
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::retrieve;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::request::{invalid_body, text};

/// Fields of the body that are also parameters of `GET /v1/retrieve`.
const SHARED_FIELDS: [&str; 12] = [
    "q",
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
/// Absolute values below this are exact integers in a JSON number's floating-point form.
const EXACT_BELOW: f64 = 1e15;

/// `POST /v1/answer`.
pub fn answer(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: Map<String, Value> = request.json()?;
    let namespace = request.readable_namespace(text(&body, "namespace")?)?;
    let question = text(&body, "q")?.unwrap_or("");
    if question.trim().is_empty() {
        return Err(Error::invalid(ErrorCode::MissingQuery, "q is missing: send the question"));
    }
    // The parameter of that name may have any value; the field must be a string.
    text(&body, "detail")?;
    let retrieve = retrieve::request(&as_query(&body)?)?;
    let service = &request.service;
    let response = service.answer(request.account(), &namespace, &retrieve, || request.retrieval_slot.release())?;
    Reply::ok(&response)
}

/// Returns the fields of the body as a query of `GET /v1/retrieve`, so that both are checked by the same code.
fn as_query(body: &Map<String, Value>) -> Result<QueryString> {
    let mut pairs = Vec::new();
    for (name, value) in body {
        if !SHARED_FIELDS.contains(&name.as_str()) {
            continue;
        }
        let values = match value {
            Value::Array(values) => values.as_slice(),
            other => std::slice::from_ref(other),
        };
        for value in values {
            let text = match value {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                Value::Number(number) => number_text(number),
                Value::Bool(flag) => flag.to_string(),
                Value::Array(_) | Value::Object(_) => {
                    return Err(invalid_body(format!("{name} must be a string, a number, or an array of them")));
                }
            };
            pairs.push((name.clone(), text));
        }
    }
    Ok(QueryString::from_pairs(pairs))
}

/// Writes a number as a parameter has it: 26.0 is the integer 26.
fn number_text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if float.fract() == 0.0 && float.abs() < EXACT_BELOW => format!("{float:.0}"),
        _ => number.to_string(),
    }
}
