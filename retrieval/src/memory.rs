//! Memories as the index receives and returns them.

use serde::{Deserialize, Serialize};

use crate::claim::Claim;
use crate::metadata::MetadataValue;

pub use crate::time::Millis;

/// A memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// The path. Its first segment is the tier.
    pub path: String,
    /// The content in Markdown.
    pub content: String,
    /// The texts by which the memory should be found.
    pub cues: Vec<Cue>,
    /// The person who said the content.
    pub speaker: Option<String>,
    /// The names in the content.
    pub entities: Vec<String>,
    /// Tags that the caller set, lowercase and sorted.
    pub user_tags: Vec<String>,
    /// Tags that extraction added, lowercase and sorted.
    pub inferred_tags: Vec<String>,
    /// The time at which the memory was first written.
    pub created: Option<Millis>,
    /// The time at which the memory was last written.
    pub updated: Option<Millis>,
    /// The time at which the content happened.
    pub occurred: Option<Millis>,
    /// The time of expiry: from then on, the memory is not found.
    pub hidden_from: Option<Millis>,
    /// The conversation that the memory comes from. Memories of one session are context for each other.
    pub session: Option<String>,
    /// Links to other memories.
    pub relations: Vec<Relation>,
    /// What the memory claims.
    pub claims: Vec<Claim>,
    /// The position of the memory among those that were written at the same time.
    pub sequence: u32,
    /// The statement without its dates, folded. Memories with the same statement are repetitions of each other. Empty
    /// if the memory repeats nothing.
    pub statement: String,
    /// What somebody set about when the memory holds.
    pub validity: Validity,
    /// Values that the caller filters by, with their keys, which are unique.
    pub metadata: Vec<(String, MetadataValue)>,
    /// Further data that the caller wants back with a hit. The index does not read it.
    pub details: String,
    /// Whether some cues await vectors. [`Snapshot::waiting_memories`](crate::Snapshot::waiting_memories) returns the
    /// memory until it is put again without this. Not stored in the record.
    #[serde(skip)]
    pub waiting: bool,
}

/// When a memory holds, as far as somebody set it. It counts more than what follows from claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Validity {
    /// The memory holds from then on.
    pub from: Option<Millis>,
    /// The memory no longer holds from then on.
    pub until: Option<Millis>,
    /// Paths of the memories that it replaces.
    pub supersedes: Vec<String>,
}

/// A text by which a memory should be found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cue {
    /// The text.
    pub text: String,
    /// The embedding of the text, of unit length and the index's dimensions, if there is one. Not stored in the record.
    #[serde(skip)]
    pub vector: Option<Vec<f32>>,
}

/// A link to another memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// The path of the other memory, which need not exist.
    pub path: String,
    /// The kind of the link: any word. Ranking uses [`Relation::FOLLOWS`].
    pub kind: String,
    /// A few words of the content that show the link.
    pub snippet: String,
}

impl Relation {
    /// The kind of a link to the memory that was said right before.
    pub const FOLLOWS: &'static str = "follows";

    pub(crate) fn is_follows(&self) -> bool {
        self.kind == Self::FOLLOWS
    }
}
