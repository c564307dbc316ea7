//! A message as a client sends it, and as a managed conversation stores it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::Role;

/// A message as a client sent it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageBody {
    /// The speaker's role.
    pub role: Role,
    /// The content.
    pub content: MessageContent,
    /// The speaker's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The time of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<SentTime>,
    /// Whether the text may be stored; by default it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
    /// The fields that the service does not know. A managed conversation stores them unchanged.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "must be text or a list of parts")]
pub enum MessageContent {
    /// Text.
    Text(String),
    /// Content parts. They are JSON objects here because parts of unknown types are stored unchanged.
    Parts(Vec<Map<String, Value>>),
}

/// A time as a client wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "must be text or a number of seconds")]
pub enum SentTime {
    /// A date, or a time in any of the accepted forms.
    Text(String),
    /// Seconds since the epoch.
    Seconds(Number),
}

/// Writes the time as JSON.
impl fmt::Display for SentTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => match serde_json::to_string(text) {
                Ok(json) => f.write_str(&json),
                Err(_) => Err(fmt::Error),
            },
            Self::Seconds(number) => fmt::Display::fmt(number, f),
        }
    }
}
