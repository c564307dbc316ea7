//! The turns of a conversation, as extraction reads them.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::memory::{Moment, OccurredPrecision, OccurredSource};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The speaker's role.
    pub role: Role,
    /// The speaker's name, if it is known.
    pub name: Option<&'a str>,
    /// The text of the message.
    pub text: &'a str,
    /// When it was said.
    pub said: SaidAt,
    /// Whether its text may be stored. Another message is only read to understand those after it.
    pub is_stored: bool,
}

impl<'a> Message<'a> {
    /// Returns the speaker's name, or the label of the role.
    pub fn speaker(&self) -> &'a str {
        self.name.unwrap_or(self.role.label())
    }
}

/// When a message was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaidAt {
    /// The time.
    pub moment: Moment,
    /// How the time is known.
    pub source: OccurredSource,
    /// The calendar day, for relative dates.
    pub day: Date,
}

impl SaidAt {
    /// Returns the time of a message that was said in a time zone.
    pub fn new(moment: Moment, source: OccurredSource, zone: &TimeZone) -> Self {
        // A calendar date is stored as noon UTC. Another zone would shift its day.
        let day = match moment.precision {
            OccurredPrecision::Day => moment.at.to_zoned(TimeZone::UTC).date(),
            OccurredPrecision::Instant => moment.at.to_zoned(zone.clone()).date(),
        };
        Self { moment, source, day }
    }
}
