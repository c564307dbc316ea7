//! Responses of `/v1/conversations`.

use cuebase_storage::NamespaceName;
use cuebase_storage::records::{BranchRecord, ConversationRecord, MessageContent, MessageRecord, Role};
use schemars::JsonSchema;
use serde::Serialize;
use ulid::Ulid;

use crate::api::schema::values;
use crate::memory::time::format_ms;

/// A conversation without its messages.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Conversation")]
pub struct ConversationView<'a> {
    /// Id of the conversation.
    #[schemars(with = "values::Id")]
    pub id: Ulid,
    /// Namespace of the conversation.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// Title; empty if none was given.
    pub title: &'a str,
    /// Name of the active branch, or of the branch whose messages are listed.
    pub branch: &'a str,
    /// Time of creation.
    #[schemars(with = "values::Time")]
    pub created_at: Option<String>,
    /// Time of the last change.
    #[schemars(with = "values::Time")]
    pub updated_at: Option<String>,
}

impl<'a> ConversationView<'a> {
    /// Makes the view of a record.
    pub fn of(record: &'a ConversationRecord) -> Self {
        Self {
            id: record.id,
            namespace: &record.namespace,
            title: &record.title,
            branch: &record.branch,
            created_at: format_ms(record.created_at_ms),
            updated_at: format_ms(record.updated_at_ms),
        }
    }
}

/// The response of `GET /v1/conversations`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConversationsView<'a> {
    /// Namespace of the conversations.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// The conversations, newest first.
    #[schemars(extend("maxItems" = 200))]
    pub conversations: Vec<ConversationView<'a>>,
}

/// The response of `GET /v1/conversations/{id}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConversationMessagesView<'a> {
    /// The conversation. Its `branch` is the branch of the messages.
    #[serde(flatten)]
    pub conversation: ConversationView<'a>,
    /// The messages of the branch, in order.
    pub messages: Vec<MessageView<'a>>,
}

/// A message of a conversation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "KeptMessage")]
pub struct MessageView<'a> {
    /// Id of the message.
    #[schemars(with = "values::Id")]
    pub id: Ulid,
    /// Id of the message before it; null for the first one.
    #[schemars(with = "Option<values::Id>")]
    pub parent: Option<Ulid>,
    /// Who wrote the message.
    #[schemars(with = "values::Role")]
    pub role: Role,
    /// The message as it was sent.
    #[schemars(with = "values::Content")]
    pub content: &'a MessageContent,
    /// Time at which the message was appended.
    #[schemars(with = "values::Time")]
    pub created_at: Option<String>,
    /// Time of the last edit in place.
    #[schemars(with = "Option<values::Time>")]
    pub edited_at: Option<String>,
    /// Name of the author; absent if none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub name: Option<&'a str>,
}

impl<'a> MessageView<'a> {
    /// Makes the view of a record.
    pub fn of(record: &'a MessageRecord) -> Self {
        Self {
            id: record.id,
            parent: record.parent,
            role: record.body.role,
            content: &record.body.content,
            created_at: format_ms(record.created_at_ms),
            edited_at: record.edited_at_ms.and_then(format_ms),
            name: record.body.name.as_deref(),
        }
    }

    /// Makes the views of records.
    pub fn list(records: &'a [MessageRecord]) -> Vec<Self> {
        records.iter().map(Self::of).collect()
    }
}

/// The response of `POST /v1/conversations/{id}/messages`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AppendedMessagesView<'a> {
    /// Id of the conversation.
    #[schemars(with = "values::Id")]
    pub id: Ulid,
    /// Ids of the messages.
    #[schemars(with = "Vec<values::Id>", extend("minItems" = 1))]
    pub ids: Vec<Ulid>,
    /// The messages.
    #[schemars(extend("minItems" = 1))]
    pub messages: Vec<MessageView<'a>>,
}

/// The response of `POST /v1/conversations/{id}/messages/{mid}/edit`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NewBranchView<'a> {
    /// Id of the conversation.
    #[schemars(with = "values::Id")]
    pub id: Ulid,
    /// Name of the new branch.
    pub branch: &'a str,
    /// Id of the edited message on the new branch.
    #[schemars(with = "values::Id")]
    pub message: Option<Ulid>,
}

/// The response of `GET /v1/conversations/{id}/branches`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BranchesView<'a> {
    /// Id of the conversation.
    #[schemars(with = "values::Id")]
    pub id: Ulid,
    /// The branches, oldest first.
    #[schemars(extend("minItems" = 1))]
    pub branches: Vec<BranchView<'a>>,
}

impl<'a> BranchesView<'a> {
    /// Makes the view of a conversation's branches.
    pub fn of(record: &'a ConversationRecord) -> Self {
        let mut branches = Vec::new();
        for branch in &record.branches {
            branches.push(BranchView::of(branch, &record.branch));
        }
        Self { id: record.id, branches }
    }
}

/// A branch of a conversation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Branch")]
pub struct BranchView<'a> {
    /// Name of the branch.
    pub name: &'a str,
    /// Id of the last message; null while the branch is empty.
    #[schemars(with = "Option<values::Id>")]
    pub head: Option<Ulid>,
    /// Number of messages.
    pub messages: u64,
    /// Whether this is the active branch.
    pub active: bool,
    /// Id of the last message that the branch shares with the one from which it was forked.
    #[schemars(with = "Option<values::Id>")]
    pub forked_from: Option<Ulid>,
}

impl<'a> BranchView<'a> {
    fn of(record: &'a BranchRecord, active: &str) -> Self {
        Self {
            name: &record.name,
            head: record.head,
            messages: record.messages,
            active: record.name == active,
            forked_from: record.forked_from,
        }
    }
}
