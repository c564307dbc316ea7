//! The result of an extraction with a chat model.

use cuebase_storage::memory_file::RelationKind;
use std::collections::HashSet;

use cuebase_retrieval::fold;

use super::operations::Operation;
use crate::memory::draft::{Draft, Link};

/// The operations that a model extracted from a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extraction {
    /// The operations, in order.
    pub operations: Vec<Operation>,
    /// Why operations of the model were dropped; one line each.
    pub dropped: Vec<String>,
    /// The model and the version of the prompt, for the commit.
    pub by: String,
    /// The folded texts of the new memories.
    bodies: HashSet<String>,
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
                if !self.bodies.insert(fold(&draft.body)) {
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
}
