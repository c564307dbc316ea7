//! `/v1/keys`: creating, listing and revoking API keys.

use cuebase_storage::records::ApiKeyRecord;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AuthenticatedRequest, Reply};
use crate::accounts::credentials::Environment;
use crate::error::{Error, Result};
use crate::gateway::Credential;
use crate::memory::time::format_ms;
use crate::service::accounts::NewKey;

/// Told with every new key.
const NOTE: &str = "Store this key now: it cannot be retrieved again.";

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    env: Option<Value>,
    #[serde(default)]
    namespace: Option<String>,
}

/// `POST /v1/keys`.
pub fn create(call: &AuthenticatedRequest) -> Result<Reply> {
    let body: Body = call.json()?;
    let env = match body.env {
        None | Some(Value::Null) => Environment::Live,
        Some(value) => value
            .as_str()
            .and_then(Environment::parse)
            .ok_or_else(|| Error::invalid("invalid_env", "env must be \"live\" or \"test\""))?,
    };
    let namespace = body.namespace.filter(|namespace| !namespace.is_empty());
    if namespace.is_none() && matches!(call.principal.credential, Credential::Key { .. }) {
        let message = "an account-wide key is created from the dashboard; a key may only create keys with a namespace";
        return Err(Error::forbidden("dashboard_only", message));
    }
    let wanted = NewKey { name: body.name.unwrap_or_default(), env, namespace };
    let (record, full) = call.service.create_key(&call.principal.account, wanted)?;
    Reply::json(StatusCode::CREATED, &created(&record, &full))
}

/// A new key as the API and the command line tell it.
pub fn created(record: &ApiKeyRecord, full: &str) -> Value {
    json!({
        "id": record.id,
        "env": record.env,
        "name": record.name,
        "key": full,
        "namespace": record.namespace.clone().unwrap_or_default(),
        "note": NOTE,
    })
}

/// `GET /v1/keys`.
pub fn list(call: &AuthenticatedRequest) -> Result<Reply> {
    let keys: Vec<Value> = call.service.keys(&call.principal.account)?.iter().map(listed).collect();
    Reply::ok(&json!({"keys": keys}))
}

/// A key in a listing.
pub fn listed(record: &ApiKeyRecord) -> Value {
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
pub fn revoke(call: &AuthenticatedRequest) -> Result<Reply> {
    let id = call.parameter(0);
    call.service.revoke_key(&call.principal.account, id)?;
    call.gateway.forget();
    Reply::ok(&json!({"id": id, "revoked": true}))
}
