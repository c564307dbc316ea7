//! Readers of the data exports of ChatGPT and Claude.
//!
//! Both exports are an array of conversations in `conversations.json`. ChatGPT keeps every branch of a conversation as
//! nodes with parents; the branch that was viewed last is imported. Claude's messages are a plain list. Texts of users
//! and the assistant are imported; instructions, tools, pictures and reasoning are not.

use std::collections::HashMap;

use cuebase_storage::memory_file::OccurredPrecision;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::conversations::{ArchiveContent, Archived};
use super::json_file::not_json;
use crate::memory::conversation::{Conversation, Message, Moment, Role};

/// Most messages of one branch. More steps from a node to its parents mean that the nodes form a cycle.
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
    /// `all` for messages to the user; otherwise the name of a tool.
    #[serde(default)]
    recipient: Option<String>,
}

#[derive(Deserialize)]
struct Author {
    role: String,
}

/// Reads a file of ChatGPT's export.
pub(super) fn read_chatgpt(bytes: &[u8]) -> Result<ArchiveContent, String> {
    let conversations: Vec<ChatgptConversation> =
        serde_json::from_slice(bytes).map_err(|error| not_json(bytes, &error))?;
    let mut content = ArchiveContent::default();
    for (number, conversation) in conversations.iter().enumerate() {
        let Some(id) = conversation.conversation_id.as_ref().or(conversation.id.as_ref()) else {
            return Err(format!("conversation {number} has no id"));
        };
        let mut messages = Vec::new();
        for name in conversation.branch(number)? {
            if let Some(node) = conversation.mapping.get(&name)
                && let Some(message) = &node.message
            {
                messages.extend(chatgpt_message(message));
            }
        }
        add_conversation(&mut content, format!("chatgpt:{id}"), messages);
    }
    Ok(content)
}

/// Converts a message of a user or of the assistant to the user.
fn chatgpt_message(message: &ChatgptMessage) -> Option<Message> {
    let to_user = matches!(message.recipient.as_deref(), None | Some("all"));
    let role = match message.author.role.as_str() {
        "user" => Role::User,
        "assistant" if to_user => Role::Assistant,
        _ => return None,
    };
    let at = match message.create_time {
        Some(seconds) => Timestamp::from_millisecond((seconds * 1000.0) as i64).ok(),
        None => None,
    };
    text_message(role, chatgpt_text(&message.content), at)
}

impl ChatgptConversation {
    /// Returns the names of the nodes from the root to the node that was viewed last.
    fn branch(&self, number: usize) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        let mut next = self.current_node.clone().or_else(|| self.newest_leaf());
        while let Some(name) = next {
            if names.len() == STEPS_MAX {
                return Err(format!("conversation {number}: its messages form a cycle"));
            }
            next = match self.mapping.get(&name) {
                Some(node) => node.parent.clone(),
                None => None,
            };
            names.push(name);
        }
        names.reverse();
        Ok(names)
    }

    /// Returns the leaf that is reached from the root by the newest child of each node.
    fn newest_leaf(&self) -> Option<String> {
        let roots = self.mapping.iter().filter(|(_, node)| node.parent.is_none()).map(|(name, _)| name);
        let mut leaf = roots.min()?;
        for _ in 0..STEPS_MAX {
            let Some(node) = self.mapping.get(leaf) else { break };
            let Some(child) = node.children.last() else { break };
            leaf = child;
        }
        Some(leaf.clone())
    }
}

/// Returns the texts among the parts of a message.
fn chatgpt_text(content: &Value) -> String {
    let kind = content.get("content_type").and_then(Value::as_str).unwrap_or_default();
    if !matches!(kind, "text" | "multimodal_text") {
        return String::new();
    }
    let mut texts = Vec::new();
    for part in content.get("parts").and_then(Value::as_array).into_iter().flatten() {
        if let Value::String(text) = part {
            texts.push(text.as_str());
        }
    }
    texts.join("\n\n")
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

/// Reads a file of Claude's export.
pub(super) fn read_claude(bytes: &[u8]) -> Result<ArchiveContent, String> {
    let conversations: Vec<ClaudeConversation> =
        serde_json::from_slice(bytes).map_err(|error| not_json(bytes, &error))?;
    let mut content = ArchiveContent::default();
    for conversation in conversations {
        let mut messages = Vec::new();
        for message in &conversation.chat_messages {
            let role = match message.sender.as_str() {
                "human" => Role::User,
                "assistant" => Role::Assistant,
                _ => continue,
            };
            messages.extend(text_message(role, claude_text(message), message.created_at));
        }
        add_conversation(&mut content, format!("claude:{}", conversation.uuid), messages);
    }
    Ok(content)
}

/// Returns the texts among the parts of a message. Older archives have a single text instead of parts.
fn claude_text(message: &ClaudeMessage) -> String {
    let mut texts = Vec::new();
    for part in &message.content {
        if let (Some("text"), Some(Value::String(text))) = (part.get("type").and_then(Value::as_str), part.get("text"))
        {
            texts.push(text.as_str());
        }
    }
    if texts.is_empty() { message.text.clone() } else { texts.join("\n\n") }
}

/// Creates a message, unless the text is blank.
fn text_message(role: Role, text: String, at: Option<Timestamp>) -> Option<Message> {
    if text.trim().is_empty() {
        return None;
    }
    let occurred_at = at.map(|at| Moment { at, precision: OccurredPrecision::Instant });
    Some(Message { role, name: None, text, references: Vec::new(), occurred_at, store: true })
}

/// Adds a conversation, or counts it as empty.
pub(super) fn add_conversation(content: &mut ArchiveContent, id: String, messages: Vec<Message>) {
    if messages.is_empty() {
        content.empty += 1;
        return;
    }
    let occurred_at = messages.iter().find_map(|message| message.occurred_at);
    let conversation = Conversation { messages, session_id: Some(id.clone()), occurred_at, ..Conversation::default() };
    content.conversations.push(Archived { id, conversation, exported: None });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn texts(archived: &Archived) -> Vec<(&'static str, &str)> {
        archived.conversation.messages.iter().map(|message| (message.role.label(), message.text.as_str())).collect()
    }

    #[test]
    fn the_last_viewed_branch_of_chatgpt_is_imported() {
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
        let ArchiveContent { conversations, empty } = read_chatgpt(archive.to_string().as_bytes()).expect("read");
        assert_eq!(texts(&conversations[0]), [("User", "I keep bees"), ("Assistant", "How many hives?")]);
        assert_eq!(texts(&conversations[1]), [("User", "I keep wasps")]);
        assert_eq!((conversations[0].id.as_str(), empty), ("chatgpt:c1", 1));
        let at = conversations[0].conversation.messages[0].occurred_at.expect("a time").at;
        assert_eq!(at.as_millisecond(), 1_700_000_000_500);
    }

    #[test]
    fn a_cycle_is_refused() {
        let archive = json!([{"id": "c", "current_node": "a",
            "mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}}]);
        assert!(read_chatgpt(archive.to_string().as_bytes()).is_err());
    }

    #[test]
    fn the_texts_of_claude_are_imported() {
        let archive = json!([{"uuid": "u", "name": "Bees", "chat_messages": [
            {"sender": "human", "text": "old form", "created_at": "2026-02-14T10:04:22.000Z"},
            {"sender": "assistant", "text": "", "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
            {"sender": "human", "text": " "},
        ]}, {"uuid": "v", "chat_messages": []}]);
        let ArchiveContent { conversations, empty } = read_claude(archive.to_string().as_bytes()).expect("read");
        assert_eq!(texts(&conversations[0]), [("User", "old form"), ("Assistant", "one\n\ntwo")]);
        assert_eq!(empty, 1);
        assert!(read_claude(b"[{}]").is_err());
    }
}
