//! An extracted memory that does not have a path yet.

use jiff::Timestamp;

use crate::claims::Claim;
use crate::memory::{Moment, OccurredSource, Relation, RelationKind, Tier};

/// An extracted memory, without a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The memory's tier.
    pub tier: Tier,
    /// The person or thing that the memory is about; empty if unknown.
    pub topic: String,
    /// The speaker of the statement; empty if irrelevant.
    pub speaker: String,
    /// Content in markdown: `# Speaker: lead`, then the rest.
    pub body: String,
    /// A few words for the file's name.
    pub name: String,
    /// The cues by which the memory is found.
    pub cues: Vec<String>,
    /// Names in the content.
    pub entities: Vec<String>,
    /// The time of the event or statement.
    pub occurred: Moment,
    /// The source of that time.
    pub occurred_source: OccurredSource,
    /// Indexes of the messages that the memory was extracted from.
    pub messages: Vec<usize>,
    /// Indexes of the messages before them that the memory quotes.
    pub before: Vec<usize>,
    /// Links to drafts of the same conversation.
    pub links: Vec<Link>,
    /// What the extractor infers about the memory.
    pub inferred: Inferred,
}

/// What an extractor infers about a memory. Without a chat model, these are the claims and whether the statement stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inferred {
    /// What the memory claims.
    pub claims: Vec<Claim>,
    /// Relations to stored memories.
    pub relations: Vec<Relation>,
    /// Tags for the subject, lowercase and sorted.
    pub tags: Vec<String>,
    /// Confidence from 0 to 1.
    pub confidence: Option<f64>,
    /// Time from which an incident is excluded from retrieval.
    pub expires_at: Option<Timestamp>,
    /// The end of the month or year that begins at [`Draft::occurred`]; `None` if the time is a day or an
    /// instant.
    pub occurred_until: Option<Timestamp>,
    /// When it was said, if [`Draft::occurred`] is the time that it is about.
    pub said_at: Option<Timestamp>,
}

/// A link to an earlier draft of the same conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Index of the earlier draft.
    pub draft: usize,
    /// Kind of the link.
    pub kind: RelationKind,
    /// The text that shows the link.
    pub snippet: String,
}
