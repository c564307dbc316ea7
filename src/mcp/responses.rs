//! Bodies of API responses, as far as the tools read them.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::service::memories::{Topic, TreeEntry};
use crate::service::skills::SkillView;

/// The body of a response, and the warnings that every route may add to it.
pub(super) struct Received<T> {
    /// The fields of the route.
    pub(super) body: T,
    /// Warnings of names that the route does not know.
    pub(super) warnings: Vec<String>,
}

impl<T: DeserializeOwned> Received<T> {
    /// Decodes a body.
    pub(super) fn decode(body: Value) -> Result<Self, serde_json::Error> {
        let warnings = warnings(&body);
        Ok(Self { body: serde_json::from_value(body)?, warnings })
    }
}

fn warnings(body: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Value::Array(lines) = &body["warnings"] {
        for line in lines {
            if let Value::String(line) = line {
                warnings.push(line.clone());
            }
        }
    }
    warnings
}

/// The body of `POST /v1/memories/{path}`.
#[derive(Deserialize)]
pub(super) struct MemoryWritten {
    /// Path of the memory.
    pub(super) path: String,
}

/// The body of `GET /v1/skills`.
#[derive(Deserialize)]
pub(super) struct SkillList {
    /// Skills, best first for a task, otherwise by path.
    pub(super) skills: Vec<SkillView>,
}

/// The body of `GET /v1/topics`.
#[derive(Deserialize)]
pub(super) struct TopicList {
    /// Topics by tier and name.
    pub(super) topics: Vec<Topic>,
}

/// The body of `GET /v1/tree`.
#[derive(Deserialize)]
pub(super) struct Directory {
    /// Entries by path.
    pub(super) entries: Vec<TreeEntry>,
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;
    use serde_json::json;

    use super::*;
    use crate::service::retrieval::RetrievalResponse;

    #[test]
    fn a_body_is_decoded_without_its_warnings() {
        let body = json!({"hits": [{"path": "facts/a.md", "new": 1}], "warnings": ["unknown field \"a\" ignored"]});
        let received = Received::<RetrievalResponse>::decode(body).expect("decodes");
        assert_eq!(received.body.hits[0].path, "facts/a.md");
        assert_eq!(received.warnings, ["unknown field \"a\" ignored"]);
        let received = Received::<IgnoredAny>::decode(json!({"id": "x"})).expect("decodes");
        assert!(received.warnings.is_empty());
        assert!(Received::<RetrievalResponse>::decode(Value::Null).is_err());
    }
}
