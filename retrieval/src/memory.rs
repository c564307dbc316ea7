//! What an index is given for one memory.

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch, UTC.
pub type Millis = i64;

/// A memory as the index keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Its address; the first segment is its tier.
    pub path: String,
    /// The full body, markdown.
    pub content: String,
    /// The texts that should bring it to mind.
    pub cues: Vec<Cue>,
    /// Whose words these are.
    pub speaker: Option<String>,
    /// Names in it.
    pub entities: Vec<String>,
    /// Tags set by the caller, lowercase and sorted.
    pub user_tags: Vec<String>,
    /// Tags that extraction added, lowercase and sorted.
    pub inferred_tags: Vec<String>,
    /// When it was first written.
    pub created: Option<Millis>,
    /// When it was last written.
    pub updated: Option<Millis>,
    /// When what it tells happened.
    pub occurred: Option<Millis>,
    /// From then on it is no longer found.
    pub hidden_from: Option<Millis>,
    /// The conversation it came from: memories of one session lend each other context.
    pub session: Option<String>,
    /// Links to other memories.
    pub relations: Vec<Relation>,
    /// Whatever else the caller wants back with a hit; not looked into.
    pub details: String,
    /// Whether vectors of some cues are still to come: [`Snapshot::waiting`](crate::Snapshot::waiting) finds it until it
    /// is put again without this. Not kept in the record.
    #[serde(skip)]
    pub waiting: bool,
}

/// A text that should bring a memory to mind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cue {
    /// The text.
    pub text: String,
    /// Its embedding, of unit length and the index's dimensions; none for a text that has none. Not kept in the record.
    #[serde(skip)]
    pub vector: Option<Vec<f32>>,
}

/// A link to another memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// The other memory's path; it need not exist.
    pub path: String,
    /// What kind of link. [`Relation::FOLLOWS`] is known to the ranking; any other word may be used.
    pub kind: String,
    /// A few words that show it.
    pub snippet: String,
}

impl Relation {
    /// The memory was said right after the other one.
    pub const FOLLOWS: &'static str = "follows";

    pub(crate) fn is_follows(&self) -> bool {
        self.kind == Self::FOLLOWS
    }
}
