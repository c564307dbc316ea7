//! Documents: files in passages. [`Intake`] accepts and removes them, [`Reads`] lists them.
//!
//! A document has no record. It consists of the memories whose front matter names it, so history, export and push work
//! for it as for every memory.

use std::collections::BTreeMap;

use cuebase_retrieval::Memory;
use cuebase_storage::memory_file::DocumentId;
use cuebase_storage::memory_file::document::DOCUMENTS_FOLDER;
use cuebase_storage::records::{DocumentDraft, NamespaceRecord, QueuedWork, WriteSender};
use cuebase_storage::{AccountId, MessageId, NamespaceName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::intake::{Intake, NewWrite};
use super::reads::Reads;
use super::retrieval::DocumentPlaceView;
use crate::documents::readers::DocumentReaders;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::files::Details;
use crate::memory::time::format_ms;

/// A document in a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Document")]
pub struct DocumentView {
    /// Id of the document.
    pub document_id: String,
    /// Name of the document, such as the name of its file.
    pub name: String,
    /// Number of its passages, each a memory.
    #[schemars(extend("minimum" = 1))]
    pub passages: u64,
    /// Last page with text. Null if the document has no pages.
    pub pages: Option<u32>,
    /// Tags of its passages.
    pub tags: Vec<String>,
    /// When the first of its passages was first written.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: Option<String>,
    /// When one of its passages was last written.
    #[schemars(extend("format" = "date-time"))]
    pub updated_at: Option<String>,
}

/// A passage of a document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Passage")]
pub struct PassageView {
    /// Path of the memory.
    pub path: String,
    /// The headings above the passage, outermost first.
    pub titles: Vec<String>,
    /// First page of the passage, from 1. Null if the document has no pages.
    pub page: Option<u32>,
    /// First line of the passage, from 1. Null if the document is not text.
    pub line: Option<u32>,
}

/// What is known of a document while its memories are read.
#[derive(Default)]
struct Summary {
    view: DocumentView,
    created_ms: Option<i64>,
    updated_ms: Option<i64>,
    /// The passages with their positions.
    passages: Vec<(u32, PassageView)>,
}

impl Intake {
    /// Returns the processes that read files.
    pub fn document_readers(&self) -> &DocumentReaders {
        &self.document_readers
    }

    /// Accepts a document. It is durable in the queue when this returns, and replaces the one with the same id.
    pub fn accept_document(
        &self,
        namespace: &NamespaceRecord,
        document: DocumentDraft,
        sender: Option<WriteSender>,
    ) -> Result<MessageId> {
        let work = QueuedWork::Document { request: document };
        self.accept(namespace, NewWrite { work, sender }, None, &[])
    }

    /// Queues the removal of a document with all its passages.
    pub fn forget_document(
        &self,
        namespace: &NamespaceRecord,
        document: DocumentId,
        sender: Option<WriteSender>,
    ) -> Result<MessageId> {
        let work = QueuedWork::ForgetDocument { document };
        self.accept(namespace, NewWrite { work, sender }, None, &[])
    }
}

impl Reads {
    /// Returns the documents of a namespace after an id, by id.
    pub fn documents(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        after: Option<&DocumentId>,
        limit: usize,
    ) -> Result<Vec<DocumentView>> {
        let summaries = self.document_summaries(account, namespace, DOCUMENTS_FOLDER)?;
        let mut documents = Vec::new();
        for (id, summary) in summaries {
            if documents.len() < limit && after.is_none_or(|after| id > *after) {
                documents.push(summary.into_view());
            }
        }
        Ok(documents)
    }

    /// Returns a document and its passages in order.
    pub fn document(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        id: &DocumentId,
    ) -> Result<(DocumentView, Vec<PassageView>)> {
        let Some(mut summary) = self.document_summaries(account, namespace, &id.folder())?.remove(id) else {
            return Err(Error::not_found(ErrorCode::NotFound, format!("no document has the id {id}")));
        };
        summary.passages.sort_by_key(|(position, _)| *position);
        let passages = std::mem::take(&mut summary.passages).into_iter().map(|(_, passage)| passage).collect();
        Ok((summary.into_view(), passages))
    }

    /// Groups the memories below a directory by document. Reads them one at a time, so only one content is in memory.
    fn document_summaries(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        folder: &str,
    ) -> Result<BTreeMap<DocumentId, Summary>> {
        let lease = self.namespaces.lease(account, namespace)?;
        let prefix = format!("{folder}/");
        lease.read(|snapshot| {
            let mut summaries: BTreeMap<DocumentId, Summary> = BTreeMap::new();
            for memory in snapshot.all() {
                let memory = memory?;
                if !memory.path.starts_with(&prefix) {
                    continue;
                }
                // The details were written by this program, so unreadable ones are those of no document.
                let details: Details = serde_json::from_str(&memory.details).unwrap_or_default();
                if let Some(place) = details.document {
                    let id = place.id.clone();
                    summaries.entry(id).or_default().add(memory, DocumentPlaceView::from(place));
                }
            }
            Ok(summaries)
        })
    }
}

impl Summary {
    fn add(&mut self, memory: Memory, place: DocumentPlaceView) {
        let DocumentPlaceView { id, name, titles, position, page, line } = place;
        self.view.passages += 1;
        self.view.pages = self.view.pages.max(page);
        self.view.document_id = id;
        self.view.name = name;
        self.view.tags = memory.user_tags;
        self.created_ms = match (self.created_ms, memory.created) {
            (Some(first), Some(created)) => Some(first.min(created)),
            (first, created) => first.or(created),
        };
        self.updated_ms = self.updated_ms.max(memory.updated);
        self.passages.push((position, PassageView { path: memory.path, titles, page, line }));
    }

    fn into_view(self) -> DocumentView {
        DocumentView {
            created_at: self.created_ms.and_then(format_ms),
            updated_at: self.updated_ms.and_then(format_ms),
            ..self.view
        }
    }
}
