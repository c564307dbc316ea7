//! Bringing an open namespace's writer, index and vocabulary to git's head after a failed change or a push.

use std::sync::Arc;
use std::time::Instant;

use cuebase_retrieval::Change;
use cuebase_retrieval::Error as IndexError;
use cuebase_storage::git::CommitId;
use cuebase_storage::records::Acknowledgement;

use super::open::{Namespace, WriterState};
use super::sync;
use crate::error::Result;
use crate::metrics::Step;

impl Namespace {
    /// Applies the changes that lead to a commit. An index that turns out damaged is made anew from git instead.
    pub(super) fn apply(&self, inner: &mut WriterState, changes: Vec<Change>, to: CommitId) -> Result<()> {
        let began = Instant::now();
        let applied = inner.index.apply(changes, &to.to_string());
        self.context.metrics.changed(Step::Index, began.elapsed());
        match applied {
            Err(IndexError::Damaged(reason)) => {
                tracing::warn!(index = %inner.index.folder().display(), %reason, "making the index anew from git");
                sync::replace(&mut inner.index, &self.repository, Some(to), self.id, &self.context.models)
            }
            applied => Ok(applied?),
        }
    }

    /// Reads writer and index again after a failed change, and takes in what was pushed from outside.
    pub(super) fn mend(&self, inner: &mut WriterState) -> Result<()> {
        let head = self.repository.head();
        if inner.needs_reload || !inner.git.is_consistent() || head.is_err() || head.ok().flatten() != inner.git.head()
        {
            sync::require_recorded(&self.repository, &inner.record)?;
            inner.git.reload()?;
            inner.unacknowledged = sync::unacknowledged(&self.repository, inner.git.head(), &inner.record)?;
        }
        if inner.needs_reload {
            tracing::warn!(account = %self.account, namespace = %self.name, "opening the index again after a failed change");
            inner.index = sync::open_index(
                &self.index_folder,
                &self.repository,
                inner.git.head(),
                self.id,
                &self.context.models,
            )?;
            inner.index.publish_to(Arc::clone(&self.snapshot));
        } else if let Some(head) = inner.git.head() {
            inner.needs_reload = true;
            if inner.index.head() != Some(head.to_string().as_str()) {
                let vectors = self.context.models.of(inner.index.model());
                let lookup = sync::Lookup { namespace: self.id, vectors: vectors.as_deref() };
                let changes = sync::changes(inner.index.head(), &self.repository, head, &lookup)?;
                self.apply(inner, changes, head)?;
            }
        }
        self.mend_vocabulary(inner)?;
        inner.needs_reload = false;
        Ok(())
    }

    /// Takes into the lookup what came by a push, or by a commit whose record was not written.
    pub(super) fn mend_vocabulary(&self, inner: &mut WriterState) -> Result<()> {
        if inner.record.head.as_deref() == inner.index.head() {
            return Ok(());
        }
        let recorded = inner.record.head.as_deref().map(str::parse::<CommitId>).transpose()?;
        let terms = sync::term_changes(&self.repository, recorded, inner.git.head())?;
        if !terms.is_empty() {
            // The record's head stays: it says which messages are not acknowledged.
            self.context
                .store
                .acknowledge(&Acknowledgement { terms: &terms, ..Acknowledgement::new(&inner.record) })?;
            self.vocabulary.store(Arc::new(sync::vocabulary(&self.context.store, self.id)?));
        }
        Ok(())
    }
}
