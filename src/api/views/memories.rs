//! Responses of `/v1/memories/{path}`, `/v1/tree` and `/v1/topics`.

use cuebase_storage::NamespaceName;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::schema::values;
use crate::service::memories::{Topic, TreeEntry};

/// The response of `POST /v1/memories/{path}`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryWritten")]
pub struct WrittenMemoryView<'a> {
    /// Path of the memory.
    pub path: &'a str,
    /// Namespace of the memory.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// Id of the commit that wrote the memory.
    #[schemars(extend("pattern" = "^[0-9a-f]{40}$"))]
    pub commit: &'a str,
}

/// The response of `GET /v1/tree`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TreeView<'a> {
    /// Namespace of the directory.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// Path of the directory; empty for the root.
    pub path: &'a str,
    /// The entries, sorted by path.
    pub entries: Vec<TreeEntry>,
}

/// The response of `GET /v1/topics`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TopicsView<'a> {
    /// Namespace of the topics.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// The topics, sorted by tier and name.
    pub topics: Vec<Topic>,
}
