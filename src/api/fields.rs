//! The fields in the request body of each route.
//!
//! The route table ([`super::routes`]) refers to these lists, and [`super::unknown`] checks bodies against them. They
//! are derived from the structs that the bodies are decoded into, and so are the schemas of the OpenAPI document. A
//! test compares the names.

use super::{
    billing, context, conversations, erase, explain, keys, memories, namespaces, retrieve, skills, vocabulary,
};
use crate::memory::fields::Fields;
pub use crate::memory::fields::{Contents, Field, PART_TYPES, part_fields};
use crate::memory::request::RememberRequest;

/// `POST /v1/keys`.
pub const KEY: &[Field] = keys::NewKeyRequest::FIELDS;

/// `POST /v1/namespaces`.
pub const NAMESPACE: &[Field] = namespaces::NewNamespaceRequest::FIELDS;

/// `POST /v1/memories`.
pub const WRITE: &[Field] = RememberRequest::FIELDS;

/// `POST /v1/memories/{path}`.
pub const DIRECT_WRITE: &[Field] = memories::DirectWriteRequest::FIELDS;

/// `POST /v1/retrieve`.
pub const RETRIEVAL: &[Field] = &retrieve::FIELDS;

/// `POST /v1/context`.
pub const CONTEXT: &[Field] = &context::FIELDS;

/// `POST /v1/answer`.
pub const ANSWER: &[Field] = &retrieve::FIELDS;

/// `POST /v1/explain`.
pub const EXPLAIN: &[Field] = &explain::FIELDS;

/// `POST /v1/vocab`.
pub const VOCABULARY: &[Field] = vocabulary::TeachRequest::FIELDS;

/// `POST /v1/skills`.
pub const SKILLS: &[Field] = skills::StoreRequest::FIELDS;

/// `POST /v1/conversations`.
pub const CONVERSATION: &[Field] = conversations::CreateRequest::FIELDS;

/// `PATCH /v1/conversations/{id}`.
pub const CONVERSATION_CHANGE: &[Field] = conversations::UpdateRequest::FIELDS;

/// `POST /v1/conversations/{id}/messages`.
pub const APPENDED: &[Field] = conversations::AppendRequest::FIELDS;

/// `POST /v1/conversations/{id}/rewind`.
pub const REWIND: &[Field] = conversations::RewindRequest::FIELDS;

/// `PATCH /v1/conversations/{id}/messages/{mid}` and `POST /v1/conversations/{id}/messages/{mid}/edit`.
pub const EDIT: &[Field] = conversations::EditRequest::FIELDS;

/// `POST /v1/erase`.
pub const ERASURE: &[Field] = erase::EraseRequest::FIELDS;

/// `POST /v1/billing/recharge`.
pub const RECHARGE: &[Field] = billing::RechargeRequest::FIELDS;

/// `POST /v1/billing/subscribe`.
pub const SUBSCRIPTION: &[Field] = billing::SubscriptionRequest::FIELDS;
