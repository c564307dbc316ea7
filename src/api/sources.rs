//! `/v1/sources`: conversations as they were accepted, kept after ingestion.

use cuebase_storage::records::SourceRecord;
use serde_json::{Value, json};
use ulid::Ulid;

use super::{AuthenticatedRequest, Reply};
use crate::error::{Error, Result};
use crate::memory::time::format_ms;
use crate::service::sources::SourceFilter;

/// Sources of a listing when no limit is given, and at most.
const LISTED: (usize, usize) = (50, 200);

/// `GET /v1/sources`.
pub fn list(call: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = call.read_namespace()?;
    let limit = call.query.capped("limit", LISTED)?;
    let filter = SourceFilter { session_id: call.query.get("session_id"), before: before(call)? };
    let records = call.service.sources(call.account(), &namespace, filter, limit)?;
    let listed: Vec<Value> = records.iter().map(|record| shown(record, &namespace)).collect();
    Reply::ok(&json!({"namespace": namespace, "sources": listed}))
}

/// `GET /v1/sources/{id}`.
pub fn get(call: &AuthenticatedRequest) -> Result<Reply> {
    let name = call.read_namespace()?;
    let namespace = call.service.namespaces.existing(call.account(), &name)?;
    let source = call.service.source(&namespace, call.parameter(0))?;
    let mut body = source.body();
    body.insert("id".into(), json!(source.id.to_string()));
    body.insert("namespace".into(), json!(name));
    body.insert("memories".into(), json!(call.service.source_memories(&namespace, source.id)?));
    Reply::ok(&body)
}

/// `DELETE /v1/sources/{id}`.
pub fn delete(call: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = call.write_namespace()?;
    let id = call.service.delete_source(&namespace, call.parameter(0))?;
    Reply::ok(&json!({"id": id.to_string(), "deleted": true}))
}

/// The id that ended the page before.
fn before(call: &AuthenticatedRequest) -> Result<Option<Ulid>> {
    let Some(text) = call.query.value("before") else { return Ok(None) };
    match text.parse() {
        Ok(id) => Ok(Some(id)),
        Err(_) => Err(Error::invalid("invalid_id", format!("before: {text:?} is not the id of a source"))),
    }
}

fn shown(record: &SourceRecord, namespace: &str) -> Value {
    json!({
        "id": record.id.to_string(),
        "namespace": namespace,
        "session_id": record.session_id,
        "messages": record.messages,
        "occurred_at": record.occurred_at,
        "accepted_at": format_ms(record.accepted_at_ms),
    })
}
