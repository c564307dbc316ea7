//! The values that describe a memory: its tier, its time, and its links to other memories.
//!
//! They are part of stored formats: a name that is serialized does not change.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// The four kinds of memory, each a top directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Statements that hold.
    Facts,
    /// Events with their time.
    Incidents,
    /// Instructions and preferences.
    Rules,
    /// Procedures.
    Skills,
}

impl Tier {
    /// All tiers, in alphabetical order.
    pub const ALL: [Self; 4] = [Self::Facts, Self::Incidents, Self::Rules, Self::Skills];

    /// The directory's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Facts => "facts",
            Self::Incidents => "incidents",
            Self::Rules => "rules",
            Self::Skills => "skills",
        }
    }

    /// Returns the tier with a directory's name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.name() == name)
    }
}

/// Precision of a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OccurredPrecision {
    /// A calendar date, stored as noon UTC.
    Day,
    /// A point in time.
    #[default]
    Instant,
}

/// Origin of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OccurredSource {
    /// The request contained the time.
    User,
    /// The time was extracted from the text ("last Friday").
    Extracted,
    /// The time of the message.
    Said,
    /// The time when the memory was written.
    Written,
}

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

/// The kind of a link between memories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum RelationKind {
    /// The memory continues the other one.
    Follows,
    /// Both memories name the same person, place or thing.
    Shares,
    /// The text of the memory links to the other one.
    Links,
    /// A kind that somebody wrote into a file.
    Other(String),
}

impl RelationKind {
    /// Returns the kind as files contain it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Follows => "follows",
            Self::Shares => "shares",
            Self::Links => "links",
            Self::Other(kind) => kind,
        }
    }
}

impl From<String> for RelationKind {
    fn from(kind: String) -> Self {
        match kind.as_str() {
            "follows" => Self::Follows,
            "shares" => Self::Shares,
            "links" => Self::Links,
            _ => Self::Other(kind),
        }
    }
}

impl From<RelationKind> for String {
    fn from(kind: RelationKind) -> Self {
        kind.as_str().to_owned()
    }
}

/// A link to another memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// The other memory's path.
    pub path: String,
    /// Kind of the link.
    pub kind: RelationKind,
    /// A short excerpt that shows the relation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub snippet: String,
}
