//! Responses of `/v1/documents`.

use cuebase_storage::memory_file::DocumentId;
use cuebase_storage::{MessageId, NamespaceName};
use schemars::JsonSchema;
use serde::Serialize;

use super::ACCEPTED_STATUSES;
use crate::api::schema::values;
use crate::service::documents::{DocumentView, PassageView};

/// The response of `POST /v1/documents`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AcceptedDocumentView<'a> {
    /// Id of the write.
    #[schemars(with = "values::Id")]
    pub id: MessageId,
    /// Namespace of the write.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// `accepted`, or the present status of the write if the request waited for it.
    #[schemars(extend("enum" = ACCEPTED_STATUSES))]
    pub status: &'static str,
    /// Id of the document.
    #[schemars(with = "values::DocumentId")]
    pub document_id: &'a DocumentId,
    /// Number of its passages, each a memory.
    #[schemars(extend("minimum" = 1))]
    pub passages: usize,
}

/// The response of `GET /v1/documents`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocumentsView<'a> {
    /// Namespace of the documents.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// The documents, by id.
    #[schemars(extend("maxItems" = 200))]
    pub documents: Vec<DocumentView>,
}

/// The response of `GET /v1/documents/{id}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocumentPassagesView<'a> {
    /// Namespace of the document.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// The document.
    #[serde(flatten)]
    pub document: DocumentView,
    /// The memories of its passages, in the order of the document.
    pub memories: Vec<PassageView>,
}
