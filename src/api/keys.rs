//! `/v1/keys`: creates, lists and revokes API keys.

use cuebase_storage::NamespaceName;
use cuebase_storage::records::{ApiKeyRecord, Environment};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::reply::Reply;
use super::request::AuthenticatedRequest;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::gateway::Credential;
use crate::memory::time::format_ms;
use crate::namespace::names::parse_name;
use crate::service::accounts::NewKey;

/// The note in the response with a new key.
const NOTE: &str = "Store this key now: it cannot be retrieved again.";

#[derive(Deserialize)]
struct NewKeyBody {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    env: Option<Value>,
    #[serde(default)]
    namespace: Option<String>,
}

/// `POST /v1/keys`.
pub fn create(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: NewKeyBody = request.json()?;
    let env = environment(body.env.as_ref())?;
    let namespace = match body.namespace.as_deref() {
        None | Some("") => None,
        Some(name) => Some(parse_name(name)?),
    };
    if namespace.is_none() && matches!(request.principal.credential, Credential::Key { .. }) {
        let message =
            "only a dashboard session can create an account-wide key: send a namespace to create a key for it";
        return Err(Error::forbidden(ErrorCode::DashboardOnly, message));
    }
    let new_key = NewKey { name: body.name.unwrap_or_default(), env, namespace };
    let (record, key) = request.service.create_key(request.account(), new_key)?;
    Reply::json(StatusCode::CREATED, &new_key_json(&record, &key))
}

/// Returns the environment of a new key, `live` by default.
fn environment(value: Option<&Value>) -> Result<Environment> {
    let parsed = match value {
        None | Some(Value::Null) => return Ok(Environment::Live),
        Some(Value::String(name)) => name.parse().ok(),
        Some(_) => None,
    };
    parsed.ok_or_else(|| Error::invalid(ErrorCode::InvalidEnv, "env must be \"live\" or \"test\""))
}

/// Makes the JSON of a new key, for the API and the command line.
pub fn new_key_json(record: &ApiKeyRecord, key: &str) -> Value {
    json!({
        "id": record.id,
        "env": record.env,
        "name": record.name,
        "key": key,
        "namespace": record.namespace.as_ref().map_or("", NamespaceName::as_str),
        "note": NOTE,
    })
}

/// `GET /v1/keys`.
pub fn list(request: &AuthenticatedRequest) -> Result<Reply> {
    let records = request.service.keys(request.account())?;
    let keys: Vec<Value> = records.iter().map(key_json).collect();
    Reply::ok(&json!({"keys": keys}))
}

/// Makes the JSON of a key in a list.
pub fn key_json(record: &ApiKeyRecord) -> Value {
    let mut key = json!({
        "id": record.id,
        "env": record.env,
        "name": record.name,
        "revoked": record.revoked,
        "created_at": format_ms(record.created_at_ms),
    });
    if let Some(namespace) = &record.namespace {
        key["namespace"] = json!(namespace);
    }
    key
}

/// `DELETE /v1/keys/{key_id}`.
pub fn revoke(request: &AuthenticatedRequest) -> Result<Reply> {
    let id = request.parameter(0);
    request.service.revoke_key(request.account(), id)?;
    request.gateway.forget();
    Reply::ok(&json!({"id": id, "revoked": true}))
}
