//! Responses of `/v1/namespaces`.

use cuebase_storage::NamespaceName;
use cuebase_storage::git::CommitId;
use cuebase_storage::records::NamespaceRecord;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::schema::values;
use crate::memory::time::format_ms;

/// The response of `POST /v1/namespaces`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NamespaceMade")]
pub struct CreatedNamespaceView<'a> {
    /// Name of the namespace.
    #[schemars(with = "values::Name")]
    pub name: &'a NamespaceName,
    /// Time of creation.
    #[schemars(with = "values::Time")]
    pub created_at: Option<String>,
}

/// The response of `GET /v1/namespaces`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NamespacesView<'a> {
    /// The namespaces, sorted by name.
    #[schemars(extend("maxItems" = 200))]
    pub namespaces: Vec<NamespaceView<'a>>,
}

/// A namespace in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Namespace")]
pub struct NamespaceView<'a> {
    /// Name of the namespace.
    #[schemars(with = "values::Name")]
    pub name: &'a NamespaceName,
    /// Time of creation.
    #[schemars(with = "values::Time")]
    pub created_at: Option<String>,
    /// Time of the last change.
    #[schemars(with = "values::Time")]
    pub updated_at: Option<String>,
    /// Number of memories.
    pub memories: u64,
    /// Id of the last commit; null before the first one.
    #[schemars(with = "Option<String>", extend("pattern" = "^[0-9a-f]{40}$"))]
    pub head: Option<CommitId>,
}

impl<'a> NamespaceView<'a> {
    /// Makes the view of a record.
    pub fn of(record: &'a NamespaceRecord) -> Self {
        Self {
            name: &record.name,
            created_at: format_ms(record.created_at_ms),
            updated_at: format_ms(record.updated_at_ms),
            memories: record.memories,
            head: record.head,
        }
    }
}

/// The response of `DELETE /v1/namespaces/{name}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedNamespaceView<'a> {
    /// Name of the namespace.
    #[schemars(with = "values::Name")]
    pub name: &'a NamespaceName,
    /// Always true.
    #[schemars(extend("const" = true))]
    pub deleted: bool,
}
