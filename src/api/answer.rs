//! `POST /v1/answer`: a question answered from the memories, with citations.

use serde_json::{Map, Value};

use super::query::QueryString;
use super::retrieve;
use super::{AuthenticatedRequest, Reply};
use crate::error::{Error, Result};
use crate::memory::request::{invalid_body, text};

/// The fields that the body shares with retrieve's query.
const FIELDS: [&str; 12] = [
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

/// `POST /v1/answer`.
pub fn answer(call: &AuthenticatedRequest) -> Result<Reply> {
    let body: Map<String, Value> = call.json()?;
    let namespace = call.readable(text(&body, "namespace")?)?;
    if text(&body, "q")?.is_none_or(|q| q.trim().is_empty()) {
        return Err(Error::invalid("missing_query", "q is missing: what is to be answered?"));
    }
    // As a parameter it may be any text; as a field it must be text.
    text(&body, "detail")?;
    let request = retrieve::request(&as_query(&body)?)?;
    Reply::ok(&call.service.answer(call.account(), &namespace, &request, || call.place.leave())?)
}

/// The body's fields as retrieve's query would say them, so that one place checks them.
fn as_query(body: &Map<String, Value>) -> Result<QueryString> {
    let mut pairs = Vec::new();
    for (name, value) in body.iter().filter(|(name, _)| FIELDS.contains(&name.as_str())) {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            other => std::slice::from_ref(other),
        };
        for value in values {
            let text = match value {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                // 26.0 is a whole number in JSON.
                Value::Number(number) => {
                    match number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e15) {
                        Some(whole) => format!("{whole:.0}"),
                        None => number.to_string(),
                    }
                }
                Value::Bool(flag) => flag.to_string(),
                _ => return Err(invalid_body(format!("{name} must be text, a number, or an array of them"))),
            };
            pairs.push((name.clone(), text));
        }
    }
    Ok(QueryString::of(pairs))
}
