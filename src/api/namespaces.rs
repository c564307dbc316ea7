//! `/v1/namespaces`: creates, lists and deletes namespaces.

use cuebase_storage::records::NamespaceRecord;
use hyper::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::schema::values;
use super::views::namespaces::{CreatedNamespaceView, DeletedNamespaceView, NamespaceView, NamespacesView};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::fields::request_type;
use crate::memory::time::format_ms;
use crate::namespace::names::parse_name;

/// Namespaces in a page.
const LISTED_MAX: usize = 200;

request_type! {
    /// The body of `POST /v1/namespaces`.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub(super) struct NewNamespaceRequest {
        #[schemars(with = "values::Name")]
        name: Option<String> => InvalidNamespace,
    }
}

/// `POST /v1/namespaces`.
pub fn create(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: NewNamespaceRequest = request.json()?;
    let name = parse_name(body.name.as_deref().unwrap_or(""))?;
    let (record, is_new) = request.app.namespaces.create(request.account(), &name)?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let created_at = format_ms(record.created_at_ms);
    Reply::json(status, &CreatedNamespaceView { name: &record.name, created_at })
}

/// `GET /v1/namespaces`. A key that is limited to a namespace gets only that one.
pub fn list(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespaces = &request.app.namespaces;
    let account = request.account();
    let records = match request.principal.scope() {
        Some(scope) => namespaces.record(account, scope)?.into_iter().collect(),
        None => namespaces.list(account, request.query.get("after"), LISTED_MAX)?,
    };
    Reply::ok(&NamespacesView { namespaces: records.iter().map(NamespaceView::of).collect() })
}

/// Makes the JSON of a namespace in a list, for the command line.
pub fn namespace_json(record: &NamespaceRecord) -> Value {
    json!(NamespaceView::of(record))
}

/// `DELETE /v1/namespaces/{name}`.
pub fn delete(request: &AuthenticatedRequest) -> Result<Reply> {
    let name = parse_name(request.parameter(0))?;
    if !request.app.namespaces.delete(request.account(), &name)? {
        return Err(Error::not_found(ErrorCode::NamespaceNotFound, format!("namespace {name:?} does not exist")));
    }
    Reply::ok(&DeletedNamespaceView { name: &name, deleted: true })
}
