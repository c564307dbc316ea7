//! A conversation as it was accepted: validated, ready for extraction, and what the queue keeps.

use cuebase_storage::memory_file::OccurredPrecision;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// A time with how exact it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The time; noon UTC for a calendar date.
    pub at: Timestamp,
    /// Day or instant.
    pub precision: OccurredPrecision,
}

impl Moment {
    /// The text that reads back as the same time: a date for a day, RFC 3339 for an instant.
    pub fn text(self) -> String {
        match self.precision {
            OccurredPrecision::Day => self.at.to_zoned(TimeZone::UTC).date().to_string(),
            OccurredPrecision::Instant => self.at.to_string(),
        }
    }
}

/// Who spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The application's model.
    Assistant,
    /// Instructions to the model; kept, not extracted.
    System,
    /// What a tool returned.
    Tool,
}

impl Role {
    /// The name that stands in for a speaker without one.
    pub fn label(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Assistant => "Assistant",
            Self::System => "System",
            Self::Tool => "Tool",
        }
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who spoke.
    pub role: Role,
    /// By what name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The text parts, joined by blank lines.
    pub text: String,
    /// Parts of other types, by reference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<serde_json::Value>,
    /// When it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<Moment>,
}

impl Message {
    /// The speaker's name, or the role's.
    pub fn speaker(&self) -> &str {
        self.name.as_deref().unwrap_or(self.role.label())
    }
}

/// What `POST /v1/memories` carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// In the order they were said; at least one.
    pub messages: Vec<Message>,
    /// The caller's name for the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Lowercase, sorted, without repeats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// When the conversation took place, if the caller said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<Moment>,
    /// An IANA name, checked; in it words like "yesterday" are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
}

impl Conversation {
    /// The time zone, UTC where none was given.
    pub fn zone(&self) -> TimeZone {
        self.timezone.as_deref().and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC)
    }
}
