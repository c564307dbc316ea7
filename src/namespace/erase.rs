//! Erasing text for good: from the history, the index and the records of a namespace.
//!
//! Both parts run under the writer lock, as two attempts of one queued write. [`Namespace::erase`] selects, rewrites
//! the history and changes the records. [`Namespace::remove_erased`] removes what still holds the text: the former
//! index, its snapshots in the bucket, and the files of the former history. `storage/src/records/erase.rs` has the order
//! of the steps on disk, `erasure_plan.rs` decides what is selected, and `erasure_recovery.rs` continues after a crash.

use std::sync::atomic::Ordering;

use cuebase_storage::memory_file::ErasedPaths;
use cuebase_storage::records::{
    ErasureRecord, ErasureReport, ErasureSelection, PlannedErasure, QueueEntry, WriteChanges,
};
use jiff::Timestamp;

use super::erasure_plan::ErasureScope;
use super::erasure_recovery::complete_interrupted;
use super::open::{Namespace, index_folders};
use super::snapshot_state::SnapshotState;
use super::sync;
use super::write::WriteSource;
use super::writer_state::WriterState;
use crate::error::Result;

impl Namespace {
    /// Rewrites history and records without the selected text. The queue entry is then one of
    /// [`QueuedWork::FinishErasure`](cuebase_storage::records::QueuedWork::FinishErasure). Does nothing if the entry
    /// has left the queue.
    ///
    /// What was written to an erased path after the erasure was accepted is erased too.
    pub fn erase(&self, entry: &QueueEntry, selection: &ErasureSelection, now: Timestamp) -> Result<()> {
        // Taken before the writer lock, for the removal below.
        let mut snapshot_state = self.snapshot_state.lock();
        let mut writer = self.writer.lock();
        self.require_open()?;
        self.recover(&mut writer)?;
        // From here on, the recorded head is that of git, and every commit has its revisions.
        self.record_head(&mut writer, WriteSource::Direct(None), WriteChanges::default(), now)?;
        let store = &self.context.store;
        if !store.is_queued(&self.key(), entry.id)? {
            return Ok(());
        }
        if matches!(store.erasure(self.id)?, Some(ErasureRecord::Applied { .. })) {
            // Of an erasure whose second part failed. Its list of files must not be lost.
            self.remove_former(&mut writer, &mut snapshot_state)?;
        }
        drop(snapshot_state);
        let planned = self.plan_erasure(&writer, entry, selection)?;
        let record = ErasureRecord::Planned(Box::new(planned.clone()));
        store.put_erasure(&writer.record, &record)?;
        // The change stays incomplete, so that the index is opened again for the new history.
        let mut change = writer.begin_change();
        if planned.head != planned.former_head
            && let Some(head) = planned.head
        {
            change.git.replace_history(head)?;
        }
        change.record = store.apply_erasure(&change.record, &planned)?;
        // Vectors that are being computed may be of erased text.
        self.erasures.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Selects what to erase, and writes the new history. The branch has not moved yet.
    fn plan_erasure(
        &self,
        writer: &WriterState,
        entry: &QueueEntry,
        selection: &ErasureSelection,
    ) -> Result<PlannedErasure> {
        let head = writer.git.head();
        let scope =
            ErasureScope { store: &self.context.store, repository: &self.repository, namespace: &writer.record, head };
        let changes = scope.select(selection)?;
        let report = scope.report(entry, selection, &changes)?;
        let mut planned = PlannedErasure {
            message: entry.id,
            former_head: head,
            head,
            commits: Vec::new(),
            former_files: Vec::new(),
            changes,
            report,
        };
        if let Some(head) = head
            && !planned.changes.paths.is_empty()
        {
            let erased = ErasedPaths::new(&planned.changes.paths);
            let rewritten = self.repository.rewrite_without(head, &erased)?;
            planned.report = ErasureReport { commits: rewritten.commits.len() as u64, ..planned.report };
            planned.head = Some(rewritten.head);
            planned.commits = rewritten.commits;
            planned.former_files = rewritten.former_files;
        }
        Ok(planned)
    }

    /// Removes the index and the files of the repository that still hold erased text, and serves a new index. Can be
    /// repeated.
    pub fn remove_erased(&self) -> Result<()> {
        // An upload that is in progress has the former index.
        let mut snapshot_state = self.snapshot_state.lock();
        let mut writer = self.writer.lock();
        self.require_open()?;
        self.recover(&mut writer)?;
        self.remove_former(&mut writer, &mut snapshot_state)
    }

    fn remove_former(&self, writer: &mut WriterState, snapshot_state: &mut SnapshotState) -> Result<()> {
        // An index that is being built for another model has the former texts. Its job notices the new number and
        // begins again.
        self.erasures.fetch_add(1, Ordering::SeqCst);
        let [_, others @ ..] = index_folders(&self.index_folder);
        for folder in others {
            if folder.exists() {
                std::fs::remove_dir_all(&folder)?;
            }
        }
        let head = writer.git.head();
        let mut change = writer.begin_change();
        // Readers of the former index continue to read the files that they have open.
        sync::rebuild_served(&mut change.index, &self.repository, head, self.id, &self.context.models)?;
        change.complete();
        self.remove_snapshots(snapshot_state)?;
        if let Some(ErasureRecord::Applied { former_files }) = self.context.store.erasure(self.id)? {
            self.repository.remove_former_files(&former_files)?;
            self.context.store.finish_erasure(&self.key())?;
        }
        self.record_waiting(writer)
    }

    /// Continues an erasure that failed after it moved the branch, so that the record fits the repository again.
    pub(super) fn continue_erasure(&self, writer: &mut WriterState) -> Result<()> {
        writer.record = complete_interrupted(&self.context, self.repository.path(), writer.record.clone())?;
        Ok(())
    }
}
