//! `/v1/keys`: creates, lists and revokes API keys.

use cuebase_storage::records::{ApiKeyRecord, Environment};
use hyper::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::schema::values;
use super::views::keys::{KeyView, KeysView, NewKeyView, RevokedKeyView};
use crate::accounts::{KEY_NAME_CHARS_MAX, NewKey};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::gateway::Credential;
use crate::memory::fields::request_type;
use crate::namespace::names::parse_name;

request_type! {
    /// The body of `POST /v1/keys`.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub(super) struct NewKeyRequest {
        /// Name of the key, for its owner.
        #[schemars(length(max = KEY_NAME_CHARS_MAX))]
        name: Option<String>,
        #[schemars(with = "Option<Value>", extend("enum" = ["live", "test", null], "default" = "live"))]
        env: Option<String> => InvalidEnv,
        /// Namespace that the key is limited to.
        #[schemars(default, with = "values::OrEmpty<values::Name>")]
        namespace: Option<String>,
    }
}

/// `POST /v1/keys`.
pub fn create(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: NewKeyRequest = request.json()?;
    let env = environment(body.env.as_deref())?;
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
    let (record, key) = request.app.accounts.create_key(request.account(), new_key)?;
    Reply::json(StatusCode::CREATED, &NewKeyView::of(&record, &key))
}

/// Returns the environment of a new key, `live` by default.
fn environment(name: Option<&str>) -> Result<Environment> {
    let Some(name) = name else { return Ok(Environment::Live) };
    match name.parse::<Environment>() {
        Ok(environment) => Ok(environment),
        Err(_) => Err(Error::invalid(ErrorCode::InvalidEnv, "env must be \"live\" or \"test\"")),
    }
}

/// Makes the JSON of a new key, for the command line.
pub fn new_key_json(record: &ApiKeyRecord, key: &str) -> Value {
    json!(NewKeyView::of(record, key))
}

/// `GET /v1/keys`.
pub fn list(request: &AuthenticatedRequest) -> Result<Reply> {
    let records = request.app.accounts.keys(request.account())?;
    Reply::ok(&KeysView { keys: records.iter().map(KeyView::of).collect() })
}

/// Makes the JSON of a key in a list, for the command line.
pub fn key_json(record: &ApiKeyRecord) -> Value {
    json!(KeyView::of(record))
}

/// `DELETE /v1/keys/{key_id}`.
pub fn revoke(request: &AuthenticatedRequest) -> Result<Reply> {
    let id = request.parameter(0);
    request.app.accounts.revoke_key(request.account(), id)?;
    Reply::ok(&RevokedKeyView { id, revoked: true })
}
