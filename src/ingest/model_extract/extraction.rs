//! The result of an extraction with a chat model.

use cuebase_storage::memory_file::RelationKind;
use std::collections::{BTreeSet, HashMap, HashSet};

use cuebase_language::extract::MESSAGE_MEMORIES_MAX;
use cuebase_language::extract::draft::{Draft, Link};
use cuebase_language::tokenize::fold;

use super::operations::Operation;

/// The operations that a model extracted from a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extraction {
    /// The operations, in order.
    pub operations: Vec<Operation>,
    /// Why operations of the model were dropped; one line each.
    pub dropped: Vec<String>,
    /// The model and the version of the prompt, for the commit.
    pub by: String,
    /// Indexes of the messages of which only the first [`MESSAGE_MEMORIES_MAX`] new memories are kept.
    pub(super) too_long: BTreeSet<usize>,
    /// The folded texts of the new memories.
    bodies: HashSet<String>,
    /// Number of new memories by the index of their first message.
    memories: HashMap<usize, usize>,
}

impl Extraction {
    /// An empty extraction by a model and a version of the prompt.
    pub(super) fn new(by: String) -> Self {
        Self { by, ..Self::default() }
    }

    /// Returns the drafts of the new memories.
    pub(super) fn drafts(&self) -> Vec<&Draft> {
        let mut drafts = Vec::new();
        for operation in &self.operations {
            if let Operation::New(draft) = operation {
                drafts.push(draft);
            }
        }
        drafts
    }

    /// Adds operations. A new memory is linked to the one before it, and left out if another one has the same text.
    pub(super) fn add(&mut self, operations: Vec<Operation>) {
        let drafts = self.drafts();
        let mut count = drafts.len();
        let mut last = drafts.last().map(|draft| draft.name.clone());
        for mut operation in operations {
            if let Operation::New(draft) = &mut operation {
                if !self.bodies.insert(fold(&draft.body)) || !self.counts(draft) {
                    continue;
                }
                if let Some(snippet) = last.replace(draft.name.clone()) {
                    draft.links.push(Link { draft: count - 1, kind: RelationKind::Follows, snippet });
                }
                count += 1;
            }
            self.operations.push(operation);
        }
    }

    /// Counts a new memory of its first message. Returns false if the message has too many.
    fn counts(&mut self, draft: &Draft) -> bool {
        let Some(message) = draft.messages.first() else { return true };
        let count = self.memories.entry(*message).or_default();
        if *count == MESSAGE_MEMORIES_MAX {
            self.too_long.insert(*message);
            return false;
        }
        *count += 1;
        true
    }
}
