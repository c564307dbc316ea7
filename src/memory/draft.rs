//! A memory that was extracted and does not have a path yet.

use cuebase_storage::memory_file::{OccurredSource, Relation, Tier};
use jiff::Timestamp;

use crate::memory::conversation::Moment;

/// A memory on its way: everything but its path.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Where it belongs.
    pub tier: Tier,
    /// Whom or what it is about; empty where that is not known.
    pub topic: String,
    /// Whose words; empty where that does not matter.
    pub speaker: String,
    /// Markdown: `# Speaker: lead`, then the rest.
    pub body: String,
    /// A few words for the file's name.
    pub name: String,
    /// What should bring it to mind.
    pub cues: Vec<String>,
    /// Names in it.
    pub entities: Vec<String>,
    /// When it happened.
    pub occurred: Moment,
    /// How that is known.
    pub occurred_source: OccurredSource,
    /// The indexes of the messages it came from.
    pub messages: Vec<usize>,
    /// The drafts that it is linked to.
    pub links: Vec<Link>,
    /// The memories that it is linked to.
    pub relations: Vec<Relation>,
    /// Tags for its subject, lowercase and sorted.
    pub inferred_tags: Vec<String>,
    /// How sure it is, from 0 to 1.
    pub confidence: Option<f64>,
    /// From when on an incident is no longer retrieved.
    pub expires_at: Option<Timestamp>,
}

/// A link to an earlier draft of the same conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Which draft.
    pub draft: usize,
    /// `follows` or `shares`.
    pub kind: &'static str,
    /// What shows it.
    pub snippet: String,
}
