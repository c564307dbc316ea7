//! Responses of `/v1/keys`.

use cuebase_storage::NamespaceName;
use cuebase_storage::records::{ApiKeyRecord, Environment};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::schema::values;
use crate::memory::time::format_ms;

/// The note in the response with a new key.
const NOTE: &str = "Store this key now: it cannot be retrieved again.";

/// The response of `POST /v1/keys`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NewKeyView<'a> {
    /// Id of the key.
    #[schemars(with = "values::KeyId")]
    pub id: &'a str,
    /// Environment of the key.
    #[schemars(with = "values::Environment")]
    pub env: Environment,
    /// Name of the key.
    pub name: &'a str,
    /// The key itself. No other response contains it.
    #[schemars(extend("pattern" = "^svc_(live|test)_[0-9a-f]{16}_[A-Za-z0-9_-]{32}$"))]
    pub key: &'a str,
    /// Namespace that the key is limited to; empty for an account-wide key.
    pub namespace: &'a str,
    /// Reminder that the key cannot be retrieved again.
    pub note: &'static str,
}

impl<'a> NewKeyView<'a> {
    /// Makes the view of a new key.
    pub fn of(record: &'a ApiKeyRecord, key: &'a str) -> Self {
        Self {
            id: &record.id,
            env: record.env,
            name: &record.name,
            key,
            namespace: record.namespace.as_ref().map_or("", NamespaceName::as_str),
            note: NOTE,
        }
    }
}

/// The response of `GET /v1/keys`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeysView<'a> {
    /// The keys, oldest first.
    pub keys: Vec<KeyView<'a>>,
}

/// A key in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Key")]
pub struct KeyView<'a> {
    /// Id of the key.
    #[schemars(with = "values::KeyId")]
    pub id: &'a str,
    /// Environment of the key.
    #[schemars(with = "values::Environment")]
    pub env: Environment,
    /// Name of the key.
    pub name: &'a str,
    /// Namespace that the key is limited to; absent for an account-wide key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "values::Name")]
    pub namespace: Option<&'a NamespaceName>,
    /// Whether the key was revoked.
    pub revoked: bool,
    /// Time of creation.
    #[schemars(with = "values::Time")]
    pub created_at: Option<String>,
}

impl<'a> KeyView<'a> {
    /// Makes the view of a record.
    pub fn of(record: &'a ApiKeyRecord) -> Self {
        Self {
            id: &record.id,
            env: record.env,
            name: &record.name,
            namespace: record.namespace.as_ref(),
            revoked: record.revoked,
            created_at: format_ms(record.created_at_ms),
        }
    }
}

/// The response of `DELETE /v1/keys/{key_id}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RevokedKeyView<'a> {
    /// Id of the key.
    #[schemars(with = "values::KeyId")]
    pub id: &'a str,
    /// Always true.
    #[schemars(extend("const" = true))]
    pub revoked: bool,
}
