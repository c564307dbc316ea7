//! Recovery: updates an open namespace's writer, index and vocabulary to git's head after a failed change or a push, and
//! records what a former process committed.

use std::sync::Arc;
use std::time::Instant;

use cuebase_retrieval::Change;
use cuebase_retrieval::Error as IndexError;
use cuebase_storage::git::CommitId;
use cuebase_storage::records::{Acknowledgement, WriteChanges};

use super::heads::{head_at, is_recorded};
use super::open::Namespace;
use super::sync;
use super::write::WriteSource;
use super::writer_state::WriterState;
use crate::error::Result;
use crate::metrics::Step;

impl Namespace {
    /// Applies the changes that lead to a commit. A damaged index is rebuilt from git instead.
    pub(super) fn apply(&self, writer: &mut WriterState, changes: Vec<Change>, to: CommitId) -> Result<()> {
        let began = Instant::now();
        let applied = writer.index.apply(changes, head_at(to));
        self.context.metrics.record_step(Step::Index, began.elapsed());
        match applied {
            Err(IndexError::Damaged(reason)) => {
                tracing::warn!(index = %writer.index.folder().display(), %reason, "rebuilding the index from git");
                sync::rebuild_served(&mut writer.index, &self.repository, Some(to), self.id, &self.context.models)
            }
            applied => Ok(applied?),
        }
    }

    /// Reads git and index again after a failed change, and indexes commits that were pushed from outside.
    pub(super) fn recover(&self, writer: &mut WriterState) -> Result<()> {
        let is_git_current = matches!(self.repository.head(), Ok(head) if head == writer.git.head());
        if writer.needs_reload() || !writer.git.is_consistent() || !is_git_current {
            self.continue_erasure(writer)?;
            sync::require_recorded(&self.repository, &writer.record)?;
            writer.git.reload()?;
            writer.unacknowledged = sync::unacknowledged(&self.repository, writer.git.head(), &writer.record)?;
        }
        let needs_reload = writer.needs_reload();
        let mut change = writer.begin_change();
        if needs_reload {
            self.reopen_index(&mut change)?;
        } else {
            self.update_index(&mut change)?;
        }
        self.recover_vocabulary(&change)?;
        change.complete();
        Ok(())
    }

    /// Records the direct writes and pushes that a former process committed without recording them, so that the
    /// namespace's record agrees with its content before the next write. If there are commits of queued messages among
    /// them, the queue processes these messages again, and records all.
    pub(super) fn record_former_writes(&self) -> Result<()> {
        let mut writer = self.writer.lock();
        if is_recorded(&writer.record, &writer.index) || !writer.unacknowledged.messages.is_empty() {
            return self.record_waiting(&mut writer);
        }
        self.record_head(&mut writer, WriteSource::Former, WriteChanges::default(), self.context.clock.now())
    }

    fn reopen_index(&self, writer: &mut WriterState) -> Result<()> {
        tracing::warn!(account = %self.account, namespace = %self.name, "opening the index again after a failed change");
        writer.index =
            sync::open_index(&self.index_folder, &self.repository, writer.git.head(), self.id, &self.context.models)?;
        writer.index.publish_to(Arc::clone(&self.snapshot));
        Ok(())
    }

    /// Indexes the commits between the index's head and git's.
    fn update_index(&self, writer: &mut WriterState) -> Result<()> {
        let Some(head) = writer.git.head() else { return Ok(()) };
        if writer.is_index_current() {
            return Ok(());
        }
        let vectors = self.context.models.of(writer.index.model());
        let lookup = sync::Lookup { namespace: self.id, vectors: vectors.as_deref() };
        let changes = sync::changes(writer.index.head(), &self.repository, head, &lookup)?;
        self.apply(writer, changes, head)
    }

    /// Adds terms to the lookup that a push brought, or a commit whose record was not written.
    fn recover_vocabulary(&self, writer: &WriterState) -> Result<()> {
        if is_recorded(&writer.record, &writer.index) {
            return Ok(());
        }
        let terms = sync::term_changes(&self.repository, writer.record.head, writer.git.head())?;
        if terms.is_empty() {
            return Ok(());
        }
        // The recorded head stays, because it determines which messages are not acknowledged.
        let batch = Acknowledgement { terms: &terms, ..Acknowledgement::new(&writer.record) };
        self.context.store.acknowledge(&batch)?;
        self.vocabulary.store(Arc::new(sync::vocabulary(&self.context.store, self.id)?));
        Ok(())
    }
}
