//! `/v1/sources`: accepted conversations, kept after ingestion.

use cuebase_storage::records::SourceRecord;
use cuebase_storage::{MessageId, NamespaceName};
use serde_json::{Value, json};

use super::query::PageSize;
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::time::format_ms;
use crate::service::sources::SourceFilter;

/// Sources in a page.
const PAGE: PageSize = PageSize { default: 50, max: 200 };

/// `GET /v1/sources`.
pub fn list(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let limit = request.query.page_limit(PAGE)?;
    let filter = SourceFilter { session_id: request.query.get("session_id"), before: before(request)? };
    let records = request.service.sources(request.account(), &namespace, filter, limit)?;
    let sources: Vec<Value> = records.iter().map(|record| source_json(record, &namespace)).collect();
    Reply::ok(&json!({"namespace": namespace, "sources": sources}))
}

/// `GET /v1/sources/{id}`.
pub fn get(request: &AuthenticatedRequest) -> Result<Reply> {
    let name = request.read_namespace()?;
    let namespace = request.service.namespaces.existing(request.account(), &name)?;
    let source = request.service.source(&namespace, request.parameter(0))?;
    let mut body = source.body();
    body.insert("id".into(), json!(source.id.to_string()));
    body.insert("namespace".into(), json!(name));
    body.insert("memories".into(), json!(request.service.source_memories(&namespace, source.id)?));
    Reply::ok(&body)
}

/// `DELETE /v1/sources/{id}`.
pub fn delete(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.write_namespace()?;
    let id = request.service.delete_source(&namespace, request.parameter(0))?;
    Reply::ok(&json!({"id": id.to_string(), "deleted": true}))
}

/// Returns the id at which the previous page ended.
fn before(request: &AuthenticatedRequest) -> Result<Option<MessageId>> {
    let Some(text) = request.query.last("before") else { return Ok(None) };
    match text.parse() {
        Ok(id) => Ok(Some(id)),
        Err(_) => Err(Error::invalid(ErrorCode::InvalidId, format!("before: {text:?} is not the id of a source"))),
    }
}

fn source_json(record: &SourceRecord, namespace: &NamespaceName) -> Value {
    json!({
        "id": record.id.to_string(),
        "namespace": namespace,
        "session_id": record.session_id,
        "messages": record.messages,
        "occurred_at": record.occurred_at,
        "accepted_at": format_ms(record.accepted_at_ms),
    })
}
