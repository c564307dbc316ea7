//! `/v1/namespaces`: creates, lists and deletes namespaces.

use cuebase_storage::records::NamespaceRecord;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::reply::Reply;
use super::request::AuthenticatedRequest;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::time::format_ms;
use crate::namespace::names::parse_name;

/// Namespaces in a page.
const LISTED_MAX: usize = 200;

#[derive(Deserialize)]
struct NewNamespaceBody {
    #[serde(default)]
    name: Option<Value>,
}

/// `POST /v1/namespaces`.
pub fn create(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: NewNamespaceBody = request.json()?;
    let name = match &body.name {
        Some(Value::String(name)) => name.as_str(),
        _ => "",
    };
    let (record, is_new) = request.service.namespaces.create(request.account(), &parse_name(name)?)?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Reply::json(status, &json!({"name": record.name, "created_at": format_ms(record.created_at_ms)}))
}

/// `GET /v1/namespaces`. A key that is limited to a namespace gets only that one.
pub fn list(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespaces = &request.service.namespaces;
    let account = request.account();
    let records = match request.principal.scope() {
        Some(scope) => namespaces.record(account, scope)?.into_iter().collect(),
        None => namespaces.list(account, request.query.get("after"), LISTED_MAX)?,
    };
    let listed: Vec<Value> = records.iter().map(namespace_json).collect();
    Reply::ok(&json!({"namespaces": listed}))
}

/// Makes the JSON of a namespace in a list.
pub fn namespace_json(record: &NamespaceRecord) -> Value {
    json!({
        "name": record.name,
        "created_at": format_ms(record.created_at_ms),
        "updated_at": format_ms(record.updated_at_ms),
        "memories": record.memories,
        "head": record.head,
    })
}

/// `DELETE /v1/namespaces/{name}`.
pub fn delete(request: &AuthenticatedRequest) -> Result<Reply> {
    let name = parse_name(request.parameter(0))?;
    if !request.service.delete_namespace(request.account(), &name)? {
        return Err(Error::not_found(ErrorCode::NamespaceNotFound, format!("namespace {name:?} does not exist")));
    }
    Reply::ok(&json!({"name": name, "deleted": true}))
}
