//! A validated conversation: the input of extraction.

use cuebase_language::conversation::Role;
use cuebase_language::memory::Moment;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::memory_file::Metadata;

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
    /// Whether the text may be stored. If not, it is read at ingestion and removed then.
    #[serde(default = "is_stored", skip_serializing_if = "is_default")]
    pub store: bool,
}

fn is_stored() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_default(store: &bool) -> bool {
    *store
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
