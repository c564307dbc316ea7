//! The names of the fields in the request body of each route.
//!
//! The route table ([`super::routes`]) refers to these lists, and [`super::unknown`] checks bodies against them.
//! `openapi.yaml` describes the same fields with their types; a test compares the names.

/// A field of a JSON object in a request.
#[derive(Debug)]
pub struct Field {
    /// Name of the field.
    pub name: &'static str,
    /// Which names its value may contain.
    pub contents: Contents,
}

/// The names that the value of a field may contain.
#[derive(Debug)]
pub enum Contents {
    /// Any: the names in the value are not checked.
    Opaque,
    /// The value is an array of objects with these fields.
    Objects(&'static [Field]),
    /// The value is text, or an array of content parts ([`part_fields`]).
    Parts,
}

const fn field(name: &'static str) -> Field {
    Field { name, contents: Contents::Opaque }
}

const fn objects(name: &'static str, fields: &'static [Field]) -> Field {
    Field { name, contents: Contents::Objects(fields) }
}

const fn parts(name: &'static str) -> Field {
    Field { name, contents: Contents::Parts }
}

/// Types of content parts with fixed fields.
pub const PART_TYPES: [&str; 2] = ["text", "media"];
const TEXT_PART: &[Field] = &[field("type"), field("text")];
const MEDIA_PART: &[Field] = &[field("type"), field("id")];

/// Returns the fields of a type of content part. `None` for other types, which are stored unchanged.
pub fn part_fields(part_type: &str) -> Option<&'static [Field]> {
    match part_type {
        "text" => Some(TEXT_PART),
        "media" => Some(MEDIA_PART),
        _ => None,
    }
}

/// `POST /v1/keys`.
pub const KEY: &[Field] = &[field("name"), field("env"), field("namespace")];

/// `POST /v1/namespaces`.
pub const NAMESPACE: &[Field] = &[field("name")];

const MESSAGE: &[Field] = &[field("role"), parts("content"), field("name"), field("occurred_at")];

/// `POST /v1/memories`.
pub const WRITE: &[Field] = &[
    objects("messages", MESSAGE),
    field("namespace"),
    field("session_id"),
    field("tags"),
    field("occurred_at"),
    field("timezone"),
    field("date"),
];

/// `POST /v1/memories/{path}`.
pub const DIRECT_WRITE: &[Field] = &[
    field("content"),
    field("tags"),
    field("occurred_at"),
    field("timezone"),
    field("cues"),
    field("expires_at"),
    field("namespace"),
    field("date"),
];

/// `POST /v1/answer`.
pub const ANSWER: &[Field] = &[
    field("q"),
    field("namespace"),
    field("tiers"),
    field("paths"),
    field("tags"),
    field("tags_all"),
    field("since"),
    field("until"),
    field("time_field"),
    field("timezone"),
    field("min_score"),
    field("limit"),
    field("detail"),
];

const TERM: &[Field] = &[field("term"), field("aliases"), field("definition")];

/// `POST /v1/vocab`.
pub const VOCABULARY: &[Field] = &[field("namespace"), objects("terms", TERM)];

const SKILL: &[Field] = &[
    field("name"),
    field("description"),
    field("content"),
    field("topic"),
    field("path"),
    field("tags"),
    field("triggers"),
    field("confidence"),
    field("occurred_at"),
    field("date"),
];

/// `POST /v1/skills`.
pub const SKILLS: &[Field] = &[field("namespace"), objects("skills", SKILL)];

/// `POST /v1/conversations`.
pub const CONVERSATION: &[Field] = &[field("namespace"), field("title")];

/// `PATCH /v1/conversations/{id}`.
pub const CONVERSATION_CHANGE: &[Field] = &[field("title"), field("branch")];

/// `POST /v1/conversations/{id}/messages`.
pub const APPENDED: &[Field] = &[
    objects("messages", MESSAGE),
    field("branch"),
    field("tags"),
    field("occurred_at"),
    field("timezone"),
    field("date"),
];

/// `POST /v1/conversations/{id}/rewind`.
pub const REWIND: &[Field] = &[field("to")];

/// `PATCH /v1/conversations/{id}/messages/{mid}` and `POST /v1/conversations/{id}/messages/{mid}/edit`.
pub const EDIT: &[Field] = &[parts("content")];

/// `POST /v1/billing/recharge`.
pub const RECHARGE: &[Field] = &[field("amount_paise")];

/// `POST /v1/billing/subscribe`.
pub const SUBSCRIPTION: &[Field] = &[field("plan")];
