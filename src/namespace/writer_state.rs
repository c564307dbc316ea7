//! The state that only the writer of a namespace touches, and the mark that a change of it failed half-way.

use std::ops::{Deref, DerefMut};
use std::time::Instant;

use cuebase_retrieval::Index;
use cuebase_storage::git::Writer;
use cuebase_storage::records::{NamespaceRecord, TermChange};

use super::heads::head_at;
use super::sync::Unacknowledged;
use crate::memory::file_names::Namer;

/// The state behind the writer lock.
pub(super) struct WriterState {
    pub(super) git: Writer,
    pub(super) index: Index,
    pub(super) namer: Namer,
    pub(super) record: NamespaceRecord,
    /// Commits in git that are not acknowledged yet, because of a crash or a failed write of the index.
    pub(super) unacknowledged: Unacknowledged,
    /// Whether any path was written directly while a queued write was about it. Such a queued write must not change it.
    pub(super) has_path_writes: bool,
    /// Changes of the vocabulary's lookup that the next acknowledgement records.
    pub(super) terms: Vec<TermChange>,
    /// Until when packs are not joined, after a failure.
    pub(super) joining_rests_until: Option<Instant>,
    /// Whether a change began and did not complete. Git and index must then be read again before their next use.
    needs_reload: bool,
}

impl WriterState {
    pub(super) fn new(
        git: Writer,
        index: Index,
        record: NamespaceRecord,
        unacknowledged: Unacknowledged,
        has_path_writes: bool,
    ) -> Self {
        Self {
            git,
            index,
            namer: Namer::default(),
            record,
            unacknowledged,
            has_path_writes,
            terms: Vec::new(),
            joining_rests_until: None,
            needs_reload: false,
        }
    }

    /// Whether git and index must be read again before their next use.
    pub(super) fn needs_reload(&self) -> bool {
        self.needs_reload
    }

    /// Makes git and index be read again before their next use.
    pub(super) fn require_reload(&mut self) {
        self.needs_reload = true;
    }

    /// Whether the index is at git's head.
    pub(super) fn is_index_current(&self) -> bool {
        self.index.head() == self.git.head().map(head_at)
    }

    /// Begins a change of git or index. Unless it is [completed](OpenChange::complete), the state needs a reload.
    pub(super) fn begin_change(&mut self) -> OpenChange<'_> {
        self.needs_reload = true;
        OpenChange { state: self }
    }
}

/// A change of git or index that is not complete yet.
#[must_use]
pub(super) struct OpenChange<'a> {
    state: &'a mut WriterState,
}

impl OpenChange<'_> {
    /// Ends the change. Git and index must be usable as they are.
    pub(super) fn complete(self) {
        self.state.needs_reload = false;
    }
}

impl Deref for OpenChange<'_> {
    type Target = WriterState;

    fn deref(&self) -> &WriterState {
        self.state
    }
}

impl DerefMut for OpenChange<'_> {
    fn deref_mut(&mut self) -> &mut WriterState {
        self.state
    }
}
