//! Responses of `/v1/sources`.

use cuebase_storage::records::SourceRecord;
use cuebase_storage::{MessageId, NamespaceName};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::api::schema::values;
use crate::memory::time::format_ms;
use crate::service::sources::ExtractedMemory;

/// The response of `GET /v1/sources`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SourcesView<'a> {
    /// Namespace of the sources.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// The sources, newest first.
    #[schemars(extend("maxItems" = 200))]
    pub sources: Vec<SourceView<'a>>,
}

/// A kept conversation in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Source")]
pub struct SourceView<'a> {
    /// Id of the write that brought the conversation.
    #[schemars(with = "values::Id")]
    pub id: MessageId,
    /// Namespace of the conversation.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// Session id from the request.
    pub session_id: Option<&'a str>,
    /// Number of messages.
    #[schemars(extend("minimum" = 1))]
    pub messages: u64,
    /// Time of the conversation from the request: RFC 3339 or a calendar date.
    pub occurred_at: Option<&'a str>,
    /// Time of acceptance.
    #[schemars(with = "values::Time")]
    pub accepted_at: Option<String>,
}

impl<'a> SourceView<'a> {
    /// Makes the view of a record.
    pub fn of(record: &'a SourceRecord, namespace: &'a NamespaceName) -> Self {
        Self {
            id: record.id,
            namespace,
            session_id: record.session_id.as_deref(),
            messages: record.messages,
            occurred_at: record.occurred_at.as_deref(),
            accepted_at: format_ms(record.accepted_at_ms),
        }
    }
}

/// The response of `GET /v1/sources/{id}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SourceMessagesView<'a> {
    /// Id of the write that brought the conversation.
    #[schemars(with = "values::Id")]
    pub id: MessageId,
    /// Namespace of the conversation.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// The conversation as it was accepted.
    #[serde(flatten)]
    #[schemars(with = "values::AcceptedConversation")]
    pub conversation: Map<String, Value>,
    /// Paths of existing memories that were extracted from the conversation.
    #[schemars(extend("maxItems" = 200))]
    pub memories: Vec<&'a str>,
    /// The same memories with the messages that they come from.
    #[schemars(extend("maxItems" = 200))]
    pub extracted: &'a [ExtractedMemory],
}
