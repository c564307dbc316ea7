//! Labelled files: one JSON object per line, with sessions of messages that have ids, or with documents.

use std::collections::HashMap;

use anyhow::Context;
use cuebase_retrieval::{Hit, Memory};
use cuebase_storage::memory_file::SourceMessage;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::memory::files::Details;

/// The name of the assistant in a chat with a user. The messages of everybody else have the role of a user.
pub const ASSISTANT: &str = "Assistant";
/// The name of the user in a chat with an assistant.
pub const USER: &str = "User";

/// A session of a dialogue.
#[derive(Debug, Deserialize)]
pub struct Session {
    /// When it took place, RFC 3339.
    pub at: String,
    /// The messages, in order.
    pub messages: Vec<LabelledMessage>,
}

/// A message with an id.
#[derive(Debug, Deserialize)]
pub struct LabelledMessage {
    /// The id, which labels refer to.
    pub id: String,
    /// Who says it.
    pub name: String,
    /// What is said.
    pub text: String,
    /// When it is said, RFC 3339. By default the time of the session.
    #[serde(default)]
    pub at: Option<String>,
}

/// A document with an id.
#[derive(Debug, Deserialize)]
pub struct LabelledDocument {
    /// The id, which labels refer to.
    pub id: String,
    /// The title, if it has one.
    #[serde(default)]
    pub title: Option<String>,
    /// The text, as markdown.
    pub text: String,
}

/// The ids of messages and documents, by what a hit has of them.
pub struct Units {
    /// By session and index.
    messages: HashMap<(String, u64), String>,
    /// By path.
    documents: HashMap<String, String>,
}

/// What the dialogues of a file measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuiteKind {
    /// Facts that change ([`changes`](super::changes)).
    Changes,
    /// Questions with and without an answer ([`questions`](super::questions)).
    Questions,
    /// Queries that ask for several things ([`parts`](super::parts)).
    Parts,
}

impl SuiteKind {
    /// Returns the kind of a file by the fields of its first line.
    pub fn of(text: &str) -> Self {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
        // What is wrong with an unreadable line is said when the file is read.
        let dialogue: Value = serde_json::from_str(first).unwrap_or_default();
        if dialogue.get("queries").is_some() {
            return Self::Parts;
        }
        if dialogue.pointer("/questions/0/evidence").is_some() {
            return Self::Questions;
        }
        Self::Changes
    }
}

/// Reads a file: one value per line.
pub fn read<T: for<'a> Deserialize<'a>>(text: &str) -> anyhow::Result<Vec<T>> {
    let mut values = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if !line.trim().is_empty() {
            values.push(serde_json::from_str(line).with_context(|| format!("line {number}"))?);
        }
    }
    Ok(values)
}

/// Returns the sessions as bodies of `POST /v1/memories`.
pub fn bodies(sessions: &[Session]) -> Vec<Map<String, Value>> {
    let mut bodies = Vec::with_capacity(sessions.len());
    for (number, session) in sessions.iter().enumerate() {
        let mut messages = Vec::with_capacity(session.messages.len());
        for message in &session.messages {
            let mut body = Map::new();
            let role = if message.name == ASSISTANT { "assistant" } else { "user" };
            body.insert("role".to_owned(), json!(role));
            if message.name != ASSISTANT && message.name != USER {
                body.insert("name".to_owned(), json!(message.name));
            }
            body.insert("content".to_owned(), json!(message.text));
            if let Some(at) = &message.at {
                body.insert("occurred_at".to_owned(), json!(at));
            }
            messages.push(Value::Object(body));
        }
        let mut body = Map::new();
        body.insert("session_id".to_owned(), json!(number.to_string()));
        body.insert("occurred_at".to_owned(), json!(session.at));
        body.insert("messages".to_owned(), Value::Array(messages));
        bodies.push(body);
    }
    bodies
}

impl LabelledDocument {
    /// Returns the content of the memory.
    pub fn markdown(&self) -> String {
        match &self.title {
            Some(title) => format!("# {title}\n\n{}", self.text),
            None => self.text.clone(),
        }
    }
}

/// Returns the path of a document by its place in its file.
pub fn document_path(number: usize) -> String {
    format!("facts/documents/{number}.md")
}

impl Units {
    /// Takes the messages of sessions.
    pub fn of_sessions(sessions: &[Session]) -> Self {
        let mut messages = HashMap::new();
        for (number, session) in sessions.iter().enumerate() {
            for (index, message) in (0..).zip(&session.messages) {
                messages.insert((number.to_string(), index), message.id.clone());
            }
        }
        Self { messages, documents: HashMap::new() }
    }

    /// Adds documents, whose paths are those of [`document_path`] from a place on.
    pub fn add_documents(&mut self, first: usize, documents: &[LabelledDocument]) {
        for (place, document) in (first..).zip(documents) {
            self.documents.insert(document_path(place), document.id.clone());
        }
    }

    /// Returns the ids of the messages that a hit was made from, or of its document.
    pub fn of_hit(&self, hit: &Hit) -> Vec<&str> {
        self.of_memory(&hit.memory)
    }

    /// Returns the ids of the messages that a memory was made from, or of its document.
    pub fn of_memory(&self, memory: &Memory) -> Vec<&str> {
        if let Some(id) = self.documents.get(&memory.path) {
            return vec![id.as_str()];
        }
        let details: Details = serde_json::from_str(&memory.details).unwrap_or_default();
        let mut ids = Vec::with_capacity(details.sources.len());
        for SourceMessage { session_id, message, .. } in details.sources {
            let place = (session_id.unwrap_or_default(), message);
            ids.extend(self.messages.get(&place).map(String::as_str));
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_time_of_its_own_if_it_is_given() {
        let text = r#"{"at": "2026-01-01T09:00:00Z", "messages": [
            {"id": "1", "name": "Ana", "text": "Good morning", "at": "2026-01-01T10:00:00Z"},
            {"id": "2", "name": "User", "text": "Good morning"}]}"#;
        let session: Session = serde_json::from_str(text).expect("a session");
        let body = Value::Object(bodies(&[session]).remove(0));
        assert_eq!(body["messages"][0]["occurred_at"], "2026-01-01T10:00:00Z");
        assert_eq!((&body["messages"][0]["name"], body["messages"][1].get("occurred_at")), (&json!("Ana"), None));
    }

    #[test]
    fn the_first_line_says_what_a_file_measures() {
        for (text, expected) in [
            (r#"{"id": "a", "sessions": [], "queries": []}"#, SuiteKind::Parts),
            (r#"{"id": "a", "sessions": [], "questions": [{"q": "x", "evidence": []}]}"#, SuiteKind::Questions),
            (r#"{"id": "a", "sessions": [], "questions": [{"q": "x", "current_in": ["1"]}]}"#, SuiteKind::Changes),
            ("{", SuiteKind::Changes),
        ] {
            assert_eq!(SuiteKind::of(text), expected, "{text}");
        }
    }
}
