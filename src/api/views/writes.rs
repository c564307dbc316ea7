//! The responses of `/v1/writes`.

use cuebase_storage::records::{DroppedMessage, WriteChanges};
use cuebase_storage::{MessageId, NamespaceName};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::schema::values;
use crate::error_codes::ErrorCode;
use crate::memory::time::format_ms;
use crate::service::write_vectors::VectorState;
use crate::service::writes::{Sender, Write, WriteParts};

/// An accepted write and its state.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Write")]
pub struct WriteView<'a> {
    /// Id of the write.
    #[schemars(with = "values::Id")]
    pub id: MessageId,
    /// Namespace of the write.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// `queued`; `ingesting` while a worker has it; `retrying` after a failed attempt; `ingested`; `dead` after the
    /// last failed attempt; `dropped` after its namespace was deleted or its dead letter was dropped.
    #[schemars(extend("enum" = ["queued", "ingesting", "retrying", "ingested", "dead", "dropped"]))]
    pub status: &'static str,
    /// Number of attempts, including a current one.
    pub attempts: u32,
    /// Time of acceptance.
    #[schemars(with = "values::Time")]
    pub accepted_at: Option<String>,
    /// Time at which the write was ingested or failed permanently. Null before.
    #[schemars(with = "Option<values::Time>")]
    pub finished_at: Option<String>,
    /// Code of the last failure of a write that failed permanently. Null otherwise.
    pub error: Option<ErrorCode>,
    /// How far its worker is: absent unless the write is long and `ingesting`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WriteProgressView")]
    pub progress: Option<WriteProgressView>,
    /// Whether the memories of the write have their vectors: `pending` or `done`. Absent in lists, and unless the embedding
    /// model computes vectors in the background (`model.builtin = encoder`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["pending", "done"]))]
    pub vectors: Option<&'static str>,
    /// Who sent the write: only for a dashboard session, and absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SenderView<'a>")]
    pub sender: Option<SenderView<'a>>,
    /// What the write changed.
    #[serde(flatten)]
    pub changes: WriteChangesView<'a>,
}

/// Who sent a write.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[schemars(rename = "Sender")]
pub enum SenderView<'a> {
    /// The holder of an API key.
    Key {
        /// Id of the key.
        #[schemars(with = "values::KeyId")]
        key: &'a str,
        /// Name of the key. Null if it is not known.
        name: Option<&'a str>,
    },
    /// A person with a session of the dashboard.
    Session {
        /// Email address. Null if it is not known.
        email: Option<&'a str>,
    },
}

impl<'a> SenderView<'a> {
    fn of(sender: &'a Sender) -> Self {
        match sender {
            Sender::Key { id, name } => Self::Key { key: id, name: name.as_deref() },
            Sender::Session { email } => Self::Session { email: email.as_deref() },
        }
    }
}

/// The response of `GET /v1/writes`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Writes")]
pub struct WritesView<'a> {
    /// The writes, newest first.
    pub writes: Vec<WriteView<'a>>,
    /// Id to send as `before` for the next page. Null on the last one.
    #[schemars(with = "Option<values::Id>")]
    pub next: Option<MessageId>,
}

/// What a write changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WriteChangesView<'a> {
    /// Paths of new memories, skills or terms.
    pub made: &'a [String],
    /// Paths of existing ones with a new text.
    pub rewritten: &'a [String],
    /// Paths of existing memories that already said the same.
    pub merged: &'a [String],
    /// Paths of existing memories that are no longer valid.
    pub ended: &'a [String],
    /// Paths of memories that the user asked to forget in the conversation.
    pub forgotten: &'a [String],
    /// Messages of the conversation that became no memory, or only in part; the first 500 of them.
    pub dropped: Vec<DroppedMessageView<'a>>,
}

/// How far the worker of a write is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WriteProgress")]
pub struct WriteProgressView {
    /// Passages that are embedded.
    pub done: u64,
    /// All passages.
    #[schemars(extend("minimum" = 1))]
    pub total: u64,
}

impl WriteProgressView {
    fn of(parts: WriteParts) -> Self {
        Self { done: parts.done, total: parts.total }
    }
}

/// A message that became no memory, or only in part.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DroppedMessage")]
pub struct DroppedMessageView<'a> {
    /// Index of the message. Null for a refused operation of a chat model.
    pub message: Option<u64>,
    /// `small_talk`; `question` (nobody answers it); or `adds_nothing` (an assistant's message that only acknowledges or
    /// repeats). Or `asked_not_to` (the user asked not to remember it, or `store` is `false`); `system` (an instruction to the
    /// model); `no_text`; or `too_long` (only the first 200 memories are kept). For an operation of a chat model, why it was refused.
    pub reason: &'a str,
}

impl<'a> WriteView<'a> {
    /// Makes the view of a write for a caller who may see the account's keys.
    pub fn with_sender(write: &'a Write) -> Self {
        Self { sender: write.sender.as_ref().map(SenderView::of), ..Self::of(write) }
    }

    /// Makes the view of a write without its sender.
    pub fn of(write: &'a Write) -> Self {
        Self {
            id: write.id,
            namespace: &write.namespace,
            status: write.status.as_str(),
            attempts: write.attempts,
            accepted_at: format_ms(write.accepted_at_ms),
            finished_at: write.finished_at_ms.and_then(format_ms),
            error: write.error,
            progress: write.progress.map(WriteProgressView::of),
            vectors: write.vectors.map(VectorState::as_str),
            sender: None,
            changes: WriteChangesView::of(&write.changes),
        }
    }
}

impl<'a> WriteChangesView<'a> {
    fn of(changes: &'a WriteChanges) -> Self {
        Self {
            made: &changes.made,
            rewritten: &changes.rewritten,
            merged: &changes.merged,
            ended: &changes.ended,
            forgotten: &changes.forgotten,
            dropped: changes.dropped.iter().map(DroppedMessageView::of).collect(),
        }
    }
}

impl<'a> DroppedMessageView<'a> {
    fn of(dropped: &'a DroppedMessage) -> Self {
        Self { message: dropped.message, reason: &dropped.reason }
    }
}
