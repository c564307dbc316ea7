//! `/v1/conversations`: managed conversations with their branches.

use cuebase_storage::records::{BranchRecord, ConversationRecord, MessageRecord, NamespaceRecord};
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use ulid::Ulid;

use super::{AuthenticatedRequest, Reply};
use crate::error::{Error, Result};
use crate::memory::request::{self, conversation, invalid_body, text};
use crate::memory::time::format_ms;
use crate::service::conversations::NewMessage;

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 500;
/// Conversations of a listing when no limit is given, and at most.
const LISTED: (usize, usize) = (50, 200);

/// `POST /v1/conversations`.
pub fn create(call: &AuthenticatedRequest) -> Result<Reply> {
    let body: Map<String, Value> = call.json()?;
    let title = title(&body)?.unwrap_or_default();
    let namespace = call.writable(text(&body, "namespace")?)?;
    let record = call.service.create_conversation(&namespace, title)?;
    Reply::json(StatusCode::CREATED, &shown(&record))
}

/// `GET /v1/conversations`.
pub fn list(call: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = call.read_namespace()?;
    let limit = call.query.capped("limit", LISTED)?;
    let before = call.query.value("before").map(|id| {
        id.parse::<Ulid>().map_err(|_| Error::invalid("invalid_id", format!("before: {id:?} is no conversation's id")))
    });
    let records = call.service.conversations(call.account(), &namespace, before.transpose()?, limit)?;
    let listed: Vec<Value> = records.iter().map(shown).collect();
    Reply::ok(&json!({"namespace": namespace, "conversations": listed}))
}

/// `GET /v1/conversations/{id}`.
pub fn get(call: &AuthenticatedRequest) -> Result<Reply> {
    let record = readable(call)?;
    let branch = call.query.get("branch").unwrap_or(&record.branch);
    let messages = call.service.branch_messages(&record, branch)?;
    let mut body = shown(&record);
    body["branch"] = json!(branch);
    body["messages"] = messages.iter().map(message).collect();
    Reply::ok(&body)
}

/// `PATCH /v1/conversations/{id}`.
pub fn update(call: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = changeable(call)?;
    let body: Map<String, Value> = call.json()?;
    let branch = text(&body, "branch")?;
    let record = call.service.update_conversation(call.account(), record.id, title(&body)?, branch)?;
    Reply::ok(&shown(&record))
}

/// `DELETE /v1/conversations/{id}`.
pub fn delete(call: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = changeable(call)?;
    let id = record.id.to_string();
    call.service.delete_conversation(call.account(), &id)?;
    Reply::ok(&json!({"id": id, "deleted": true}))
}

/// `POST /v1/conversations/{id}/messages`.
pub fn append(call: &AuthenticatedRequest) -> Result<Reply> {
    let (record, namespace) = changeable(call)?;
    let mut body: Map<String, Value> = call.json()?;
    // What memories are made from them is known by the conversation.
    body.insert("session_id".into(), json!(record.id.to_string()));
    let ingested = conversation(&body)?;
    let branch = text(&body, "branch")?;
    let sent = body.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
    let messages = sent.into_iter().filter_map(|message| match message {
        Value::Object(body) => Some(NewMessage { body }),
        _ => None,
    });
    let added = call.service.append(&namespace, record.id, branch, messages.collect(), &ingested)?;
    let ids: Vec<String> = added.iter().map(|message| message.id.to_string()).collect();
    let messages: Vec<Value> = added.iter().map(message).collect();
    Reply::json(StatusCode::CREATED, &json!({"id": record.id.to_string(), "ids": ids, "messages": messages}))
}

/// `POST /v1/conversations/{id}/rewind`.
pub fn rewind(call: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = changeable(call)?;
    let body: Map<String, Value> = call.json()?;
    let to =
        text(&body, "to")?.ok_or_else(|| invalid_body("to is missing: the message that the branch is to end at"))?;
    let record = call.service.rewind(call.account(), record.id, to)?;
    Reply::ok(&shown(&record))
}

/// `PATCH /v1/conversations/{id}/messages/{mid}`.
pub fn edit_in_place(call: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = changeable(call)?;
    let content = content(call)?;
    let edited = call.service.edit_in_place(call.account(), record.id, call.parameter(1), content)?;
    Reply::ok(&message(&edited))
}

/// `POST /v1/conversations/{id}/messages/{mid}/edit`.
pub fn edit(call: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = changeable(call)?;
    let content = content(call)?;
    let branch = call.service.edit_as_branch(call.account(), record.id, call.parameter(1), content)?;
    let head = branch.head.map(|id| id.to_string());
    Reply::json(StatusCode::CREATED, &json!({"id": record.id.to_string(), "branch": branch.name, "message": head}))
}

/// `GET /v1/conversations/{id}/branches`.
pub fn branches(call: &AuthenticatedRequest) -> Result<Reply> {
    let record = readable(call)?;
    let branch = |branch: &BranchRecord| {
        json!({
            "name": branch.name,
            "head": branch.head.map(|id| id.to_string()),
            "messages": branch.messages,
            "active": branch.name == record.branch,
            "forked_from": branch.forked_from.map(|id| id.to_string()),
        })
    };
    let branches: Vec<Value> = record.branches.iter().map(branch).collect();
    Reply::ok(&json!({"id": record.id.to_string(), "branches": branches}))
}

/// The conversation of the path, if the caller may read it.
fn readable(call: &AuthenticatedRequest) -> Result<ConversationRecord> {
    call.read_namespace()?;
    let record = call.service.conversation(call.account(), call.parameter(0))?;
    call.readable(Some(&record.namespace))?;
    Ok(record)
}

/// The conversation of the path with its namespace, if the caller may write to it.
fn changeable(call: &AuthenticatedRequest) -> Result<(ConversationRecord, NamespaceRecord)> {
    if call.query.value("namespace").is_some() {
        call.write_namespace()?;
    }
    let record = call.service.conversation(call.account(), call.parameter(0))?;
    let namespace = call.writable(Some(&record.namespace))?;
    Ok((record, namespace))
}

fn title(body: &Map<String, Value>) -> Result<Option<String>> {
    let Some(title) = text(body, "title")? else { return Ok(None) };
    if title.chars().count() > TITLE_CHARS_MAX || title.chars().any(char::is_control) {
        return Err(invalid_body(format!("title must be at most {TITLE_CHARS_MAX} characters on one line")));
    }
    Ok(Some(title.to_owned()))
}

/// The content of an edit, checked like a message's.
fn content(call: &AuthenticatedRequest) -> Result<Value> {
    let mut body: Map<String, Value> = call.json()?;
    let content = body.remove("content").unwrap_or_default();
    request::content(Some(&content)).map_err(invalid_body)?;
    Ok(content)
}

fn shown(record: &ConversationRecord) -> Value {
    json!({
        "id": record.id.to_string(),
        "namespace": record.namespace,
        "title": record.title,
        "branch": record.branch,
        "created_at": format_ms(record.created_at_ms),
        "updated_at": format_ms(record.updated_at_ms),
    })
}

fn message(record: &MessageRecord) -> Value {
    let mut shown = json!({
        "id": record.id.to_string(),
        "parent": record.parent.map(|id| id.to_string()),
        "role": record.body.get("role"),
        "content": record.body.get("content"),
        "created_at": format_ms(record.created_at_ms),
        "edited_at": record.edited_at_ms.and_then(format_ms),
    });
    if let Some(name) = record.body.get("name").filter(|name| !name.is_null()) {
        shown["name"] = name.clone();
    }
    shown
}
