//! What an erasure removes, and what it has removed.

use serde::{Deserialize, Serialize};

/// The text to erase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErasureSelection {
    /// The memories at these paths.
    Paths(Vec<String>),
    /// The memories and conversations of a session.
    Session(String),
    /// The memories that a person or thing of this name stated, or that state something about it.
    Subject(String),
}

/// The result of an erasure: numbers only, no text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ErasureReport {
    /// Memories that were erased, including those that existed in the history only.
    pub memories: u64,
    /// Commits that have new ids.
    pub commits: u64,
    /// Kept conversations that were removed.
    pub sources_removed: u64,
    /// Kept conversations of which some messages were emptied.
    pub sources_changed: u64,
    /// Managed conversations that were removed.
    pub conversations_removed: u64,
    /// Messages of other managed conversations that were emptied.
    pub messages_emptied: u64,
    /// Stored vectors of erased texts that were removed.
    pub vectors: u64,
    /// Dead letters that were removed.
    pub dead_letters: u64,
    /// Queued writes with the selected text that were accepted after the erasure. They are ingested.
    pub later_writes: u64,
    /// Records of all namespaces that cannot be decoded, and may therefore hold erased text.
    pub unreadable: u64,
}
