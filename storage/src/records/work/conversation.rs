//! A validated conversation: the input of extraction.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::memory_file::{Metadata, OccurredPrecision};

/// A time with its precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The time; noon UTC for a calendar date.
    pub at: Timestamp,
    /// Whether the time is a day or an instant.
    pub precision: OccurredPrecision,
}

impl Moment {
    /// Returns the time as text: a date for a day, RFC 3339 for an instant. Parsing the text returns the same time.
    pub fn text(self) -> String {
        match self.precision {
            OccurredPrecision::Day => self.at.to_zoned(TimeZone::UTC).date().to_string(),
            OccurredPrecision::Instant => self.at.to_string(),
        }
    }
}

/// The role of a speaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person who uses the application.
    User,
    /// The application's model.
    Assistant,
    /// Instructions to the model. They are stored but not extracted.
    System,
    /// The result of a tool call.
    Tool,
}

impl Role {
    /// Returns the name of a speaker that has none of its own.
    pub fn label(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Assistant => "Assistant",
            Self::System => "System",
            Self::Tool => "Tool",
        }
    }
}

/// One message of a conversation.
///
/// The mark of an imported message is a hash of its JSON. The order of the fields is therefore fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The speaker's role.
    pub role: Role,
    /// The speaker's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The text parts, joined by blank lines.
    pub text: String,
    /// The parts that are not text, as received. Parts of unknown types are stored unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<serde_json::Value>,
    /// The time of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<Moment>,
}

impl Message {
    /// Returns the speaker's name, or the label of the role.
    pub fn speaker(&self) -> &str {
        self.name.as_deref().unwrap_or(self.role.label())
    }
}

/// The conversation of a `POST /v1/memories` request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The messages in order; at least one.
    pub messages: Vec<Message>,
    /// The caller's name for the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Tags: lowercase, sorted, without repeats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Values for every memory of the conversation.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// The time of the conversation, if the caller gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<Moment>,
    /// A validated IANA name of the time zone in which words like "yesterday" are interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
}

impl Conversation {
    /// Returns the time zone; UTC if the caller gave none.
    pub fn zone(&self) -> TimeZone {
        let Some(name) = &self.timezone else { return TimeZone::UTC };
        TimeZone::get(name).unwrap_or(TimeZone::UTC)
    }
}
