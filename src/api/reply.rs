//! What a handler returns: status, headers and body.

use bytes::Bytes;
use cuebase_storage::memory_file::DocumentId;
use cuebase_storage::{AccountId, MessageId, NamespaceName};
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use serde::Serialize;
use ulid::Ulid;

use super::views::AcceptedView;
use super::views::documents::AcceptedDocumentView;
use super::views::skills::AcceptedSkillsView;
use crate::error::{Error, Result};
use crate::service::media_content::MediaContent;

/// The status of a write in the `202`, unless the request waits for the write.
const ACCEPTED: &str = "accepted";

/// A response of a handler.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// Headers in addition to those of every response.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body: JSON unless a `content-type` header differs.
    pub body: ReplyBody,
    /// The accepted write that a `202` is about.
    pub accepted: Option<Box<AcceptedWrite>>,
}

/// A write that is in the queue.
#[derive(Clone, Debug)]
pub struct AcceptedWrite {
    /// Id of the write.
    pub id: MessageId,
    /// Namespace of the write.
    pub namespace: NamespaceName,
    /// What the `202` says of this kind of write.
    pub details: AcceptedDetails,
}

/// What a `202` says of one kind of write.
#[derive(Clone, Debug)]
pub enum AcceptedDetails {
    /// Nothing.
    None,
    /// The path of each skill.
    Skills(Vec<String>),
    /// A document.
    Document {
        /// Its id.
        document_id: DocumentId,
        /// The number of its passages.
        passages: usize,
    },
}

impl AcceptedWrite {
    /// Makes the `202` for the write, with a status.
    pub fn reply(self, status: &'static str) -> Result<Reply> {
        const STATUS: StatusCode = StatusCode::ACCEPTED;
        let Self { id, namespace, details } = &self;
        let id = *id;
        let reply = match details {
            AcceptedDetails::None => Reply::json(STATUS, &AcceptedView { id, namespace, status })?,
            AcceptedDetails::Skills(paths) => {
                Reply::json(STATUS, &AcceptedSkillsView { id, namespace, status, paths })?
            }
            AcceptedDetails::Document { document_id, passages } => {
                let passages = *passages;
                Reply::json(STATUS, &AcceptedDocumentView { id, namespace, status, document_id, passages })?
            }
        };
        Ok(Reply { accepted: Some(Box::new(self)), ..reply })
    }
}

/// The body of a reply.
#[derive(Debug)]
pub enum ReplyBody {
    /// Bytes in memory.
    Bytes(Bytes),
    /// A stored file.
    File(Box<StoredFile>),
}

/// An open file to send, and its expected content.
#[derive(Debug)]
pub struct StoredFile {
    /// What is in the file.
    pub content: MediaContent,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 of the content, in lower-case hexadecimal digits. The response is aborted when the content differs.
    pub sha256: String,
    /// Account that owns the file.
    pub account: AccountId,
    /// Id of the file, for the log.
    pub id: Ulid,
}

impl From<Bytes> for ReplyBody {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<Vec<u8>> for ReplyBody {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<String> for ReplyBody {
    fn from(text: String) -> Self {
        Self::Bytes(text.into())
    }
}

impl Reply {
    /// Makes a reply with a status and a body.
    pub fn new(status: StatusCode, body: impl Into<ReplyBody>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), accepted: None }
    }

    /// Makes a reply with a status and a JSON body.
    pub fn json(status: StatusCode, body: &impl Serialize) -> Result<Self> {
        let mut body = serde_json::to_vec(body).map_err(Error::internal)?;
        // The buffer grew by doubling, and a slow client may hold it for long.
        body.shrink_to_fit();
        Ok(Self::new(status, body))
    }

    /// Makes the `202` for a write that is in the queue.
    pub fn accepted(id: MessageId, namespace: &NamespaceName) -> Result<Self> {
        AcceptedWrite { id, namespace: namespace.clone(), details: AcceptedDetails::None }.reply(ACCEPTED)
    }

    /// Makes the `202` for skills that are in the queue, with the path of each.
    pub fn accepted_skills(id: MessageId, namespace: &NamespaceName, paths: Vec<String>) -> Result<Self> {
        let details = AcceptedDetails::Skills(paths);
        AcceptedWrite { id, namespace: namespace.clone(), details }.reply(ACCEPTED)
    }

    /// Makes the `202` for a document that is in the queue.
    pub fn accepted_document(
        id: MessageId,
        namespace: &NamespaceName,
        document_id: DocumentId,
        passages: usize,
    ) -> Result<Self> {
        let details = AcceptedDetails::Document { document_id, passages };
        AcceptedWrite { id, namespace: namespace.clone(), details }.reply(ACCEPTED)
    }

    /// Makes a `200` with a JSON body.
    pub fn ok(body: &impl Serialize) -> Result<Self> {
        Self::json(StatusCode::OK, body)
    }

    /// Adds a header. A value that is not valid in a header is left out.
    pub fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }
}
