//! Responses of `/health` and `/v1/whoami`.

use cuebase_storage::AccountId;
use schemars::JsonSchema;
use serde::Serialize;

/// The response of `GET /health`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HealthView {
    /// Always `ok`.
    #[schemars(extend("const" = "ok"))]
    pub status: &'static str,
    /// Version of the server.
    pub version: &'static str,
    /// Number of namespaces found damaged since the start; absent when zero. `cuebase doctor` lists them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "usize", extend("minimum" = 1))]
    pub damaged_namespaces: Option<usize>,
}

/// The response of `GET /v1/whoami`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WhoamiView<'a> {
    /// The account.
    #[schemars(with = "String")]
    pub account: &'a AccountId,
    /// Kind of the credential: an API key or a dashboard session.
    #[schemars(extend("enum" = ["api_key", "jwt"]))]
    pub auth: &'static str,
    /// Environment of the API key; empty for a dashboard session.
    #[schemars(extend("enum" = ["live", "test", ""]))]
    pub env: &'static str,
}
