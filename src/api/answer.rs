//! `POST /v1/answer`: a question answered from the memories, with citations.

use serde_json::{Map, Value};

use super::query::QueryString;
use super::retrieve;
use super::{Call, Reply, invalid_body, text};
use crate::service::{Failure, Outcome};

/// `POST /v1/answer`.
pub fn answer(call: &Call) -> Outcome<Reply> {
    let body: Map<String, Value> = call.json()?;
    let namespace = call.readable(text(&body, "namespace")?)?;
    if text(&body, "q")?.is_none_or(|q| q.trim().is_empty()) {
        return Err(Failure::invalid("missing_query", "q is missing: what is to be answered?"));
    }
    let request = retrieve::request(&as_query(&body)?)?;
    Reply::ok(&call.service.answer(call.account(), &namespace, &request)?)
}

/// The body's fields as retrieve's query would say them, so that one place checks them.
fn as_query(body: &Map<String, Value>) -> Outcome<QueryString> {
    let mut pairs = Vec::new();
    for (name, value) in body {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            other => std::slice::from_ref(other),
        };
        for value in values {
            let text = match value {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(flag) => flag.to_string(),
                _ => return Err(invalid_body(format!("{name} must be text, a number, or an array of them"))),
            };
            pairs.push((name.clone(), text));
        }
    }
    Ok(QueryString::of(pairs))
}
