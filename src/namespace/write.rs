//! The write path of an open namespace: plan, commit, index, record.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use cuebase_retrieval::Change;
use cuebase_storage::Error as StorageError;
use cuebase_storage::MessageId;
use cuebase_storage::error::DiskTrouble;
use cuebase_storage::git::{CommitId, CommitMessage, Edit, Repository, Writer};
use cuebase_storage::key_value::Column;
use cuebase_storage::memory_file::MemoryPath;
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::records::{
    Acknowledgement, FingerprintSubject, IngestedEntry, NamespaceRecord, QueueEntry, RecordedCommit, WriteChanges,
};
use jiff::Timestamp;
use rayon::prelude::*;

use super::backlog::Need;
use super::heads;
use super::open::Namespace;
use super::plan::{Content, FileChange, Plan, PlanContext, PlannedFile};
use super::report::PlanReport;
use super::sync::{self, CommittedWrite};
use super::writer_state::WriterState;
use crate::billing::meters::Permit;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::files;
use crate::metrics::Step;
use crate::namespace::sync::MESSAGE_TRAILER;

/// Attempts of a commit after a conflict with a push.
const CONFLICTS_MAX: usize = 5;

/// Where a write comes from.
pub(super) enum WriteSource<'a> {
    /// A message of the queue.
    Queued(&'a QueueEntry),
    /// A waiting caller. The units of the permit are counted with the write.
    Direct(Option<Permit<'a>>),
    /// A former process, which ended before it recorded the write.
    Former,
}

/// A new commit and its files.
pub(super) struct NewCommit {
    pub(super) commit: CommitId,
    pub(super) parent: Option<CommitId>,
    pub(super) files: Vec<PlannedFile>,
    /// What the outcome of its write lists.
    pub(super) changes: WriteChanges,
}

/// The result of a plan.
enum PlanResult {
    Committed(NewCommit),
    /// The plan has no files, so there is only what it reports.
    Uncommitted(WriteChanges),
}

/// A plan whose commit, if it has one, is indexed.
#[derive(Default)]
struct ExecutedPlan {
    commit: Option<CommitId>,
    /// What a plan without a commit reports. The changes of a commit are among the unacknowledged ones.
    uncommitted: WriteChanges,
}

impl Namespace {
    /// Commits the plan of a queue message, indexes it and acknowledges the message. Each of these happens exactly
    /// once, however often this is called. A message that has left the queue is acknowledged already.
    pub fn ingest(
        &self,
        entry: &QueueEntry,
        now: Timestamp,
        plan: impl Fn(&mut PlanContext<'_>) -> Result<Plan>,
    ) -> Result<()> {
        self.execute(WriteSource::Queued(entry), now, &plan)?;
        Ok(())
    }

    /// Commits and indexes a plan, and counts a unit with it. Returns the commit, or `None` if the plan has no files.
    pub fn write(
        &self,
        permit: Option<Permit<'_>>,
        now: Timestamp,
        plan: impl Fn(&mut PlanContext<'_>) -> Result<Plan>,
    ) -> Result<Option<CommitId>> {
        self.execute(WriteSource::Direct(permit), now, &plan)
    }

    /// Returns what a plan would change, and changes nothing.
    pub fn preview(
        &self,
        now: Timestamp,
        plan: impl Fn(&mut PlanContext<'_>) -> Result<Plan>,
    ) -> Result<Vec<FileChange>> {
        let changes = RefCell::new(Vec::new());
        self.write(None, now, |context| {
            let files = plan(context)?.files;
            changes.replace(context.changes_of(&files)?);
            Ok(Plan::empty())
        })?;
        Ok(changes.into_inner())
    }

    /// Prevents messages accepted before a request to forget from writing its paths, so that the request can be
    /// ingested before them. Paths that were written directly after the request stay as they are.
    pub fn block_older_writes(&self, forget: MessageId, paths: &[String]) -> Result<()> {
        let mut writer = self.writer.lock();
        let mut blocked = Vec::new();
        for path in paths {
            let newest = self.context.store.newest_path_write(self.id, path)?;
            // No path write at all sorts before any.
            if newest < Some(forget) {
                blocked.push((path.clone(), forget));
            }
        }
        if blocked.is_empty() {
            return Ok(());
        }
        let batch = Acknowledgement { path_writes: &blocked, ..Acknowledgement::new(&writer.record) };
        self.context.store.acknowledge(&batch)?;
        writer.has_path_writes = true;
        Ok(())
    }

    /// Replaces the history by that of a repository on the same file system, which must continue the present one.
    pub fn import_history(&self, other: &Repository, head: CommitId) -> Result<()> {
        {
            let mut writer = self.writer.lock();
            self.recover(&mut writer)?;
            let mut change = writer.begin_change();
            let imported = change.git.import_history(other, head);
            if let Err(StorageError::Invalid { reason, .. }) = imported {
                change.complete();
                return Err(Error::invalid(ErrorCode::InvalidImport, reason));
            }
            imported?;
            // The change stays incomplete, so that the index is opened again for the new history.
            change.unacknowledged = sync::unacknowledged(&self.repository, change.git.head(), &change.record)?;
        }
        self.index_moved_branch(None)
    }

    /// Accepts a push from a [scratch repository](Repository::open_scratch), and indexes it. Returns false if the
    /// branch has moved away from `from`. The units of the permit are counted with the push.
    pub fn accept_push(
        &self,
        permit: Option<Permit<'_>>,
        scratch: &Repository,
        from: Option<CommitId>,
        to: CommitId,
    ) -> Result<bool> {
        {
            let mut writer = self.writer.lock();
            self.require_open()?;
            self.recover(&mut writer)?;
            let mut change = writer.begin_change();
            let accepted = change.git.accept_push(scratch, from, to);
            if let Err(StorageError::Conflict) = accepted {
                if self.context.store.is_shared() {
                    // Nobody else writes, so an earlier write of this process came late. The next write reads it.
                    return Err(unknown_outcome());
                }
                change.complete();
                return Ok(false);
            }
            accepted?;
            change.unacknowledged = sync::unacknowledged(&self.repository, change.git.head(), &change.record)?;
            change.complete();
        }
        self.index_moved_branch(permit)?;
        Ok(true)
    }

    /// Indexes and acknowledges the commits by which the branch has moved. An empty plan does so, because each write
    /// first [recovers](Self::recover) the index.
    fn index_moved_branch(&self, permit: Option<Permit<'_>>) -> Result<()> {
        match self.write(permit, self.context.clock.now(), |_| Ok(Plan::empty())) {
            // The branch has moved, so nobody may repeat the request.
            Err(Error::NotOwner(_)) => Err(unknown_outcome()),
            written => written.map(|_| ()),
        }
    }

    /// Commits, indexes and acknowledges a plan.
    fn execute(
        &self,
        source: WriteSource<'_>,
        now: Timestamp,
        plan: &dyn Fn(&mut PlanContext<'_>) -> Result<Plan>,
    ) -> Result<Option<CommitId>> {
        let mut writer = self.writer.lock();
        self.require_open()?;
        let began = Instant::now();
        self.recover(&mut writer)?;
        let mut executed = ExecutedPlan::default();
        let entry = match &source {
            WriteSource::Queued(entry) => Some(*entry),
            WriteSource::Direct(_) | WriteSource::Former => None,
        };
        let is_committed = entry.is_some_and(|entry| writer.unacknowledged.messages.contains_key(&entry.id));
        if !is_committed {
            if let Some(entry) = entry
                && !self.context.store.is_queued(&self.key(), entry.id)?
            {
                // Acknowledged together with another write since the worker read it.
                return Ok(None);
            }
            executed = self.commit_and_index(&mut writer, entry, now, began, plan)?;
        }
        match self.record_head(&mut writer, source, executed.uncommitted, now) {
            // The commit is in the history, so nobody may repeat the request.
            Err(Error::NotOwner(_)) if executed.commit.is_some() => Err(unknown_outcome()),
            recorded => recorded.map(|()| executed.commit),
        }
    }

    /// Commits a plan and indexes the commit.
    fn commit_and_index(
        &self,
        writer: &mut WriterState,
        entry: Option<&QueueEntry>,
        now: Timestamp,
        began: Instant,
        plan: &dyn Fn(&mut PlanContext<'_>) -> Result<Plan>,
    ) -> Result<ExecutedPlan> {
        let mut change = writer.begin_change();
        let mut new = match self.commit_plan(&mut change, entry, now, plan) {
            Ok(PlanResult::Committed(new)) => new,
            Ok(PlanResult::Uncommitted(uncommitted)) => {
                change.complete();
                return Ok(ExecutedPlan { commit: None, uncommitted });
            }
            Err(error) => {
                // The git writer has reloaded itself, and the index did not change. A push may have moved the branch.
                if change.is_index_current() {
                    change.complete();
                }
                sync::require_recorded(&self.repository, &writer.record)?;
                return Err(error);
            }
        };
        let commit = new.commit;
        let message = entry.map(|entry| entry.id);
        let files = new.files.len();
        let paths = new.files.iter().map(|file| file.path.clone()).collect();
        let write = message.map(|message| (message, std::mem::take(&mut new.changes)));
        change.unacknowledged.push(RecordedCommit { id: commit, at_seconds: now.as_second(), paths }, write);
        let committed = began.elapsed();
        self.index_commit(&mut change, new)?;
        let indexed = began.elapsed() - committed;
        tracing::debug!(?message, files, ?committed, ?indexed, "written");
        change.complete();
        Ok(ExecutedPlan { commit: Some(commit), ..ExecutedPlan::default() })
    }

    /// Records the index's head, and everything that became true on the way to it, in one batch. `uncommitted` is what
    /// a plan without a commit reports.
    pub(super) fn record_head(
        &self,
        writer: &mut WriterState,
        source: WriteSource<'_>,
        uncommitted: WriteChanges,
        now: Timestamp,
    ) -> Result<()> {
        let record = next_record(writer, now);
        // All commits are indexed now, so all of them are acknowledged when the head moves past them.
        let ingested = self.ingested_entries(writer, &source, uncommitted, now)?;
        let dropped: Vec<MessageId> = writer.unacknowledged.messages.keys().copied().collect();
        let invalidated = directly_written(writer);
        let path_writes = match &source {
            // Queued messages may have been accepted after a write of a former process, and must then change its paths.
            WriteSource::Former => Vec::new(),
            WriteSource::Queued(_) | WriteSource::Direct(_) => self.path_writes(writer)?,
        };
        let done = Acknowledgement {
            ingested: &ingested,
            dropped: &dropped,
            terms: &writer.terms,
            commits: &writer.unacknowledged.commits,
            invalidates: &invalidated,
            path_writes: &path_writes,
            ..Acknowledgement::new(&record)
        };
        match source {
            WriteSource::Direct(Some(permit)) => self.acknowledge_charged(&done, permit)?,
            WriteSource::Direct(None) | WriteSource::Queued(_) | WriteSource::Former => {
                self.context.store.acknowledge(&done)?;
            }
        }
        writer.has_path_writes |= !path_writes.is_empty();
        writer.record = record;
        if writer.record.waiting > 0 {
            self.context.backlog.add(&self.key(), Need::Missing);
        }
        writer.unacknowledged.clear();
        if !std::mem::take(&mut writer.terms).is_empty() {
            self.vocabulary.store(Arc::new(sync::vocabulary(&self.context.store, self.id)?));
        }
        Ok(())
    }

    /// Records a commit, with the charge of a permit.
    fn acknowledge_charged(&self, done: &Acknowledgement<'_>, mut permit: Permit<'_>) -> Result<()> {
        loop {
            let charge = permit.charge_guard()?;
            let outcome = self.context.store.acknowledge(&Acknowledgement { usage: Some(charge.record()), ..*done });
            charge.finish(&outcome);
            match outcome {
                // Another charge of the meter was written although its batch had failed.
                Err(StorageError::ConditionFailed { column: Column::Usage, .. }) => {}
                outcome => return Ok(outcome?),
            }
        }
    }

    /// Returns the entries that leave the queue, with what they changed.
    fn ingested_entries(
        &self,
        writer: &WriterState,
        source: &WriteSource<'_>,
        uncommitted: WriteChanges,
        now: Timestamp,
    ) -> Result<Vec<IngestedEntry>> {
        let mut ingested = Vec::new();
        for (id, committed) in &writer.unacknowledged.messages {
            let entry = match source {
                WriteSource::Queued(entry) if entry.id == *id => Some((*entry).clone()),
                // Committed before a crash, or by a write that failed after its commit.
                _ => self.context.store.queue_entry(&self.key(), *id)?,
            };
            if let Some(entry) = entry {
                ingested.push(self.ingested_entry(entry, committed.clone(), now));
            }
        }
        if let WriteSource::Queued(entry) = source
            && !writer.unacknowledged.messages.contains_key(&entry.id)
        {
            let unchanged = CommittedWrite { paths: Vec::new(), changes: uncommitted };
            ingested.push(self.ingested_entry((*entry).clone(), unchanged, now));
        }
        Ok(ingested)
    }

    fn ingested_entry(&self, entry: QueueEntry, committed: CommittedWrite, now: Timestamp) -> IngestedEntry {
        let source = self.context.sources.record_of(&entry);
        let CommittedWrite { paths, changes } = committed;
        IngestedEntry { entry, paths, source, changes, finished_at_ms: now.as_millisecond() }
    }

    /// Returns the directly written paths that a queued message is about. That message was accepted before the direct
    /// write, so it must not undo it.
    fn path_writes(&self, writer: &mut WriterState) -> Result<Vec<(String, MessageId)>> {
        let WriterState { git, unacknowledged, .. } = writer;
        let pending = &self.context.pending;
        let mut path_writes = Vec::new();
        for commit in unacknowledged.commits_of_no_message() {
            for path in &commit.paths {
                let mut is_pending = pending.contains(self.id, path);
                if !is_pending && pending.contains_directory_of(self.id, path) {
                    // A removed path stays free: the message may choose it for another term or passage.
                    is_pending = git.contains(path)?;
                }
                if is_pending {
                    path_writes.push((path.clone(), self.context.ids.fresh(self.id).into()));
                }
            }
        }
        Ok(path_writes)
    }

    /// Makes a plan and commits it, again after a conflict with a push.
    fn commit_plan(
        &self,
        writer: &mut WriterState,
        entry: Option<&QueueEntry>,
        now: Timestamp,
        plan: &dyn Fn(&mut PlanContext<'_>) -> Result<Plan>,
    ) -> Result<PlanResult> {
        let message = match entry {
            Some(entry) if writer.has_path_writes => Some(entry.id),
            _ => None,
        };
        let mut attempts = 0;
        loop {
            let parent = writer.git.head();
            let snapshot = self.snapshot();
            let Plan { subject, report, trailers: plan_trailers, mut files } = plan(&mut PlanContext {
                namespace: self.id,
                git: &mut writer.git,
                namer: &mut writer.namer,
                repository: &self.repository,
                reader: None,
                store: &self.context.store,
                snapshot: &snapshot,
                message,
            })?;
            let mut trailers = Vec::new();
            if let Some(entry) = entry {
                if writer.has_path_writes {
                    self.drop_superseded(entry, &mut files)?;
                }
                trailers.push((MESSAGE_TRAILER.to_owned(), entry.id.to_string()));
            }
            let body = report.text();
            let changes = changes_of(&mut writer.git, &files, report)?;
            if files.is_empty() {
                return Ok(PlanResult::Uncommitted(changes));
            }
            trailers.extend(plan_trailers);
            let edits = edits_of(&files)?;
            let message = CommitMessage { subject, body, trailers, at_seconds: now.as_second() };
            let began = Instant::now();
            let committed = writer.git.commit(&edits, &message);
            self.context.metrics.record_step(Step::Commit, began.elapsed());
            match committed {
                // Nobody else writes, so an earlier write of this process came late. It may be this one.
                Err(StorageError::Conflict) if self.context.store.is_shared() => return Err(unknown_outcome()),
                Err(StorageError::Conflict) if attempts < CONFLICTS_MAX => attempts += 1,
                Err(error) => return Err(error.into()),
                Ok(commit) => return Ok(PlanResult::Committed(NewCommit { commit, parent, files, changes })),
            }
        }
    }

    /// Drops files from a message's plan that were written directly or forgotten after the message was accepted.
    fn drop_superseded(&self, entry: &QueueEntry, files: &mut Vec<PlannedFile>) -> Result<()> {
        let mut kept = Vec::with_capacity(files.len());
        for file in files.drain(..) {
            let newest = self.context.store.newest_path_write(self.id, &file.path)?;
            // No path write at all sorts before any.
            if newest <= Some(entry.id) {
                kept.push(file);
            }
        }
        *files = kept;
        Ok(())
    }

    /// Indexes a new commit: from its files if the index is at its parent, otherwise by comparing commits in git.
    fn index_commit(&self, writer: &mut WriterState, new: NewCommit) -> Result<()> {
        let NewCommit { commit, parent, files, .. } = new;
        if files.iter().any(|file| is_term(&file.path)) {
            writer.terms = sync::term_changes(&self.repository, parent, Some(commit))?;
        }
        let is_at_parent = writer.index.head() == parent.map(heads::head_at);
        let vectors = self.context.models.of(writer.index.model());
        let lookup = sync::Lookup { namespace: self.id, vectors: vectors.as_deref() };
        let changes: Vec<Change> = if is_at_parent {
            files.into_par_iter().filter_map(|file| index_change(file, &lookup)).collect()
        } else {
            sync::changes(writer.index.head(), &self.repository, commit, &lookup)?
        };
        self.apply(writer, changes, commit)
    }
}

/// The error of a write whose commit may be in the history, or may come into it later.
fn unknown_outcome() -> Error {
    let reason = "the outcome of a write to the database is unknown".to_owned();
    Error::Disk { trouble: DiskTrouble::Unreachable, reason }
}

/// Returns the record of a namespace with the index's head. The index's head and not git's, because a recorded commit
/// must be retrievable.
fn next_record(writer: &WriterState, now: Timestamp) -> NamespaceRecord {
    let mut record = writer.record.clone();
    let head = writer.index.head().map(heads::commit_at);
    if record.head != head {
        record.head = head;
        record.updated_at_ms = now.as_millisecond();
    }
    record.memories = writer.index.memory_count() as u64;
    record.waiting = writer.index.waiting_count() as u64;
    if writer.unacknowledged.too_many {
        // Too many commits to record one by one: histories up to here are read from git.
        record.history_base = record.head;
    }
    record.commits += writer.unacknowledged.commits.len() as u64;
    record
}

/// Returns the fingerprint subjects of all paths changed by direct writes and pushes.
fn directly_written(writer: &WriterState) -> Vec<FingerprintSubject> {
    let mut subjects = Vec::new();
    for commit in writer.unacknowledged.commits_of_no_message() {
        for path in &commit.paths {
            subjects.push(FingerprintSubject::path(path));
        }
    }
    subjects
}

/// Returns what a plan changes, before its commit.
fn changes_of(git: &mut Writer, files: &[PlannedFile], report: PlanReport) -> Result<WriteChanges> {
    let (mut made, mut existing) = (Vec::new(), Vec::new());
    for file in files {
        if file.content.is_none() {
            continue;
        }
        if git.contains(&file.path)? {
            existing.push(file.path.clone());
        } else {
            made.push(file.path.clone());
        }
    }
    Ok(report.into_changes(made, existing))
}

fn edits_of(files: &[PlannedFile]) -> Result<Vec<Edit>> {
    let mut edits = Vec::with_capacity(files.len());
    for file in files {
        let content = match &file.content {
            Some(content) => Some(content.render()?),
            None => None,
        };
        edits.push(Edit { path: file.path.clone(), content });
    }
    Ok(edits)
}

/// Returns the change of the index for a changed file; none for a file that is not a memory.
fn index_change(file: PlannedFile, lookup: &sync::Lookup<'_>) -> Option<Change> {
    let PlannedFile { path, content } = file;
    let parsed = MemoryPath::of_stored(&path).ok()?;
    match content {
        Some(Content::Memory(file)) => {
            let memory = files::to_memory(&parsed, *file, &|text| lookup.vector(text));
            Some(Change::Put(Box::new(memory)))
        }
        Some(Content::Term(_) | Content::Other(_)) => None,
        None => Some(Change::Forget(path)),
    }
}

fn is_term(path: &str) -> bool {
    path.strip_prefix(VOCABULARY_FOLDER).is_some_and(|rest| rest.starts_with('/'))
}
