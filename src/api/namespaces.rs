//! `/v1/namespaces`: creating, listing and deleting namespaces.

use cuebase_storage::records::NamespaceRecord;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AuthenticatedRequest, Reply};
use crate::error::{Error, Result};
use crate::memory::time::format_ms;

/// Namespaces in one listing.
const LISTED_MAX: usize = 200;

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    name: Option<Value>,
}

/// `POST /v1/namespaces`.
pub fn create(call: &AuthenticatedRequest) -> Result<Reply> {
    let body: Body = call.json()?;
    let name = body.name.as_ref().and_then(Value::as_str).unwrap_or_default();
    let (record, new) = call.service.namespaces.create(&call.principal.account, name)?;
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    Reply::json(status, &json!({"name": record.name, "created_at": format_ms(record.created_at_ms)}))
}

/// `GET /v1/namespaces`. A scoped key sees its own alone.
pub fn list(call: &AuthenticatedRequest) -> Result<Reply> {
    let namespaces = &call.service.namespaces;
    let account = &call.principal.account;
    let records = match call.principal.scope() {
        Some(own) => namespaces.record(account, own)?.into_iter().collect(),
        None => namespaces.list(account, call.query.get("after"), LISTED_MAX)?,
    };
    let listed: Vec<Value> = records.iter().map(listed).collect();
    Reply::ok(&json!({"namespaces": listed}))
}

/// A namespace in a listing.
pub fn listed(record: &NamespaceRecord) -> Value {
    json!({
        "name": record.name,
        "created_at": format_ms(record.created_at_ms),
        "updated_at": format_ms(record.updated_at_ms),
        "memories": record.memories,
        "head": record.head,
    })
}

/// `DELETE /v1/namespaces/{name}`.
pub fn delete(call: &AuthenticatedRequest) -> Result<Reply> {
    let name = call.parameter(0);
    if !call.service.delete_namespace(call.account(), name)? {
        return Err(Error::not_found("namespace_not_found", format!("there is no namespace {name:?}")));
    }
    Reply::ok(&json!({"name": name, "deleted": true}))
}
