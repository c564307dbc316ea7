//! `/v1/conversations`: conversations that the service keeps, with their branches.

use cuebase_storage::records::{ConversationRecord, MessageBody, MessageContent, NamespaceRecord, SentTime};
use hyper::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use ulid::Ulid;

use super::future_times::warn_of_conversation;
use super::limits::TITLE_CHARS_MAX;
use super::query::{PageSize, QueryString};
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::schema::values;
use super::views::DeletedView;
use super::views::conversations::{
    AppendedMessagesView, BranchesView, ConversationMessagesView, ConversationView, ConversationsView, MessageView,
    NewBranchView,
};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::fields::request_type;
use crate::memory::request::{RememberRequest, invalid_body, text_and_references};
use crate::service::conversations::NewMessage;

/// Conversations in a page.
const PAGE: PageSize = PageSize { default: 50, max: 200 };

request_type! {
    /// The body of `POST /v1/conversations`.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub(super) struct CreateRequest {
        #[schemars(default, with = "values::WantedName")]
        namespace: Option<String> => InvalidNamespace,
        #[schemars(default, with = "values::Title")]
        title: Option<String>,
    }
}

request_type! {
    /// The body of `PATCH /v1/conversations/{id}`.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub(super) struct UpdateRequest {
        #[schemars(default, with = "values::Title")]
        title: Option<String>,
        /// Name of the new active branch.
        branch: Option<String>,
    }
}

request_type! {
    /// The body of `POST /v1/conversations/{id}/messages`.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub(super) struct AppendRequest {
        #[schemars(with = "Vec<values::Message>", length(min = 1))]
        messages: Option<Vec<MessageBody>>,
        /// Name of the branch; the active branch by default.
        branch: Option<String>,
        #[schemars(default, with = "values::Tags")]
        tags: Option<Vec<String>> => InvalidTag,
        #[schemars(default, with = "values::Metadata")]
        metadata: Option<Map<String, Value>> => InvalidMetadata,
        #[schemars(default, with = "values::GivenTime")]
        occurred_at: Option<SentTime> => InvalidTime,
        #[schemars(default, with = "values::Zone")]
        timezone: Option<String>,
        /// Use `occurred_at`.
        #[schemars(default, with = "values::Refined<values::GivenTime>", extend("deprecated" = true))]
        date: Option<SentTime> => InvalidTime,
    }
}

request_type! {
    /// The body of `POST /v1/conversations/{id}/rewind`.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub(super) struct RewindRequest {
        /// Id of the message at which the branch ends.
        #[schemars(required)]
        to: Option<String>,
    }
}

request_type! {
    /// The body of the two routes that edit a message.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub(super) struct EditRequest {
        #[schemars(with = "values::Content")]
        content: Option<MessageContent>,
    }
}

/// `POST /v1/conversations`.
pub fn create(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: CreateRequest = request.json()?;
    let title = checked_title(body.title)?.unwrap_or_default();
    let namespace = request.writable_namespace(body.namespace.as_deref())?;
    let record = request.app.conversations.create(&namespace, title)?;
    Reply::json(StatusCode::CREATED, &ConversationView::of(&record))
}

/// `GET /v1/conversations`.
pub fn list(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespace = request.read_namespace()?;
    let ListQuery { limit, before } = ListQuery::of(&request.query)?;
    let records = request.app.conversations.list(request.account(), &namespace, before, limit)?;
    let conversations = records.iter().map(ConversationView::of).collect();
    Reply::ok(&ConversationsView { namespace: &namespace, conversations })
}

/// The query of `GET /v1/conversations`.
struct ListQuery {
    /// Conversations in the page.
    limit: usize,
    /// The id at which the previous page ended.
    before: Option<Ulid>,
}

impl ListQuery {
    fn of(query: &QueryString) -> Result<Self> {
        let limit = query.page_limit(PAGE)?;
        let Some(text) = query.last("before") else { return Ok(Self { limit, before: None }) };
        match text.parse() {
            Ok(id) => Ok(Self { limit, before: Some(id) }),
            Err(_) => {
                Err(Error::invalid(ErrorCode::InvalidId, format!("before: {text:?} is not the id of a conversation")))
            }
        }
    }
}

/// `GET /v1/conversations/{id}`.
pub fn get(request: &AuthenticatedRequest) -> Result<Reply> {
    let record = readable_conversation(request)?;
    let branch = request.query.get("branch").unwrap_or(&record.branch);
    let messages = request.app.conversations.branch_messages(&record, branch)?;
    let conversation = ConversationView { branch, ..ConversationView::of(&record) };
    Reply::ok(&ConversationMessagesView { conversation, messages: MessageView::list(&messages) })
}

/// `PATCH /v1/conversations/{id}`.
pub fn update(request: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = writable_conversation(request)?;
    let body: UpdateRequest = request.json()?;
    let (title, branch) = (checked_title(body.title)?, body.branch.as_deref());
    let record = request.app.conversations.update(request.account(), record.id, title.as_deref(), branch)?;
    Reply::ok(&ConversationView::of(&record))
}

/// `DELETE /v1/conversations/{id}`.
pub fn delete(request: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = writable_conversation(request)?;
    let id = record.id.to_string();
    request.app.conversations.delete(request.account(), &id)?;
    Reply::ok(&DeletedView::new(id))
}

/// `POST /v1/conversations/{id}/messages`.
pub fn append(request: &AuthenticatedRequest) -> Result<Reply> {
    let (record, namespace) = writable_conversation(request)?;
    let AppendRequest { messages, branch, tags, metadata, occurred_at, timezone, date } = request.json()?;
    // Memories of the messages name the conversation as their session.
    let session_id = Some(record.id.to_string());
    let sent = RememberRequest {
        messages,
        namespace: None,
        session_id,
        user: None,
        tags,
        metadata,
        occurred_at,
        timezone,
        date,
    };
    let ingested = sent.conversation()?;
    if ingested.messages.iter().any(|message| !message.store) {
        let message =
            "store: a managed conversation keeps its messages; send what must not be kept to POST /v1/memories";
        return Err(invalid_body(message));
    }
    warn_of_conversation(request, &ingested);
    let mut messages = Vec::with_capacity(ingested.messages.len());
    for body in sent.messages.into_iter().flatten() {
        messages.push(NewMessage { body });
    }
    let sender = Some(request.sender());
    let kept = &request.app.conversations;
    let added = kept.append(&namespace, record.id, branch.as_deref(), messages, ingested, sender)?;
    let ids = added.iter().map(|message| message.id).collect();
    let body = AppendedMessagesView { id: record.id, ids, messages: MessageView::list(&added) };
    Reply::json(StatusCode::CREATED, &body)
}

/// `POST /v1/conversations/{id}/rewind`.
pub fn rewind(request: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = writable_conversation(request)?;
    let body: RewindRequest = request.json()?;
    let Some(to) = body.to.as_deref() else {
        return Err(invalid_body("to is missing: send the id of the message at which the branch is to end"));
    };
    let record = request.app.conversations.rewind(request.account(), record.id, to)?;
    Reply::ok(&ConversationView::of(&record))
}

/// `PATCH /v1/conversations/{id}/messages/{mid}`.
pub fn edit_in_place(request: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = writable_conversation(request)?;
    let content = edited_content(request)?;
    let edited =
        request.app.conversations.edit_in_place(request.account(), record.id, request.parameter(1), &content)?;
    Reply::ok(&MessageView::of(&edited))
}

/// `POST /v1/conversations/{id}/messages/{mid}/edit`.
pub fn edit(request: &AuthenticatedRequest) -> Result<Reply> {
    let (record, _) = writable_conversation(request)?;
    let content = edited_content(request)?;
    let branch =
        request.app.conversations.edit_as_branch(request.account(), record.id, request.parameter(1), &content)?;
    let body = NewBranchView { id: record.id, branch: &branch.name, message: branch.head };
    Reply::json(StatusCode::CREATED, &body)
}

/// `GET /v1/conversations/{id}/branches`.
pub fn branches(request: &AuthenticatedRequest) -> Result<Reply> {
    let record = readable_conversation(request)?;
    Reply::ok(&BranchesView::of(&record))
}

/// Returns the conversation of the path, if the caller may read it.
fn readable_conversation(request: &AuthenticatedRequest) -> Result<ConversationRecord> {
    request.read_namespace()?;
    let record = request.app.conversations.get(request.account(), request.parameter(0))?;
    request.readable_namespace(Some(record.namespace.as_str()))?;
    Ok(record)
}

/// Returns the conversation of the path with its namespace, if the caller may write to it.
fn writable_conversation(request: &AuthenticatedRequest) -> Result<(ConversationRecord, NamespaceRecord)> {
    if request.query.last("namespace").is_some() {
        request.write_namespace()?;
    }
    let record = request.app.conversations.get(request.account(), request.parameter(0))?;
    let namespace = request.writable_namespace(Some(record.namespace.as_str()))?;
    Ok((record, namespace))
}

fn checked_title(title: Option<String>) -> Result<Option<String>> {
    let Some(title) = title else { return Ok(None) };
    if title.chars().count() > TITLE_CHARS_MAX || title.chars().any(char::is_control) {
        return Err(invalid_body(format!("title must be at most {TITLE_CHARS_MAX} characters on one line")));
    }
    Ok(Some(title))
}

/// Returns the new content of a message, checked by the same rules as that of a sent message.
fn edited_content(request: &AuthenticatedRequest) -> Result<MessageContent> {
    let body: EditRequest = request.json()?;
    let Some(content) = body.content else { return Err(invalid_body("content must be text or a list of parts")) };
    text_and_references(&content).map_err(invalid_body)?;
    Ok(content)
}
