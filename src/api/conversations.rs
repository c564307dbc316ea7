//! `/v1/conversations`: conversations that the service keeps, with their branches.

use cuebase_storage::records::{BranchRecord, ConversationRecord, MessageRecord, NamespaceRecord};
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use ulid::Ulid;

use super::query::PageSize;
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::request::{content, conversation, invalid_body, text};
use crate::memory::time::format_ms;
use crate::service::conversations::NewMessage;

/// Most characters of a title.
const TITLE_CHARS_MAX: usize = 500;
/// Conversations in a page.
const PAGE: PageSize = PageSize { default: 50, max: 200 };

/// `POST /v1/conversations`.
pub fn create(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: Map<String, Value> = request.json()?;
    let title = title(&body)?.unwrap_or_default();
    let namespace = request.writable_namespace(text(&body, "namespace")?)?;
    let record = request.service.create_conversation(&namespace, title)?;
    Reply::json(StatusCode::CREATED, &conversation_json(&record))
}

/// `GET /v1/conversations`.
pub fn list(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let limit = request.query.page_limit(PAGE)?;
    let before = before(request)?;
    let records = request.service.conversations(request.account(), &namespace, before, limit)?;
    let conversations: Vec<Value> = records.iter().map(conversation_json).collect();
    Reply::ok(&json!({"namespace": namespace, "conversations": conversations}))
}

/// Returns the id at which the previous page ended.
fn before(request: &AuthenticatedRequest) -> Result<Option<Ulid>> {
    let Some(text) = request.query.last("before") else { return Ok(None) };
    match text.parse() {
        Ok(id) => Ok(Some(id)),
        Err(_) => {
            Err(Error::invalid(ErrorCode::InvalidId, format!("before: {text:?} is not the id of a conversation")))
        }
    }
}

/// `GET /v1/conversations/{id}`.
pub fn get(request: &AuthenticatedRequest) -> Result<Reply> {
    let record = readable_conversation(request)?;
    let branch = request.query.get("branch").unwrap_or(&record.branch);
    let messages = request.service.branch_messages(&record, branch)?;
    let mut body = conversation_json(&record);
    body["branch"] = json!(branch);
    body["messages"] = messages.iter().map(message_json).collect();
    Reply::ok(&body)
}

/// `PATCH /v1/conversations/{id}`.
pub fn update(request: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = writable_conversation(request)?;
    let body: Map<String, Value> = request.json()?;
    let branch = text(&body, "branch")?;
    let record = request.service.update_conversation(request.account(), record.id, title(&body)?, branch)?;
    Reply::ok(&conversation_json(&record))
}

/// `DELETE /v1/conversations/{id}`.
pub fn delete(request: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = writable_conversation(request)?;
    let id = record.id.to_string();
    request.service.delete_conversation(request.account(), &id)?;
    Reply::ok(&json!({"id": id, "deleted": true}))
}

/// `POST /v1/conversations/{id}/messages`.
pub fn append(request: &AuthenticatedRequest) -> Result<Reply> {
    let (record, namespace) = writable_conversation(request)?;
    let mut body: Map<String, Value> = request.json()?;
    // Memories of the messages name the conversation as their session.
    body.insert("session_id".into(), json!(record.id.to_string()));
    let ingested = conversation(&body)?;
    let branch = text(&body, "branch")?.map(str::to_owned);
    let mut messages = Vec::new();
    if let Some(Value::Array(sent)) = body.remove("messages") {
        for message in sent {
            if let Value::Object(body) = message {
                messages.push(NewMessage { body });
            }
        }
    }
    let added = request.service.append(&namespace, record.id, branch.as_deref(), messages, &ingested)?;
    let ids: Vec<String> = added.iter().map(|message| message.id.to_string()).collect();
    let messages: Vec<Value> = added.iter().map(message_json).collect();
    Reply::json(StatusCode::CREATED, &json!({"id": record.id.to_string(), "ids": ids, "messages": messages}))
}

/// `POST /v1/conversations/{id}/rewind`.
pub fn rewind(request: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = writable_conversation(request)?;
    let body: Map<String, Value> = request.json()?;
    let Some(to) = text(&body, "to")? else {
        return Err(invalid_body("to is missing: send the id of the message at which the branch is to end"));
    };
    let record = request.service.rewind(request.account(), record.id, to)?;
    Reply::ok(&conversation_json(&record))
}

/// `PATCH /v1/conversations/{id}/messages/{mid}`.
pub fn edit_in_place(request: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = writable_conversation(request)?;
    let content = edited_content(request)?;
    let edited = request.service.edit_in_place(request.account(), record.id, request.parameter(1), content)?;
    Reply::ok(&message_json(&edited))
}

/// `POST /v1/conversations/{id}/messages/{mid}/edit`.
pub fn edit(request: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = writable_conversation(request)?;
    let content = edited_content(request)?;
    let branch = request.service.edit_as_branch(request.account(), record.id, request.parameter(1), content)?;
    let head = branch.head.map(|id| id.to_string());
    Reply::json(StatusCode::CREATED, &json!({"id": record.id.to_string(), "branch": branch.name, "message": head}))
}

/// `GET /v1/conversations/{id}/branches`.
pub fn branches(request: &AuthenticatedRequest) -> Result<Reply> {
    let record = readable_conversation(request)?;
    let branches: Vec<Value> = record.branches.iter().map(|branch| branch_json(branch, &record.branch)).collect();
    Reply::ok(&json!({"id": record.id.to_string(), "branches": branches}))
}

/// Returns the conversation of the path, if the caller may read it.
fn readable_conversation(request: &AuthenticatedRequest) -> Result<ConversationRecord> {
    request.read_namespace()?;
    let record = request.service.conversation(request.account(), request.parameter(0))?;
    request.readable_namespace(Some(record.namespace.as_str()))?;
    Ok(record)
}

/// Returns the conversation of the path with its namespace, if the caller may write to it.
fn writable_conversation(request: &AuthenticatedRequest) -> Result<(ConversationRecord, NamespaceRecord)> {
    if request.query.last("namespace").is_some() {
        request.write_namespace()?;
    }
    let record = request.service.conversation(request.account(), request.parameter(0))?;
    let namespace = request.writable_namespace(Some(record.namespace.as_str()))?;
    Ok((record, namespace))
}

fn title(body: &Map<String, Value>) -> Result<Option<String>> {
    let Some(title) = text(body, "title")? else { return Ok(None) };
    if title.chars().count() > TITLE_CHARS_MAX || title.chars().any(char::is_control) {
        return Err(invalid_body(format!("title must be at most {TITLE_CHARS_MAX} characters on one line")));
    }
    Ok(Some(title.to_owned()))
}

/// Returns the new content of a message, checked by the same rules as that of a sent message.
fn edited_content(request: &AuthenticatedRequest) -> Result<Value> {
    let mut body: Map<String, Value> = request.json()?;
    let edited = body.remove("content").unwrap_or(Value::Null);
    content(Some(&edited)).map_err(invalid_body)?;
    Ok(edited)
}

fn conversation_json(record: &ConversationRecord) -> Value {
    json!({
        "id": record.id.to_string(),
        "namespace": record.namespace,
        "title": record.title,
        "branch": record.branch,
        "created_at": format_ms(record.created_at_ms),
        "updated_at": format_ms(record.updated_at_ms),
    })
}

fn branch_json(branch: &BranchRecord, active: &str) -> Value {
    json!({
        "name": branch.name,
        "head": branch.head.map(|id| id.to_string()),
        "messages": branch.messages,
        "active": branch.name == active,
        "forked_from": branch.forked_from.map(|id| id.to_string()),
    })
}

fn message_json(record: &MessageRecord) -> Value {
    let mut message = json!({
        "id": record.id.to_string(),
        "parent": record.parent.map(|id| id.to_string()),
        "role": record.body.get("role"),
        "content": record.body.get("content"),
        "created_at": format_ms(record.created_at_ms),
        "edited_at": record.edited_at_ms.and_then(format_ms),
    });
    if let Some(name) = record.body.get("name")
        && !name.is_null()
    {
        message["name"] = name.clone();
    }
    message
}
