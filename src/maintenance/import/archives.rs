//! What ChatGPT and Claude hand out when somebody asks for their own data.
//!
//! Both are an array of conversations in `conversations.json`. ChatGPT keeps every branch of a conversation, as nodes with
//! parents; what counts is the way from the node that was last looked at back to the root. Claude's is a plain list.
//! What people and the assistant said in words is taken; instructions, tools, pictures and thoughts are not.

use std::collections::HashMap;

use cuebase_storage::memory_file::OccurredPrecision;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::conversations::Archived;
use crate::memory::conversation::{Conversation, Message, Moment, Role};

/// Steps from one node to its parent before they must go round in a circle.
const STEPS_MAX: usize = 100_000;

#[derive(Deserialize)]
struct ChatgptConversation {
    #[serde(default)]
    conversation_id: Option<String>,
    #[serde(default)]
    id: Option<String>,
    mapping: HashMap<String, Node>,
    #[serde(default)]
    current_node: Option<String>,
}

#[derive(Deserialize)]
struct Node {
    #[serde(default)]
    message: Option<ChatgptMessage>,
    #[serde(default)]
    parent: Option<String>,
    #[serde(default)]
    children: Vec<String>,
}

#[derive(Deserialize)]
struct ChatgptMessage {
    author: Author,
    #[serde(default)]
    create_time: Option<f64>,
    #[serde(default)]
    content: Value,
    /// `all` for what is said to people; else the name of a tool.
    #[serde(default)]
    recipient: Option<String>,
}

#[derive(Deserialize)]
struct Author {
    role: String,
}

/// Reads ChatGPT's.
pub(super) fn chatgpt(bytes: &[u8]) -> Result<(Vec<Archived>, u64), String> {
    let conversations: Vec<ChatgptConversation> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let (mut read, mut empty) = (Vec::new(), 0);
    for (number, conversation) in conversations.into_iter().enumerate() {
        let id = conversation.conversation_id.clone().or(conversation.id.clone());
        let id = id.ok_or_else(|| format!("conversation {number} has no id"))?;
        let mut messages = Vec::new();
        for name in conversation.way(number)? {
            let Some(message) = conversation.mapping.get(&name).and_then(|node| node.message.as_ref()) else {
                continue;
            };
            let role = match message.author.role.as_str() {
                "user" => Role::User,
                "assistant" if message.recipient.as_deref().is_none_or(|to| to == "all") => Role::Assistant,
                _ => continue,
            };
            let at = message.create_time.and_then(|at| Timestamp::from_millisecond((at * 1000.0) as i64).ok());
            messages.extend(said(role, chatgpt_text(&message.content), at));
        }
        take(&mut read, &mut empty, "chatgpt", &id, messages);
    }
    Ok((read, empty))
}

impl ChatgptConversation {
    /// The nodes from the root to the one that was last looked at.
    fn way(&self, number: usize) -> Result<Vec<String>, String> {
        let mut way = Vec::new();
        let mut next = self.current_node.clone().or_else(|| self.deepest());
        while let Some(name) = next {
            if way.len() == STEPS_MAX {
                return Err(format!("conversation {number}: its messages go round in a circle"));
            }
            next = self.mapping.get(&name).and_then(|node| node.parent.clone());
            way.push(name);
        }
        way.reverse();
        Ok(way)
    }

    /// Where nobody says what was looked at last: from the root to the newest child each time.
    fn deepest(&self) -> Option<String> {
        let roots = self.mapping.iter().filter(|(_, node)| node.parent.is_none()).map(|(name, _)| name);
        let mut at = roots.min()?.clone();
        for _ in 0..STEPS_MAX {
            match self.mapping.get(&at).and_then(|node| node.children.last()) {
                Some(child) => at.clone_from(child),
                None => break,
            }
        }
        Some(at)
    }
}

/// The words of a message: the texts among its parts.
fn chatgpt_text(content: &Value) -> String {
    let kind = content.get("content_type").and_then(Value::as_str).unwrap_or_default();
    if !matches!(kind, "text" | "multimodal_text") {
        return String::new();
    }
    let parts = content.get("parts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n\n")
}

#[derive(Deserialize)]
struct ClaudeConversation {
    uuid: String,
    #[serde(default)]
    chat_messages: Vec<ClaudeMessage>,
}

#[derive(Deserialize)]
struct ClaudeMessage {
    sender: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    content: Vec<Value>,
    #[serde(default)]
    created_at: Option<Timestamp>,
}

/// Reads Claude's.
pub(super) fn claude(bytes: &[u8]) -> Result<(Vec<Archived>, u64), String> {
    let conversations: Vec<ClaudeConversation> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let (mut read, mut empty) = (Vec::new(), 0);
    for conversation in conversations {
        let messages = conversation.chat_messages.iter().filter_map(|message| {
            let role = match message.sender.as_str() {
                "human" => Role::User,
                "assistant" => Role::Assistant,
                _ => return None,
            };
            said(role, claude_text(message), message.created_at)
        });
        take(&mut read, &mut empty, "claude", &conversation.uuid, messages.collect());
    }
    Ok((read, empty))
}

/// The texts among a message's parts; older archives have one text alone.
fn claude_text(message: &ClaudeMessage) -> String {
    let texts = message.content.iter().filter(|part| part.get("type").and_then(Value::as_str) == Some("text"));
    let texts: Vec<&str> = texts.filter_map(|part| part.get("text")?.as_str()).collect();
    if texts.is_empty() { message.text.clone() } else { texts.join("\n\n") }
}

/// A message, where it says anything.
fn said(role: Role, text: String, at: Option<Timestamp>) -> Option<Message> {
    if text.trim().is_empty() {
        return None;
    }
    let occurred_at = at.map(|at| Moment { at, precision: OccurredPrecision::Instant });
    Some(Message { role, name: None, text, references: Vec::new(), occurred_at })
}

fn take(read: &mut Vec<Archived>, empty: &mut u64, service: &str, id: &str, messages: Vec<Message>) {
    if messages.is_empty() {
        *empty += 1;
        return;
    }
    let id = format!("{service}:{id}");
    let occurred_at = messages.iter().find_map(|message| message.occurred_at);
    let conversation =
        Conversation { messages, session_id: Some(id.clone()), tags: Vec::new(), occurred_at, timezone: None };
    read.push(Archived { id, conversation, exported: None });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn texts(archived: &Archived) -> Vec<(&'static str, &str)> {
        archived.conversation.messages.iter().map(|message| (message.role.label(), message.text.as_str())).collect()
    }

    #[test]
    fn of_chatgpts_branches_the_one_last_looked_at_is_taken() {
        let node = |parent: Value, children: Value, role: &str, parts: Value| {
            let content = json!({"content_type": "text", "parts": parts});
            json!({"parent": parent, "children": children, "message": {
                "author": {"role": role}, "create_time": 1_700_000_000.5, "content": content, "recipient": "all"}})
        };
        let mapping = json!({
            "root": {"parent": null, "children": ["system"], "message": null},
            "system": node(json!("root"), json!(["ask", "other"]), "system", json!(["be kind"])),
            "ask": node(json!("system"), json!(["answer"]), "user", json!(["I keep bees", {"picture": 1}])),
            "other": node(json!("system"), json!([]), "user", json!(["I keep wasps"])),
            "answer": node(json!("ask"), json!([]), "assistant", json!(["How many hives?"])),
        });
        let archive = json!([
            {"conversation_id": "c1", "title": "Bees", "mapping": mapping.clone(), "current_node": "answer"},
            {"id": "c2", "mapping": mapping},
            {"id": "c3", "mapping": {}},
        ]);
        let (read, empty) = chatgpt(archive.to_string().as_bytes()).expect("read");
        assert_eq!(texts(&read[0]), [("User", "I keep bees"), ("Assistant", "How many hives?")]);
        assert_eq!(texts(&read[1]), [("User", "I keep wasps")]);
        assert_eq!((read[0].id.as_str(), empty), ("chatgpt:c1", 1));
        let at = read[0].conversation.messages[0].occurred_at.expect("a time").at;
        assert_eq!(at.as_millisecond(), 1_700_000_000_500);
    }

    #[test]
    fn a_circle_is_refused() {
        let archive = json!([{"id": "c", "current_node": "a",
            "mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}}]);
        assert!(chatgpt(archive.to_string().as_bytes()).is_err());
    }

    #[test]
    fn of_claudes_messages_the_words_are_taken() {
        let archive = json!([{"uuid": "u", "name": "Bees", "chat_messages": [
            {"sender": "human", "text": "old form", "created_at": "2026-02-14T10:04:22.000Z"},
            {"sender": "assistant", "text": "", "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
            {"sender": "human", "text": " "},
        ]}, {"uuid": "v", "chat_messages": []}]);
        let (read, empty) = claude(archive.to_string().as_bytes()).expect("read");
        assert_eq!(texts(&read[0]), [("User", "old form"), ("Assistant", "one\n\ntwo")]);
        assert_eq!(empty, 1);
        assert!(claude(b"[{}]").is_err());
    }
}
