//! The write path of an open namespace: plan, commit, index, record.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cuebase_retrieval::Change;
use cuebase_storage::Error as StorageError;
use cuebase_storage::git::{CommitId, CommitMessage, Edit, Repository};
use cuebase_storage::memory_file::MemoryPath;
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::records::{Acknowledgement, FingerprintSubject, IngestedEntry, QueueEntry};
use jiff::Timestamp;
use rayon::prelude::*;
use ulid::Ulid;

use super::open::{Namespace, WriterState};
use super::plan::{Content, Plan, PlanContext};
use super::sync;
use crate::billing::meters::Permit;
use crate::error::{Error, Result};
use crate::memory::files;
use crate::metrics::Step;
use crate::namespace::sync::MESSAGE_TRAILER;

/// Attempts of a commit after a conflict with a push.
const CONFLICTS_MAX: usize = 5;

/// Who asked for a write.
pub enum Source<'a> {
    /// A message of the queue.
    Queued(&'a QueueEntry),
    /// A caller who waits for it. The unit is counted with the write.
    Direct(Option<Permit<'a>>),
}

/// A commit that was made.
pub(super) struct NewCommit {
    pub(super) commit: CommitId,
    pub(super) parent: Option<CommitId>,
    pub(super) files: Vec<(String, Option<Content>)>,
}

impl Namespace {
    /// Carries out the plan of one queue message, indexes it and acknowledges the message, each exactly once however
    /// often this is called. A message that is not in the queue any more is acknowledged already.
    pub fn ingest(
        &self,
        entry: &QueueEntry,
        now: Timestamp,
        plan: impl Fn(&mut PlanContext<'_>) -> Result<Plan>,
    ) -> Result<()> {
        self.carry_out(Source::Queued(entry), now, &plan).map(drop)
    }

    /// Carries out a plan at once, and counts a unit with it. Returns the commit, none when there was nothing to do.
    pub fn write(
        &self,
        permit: Option<Permit<'_>>,
        now: Timestamp,
        plan: impl Fn(&mut PlanContext<'_>) -> Result<Plan>,
    ) -> Result<Option<CommitId>> {
        self.carry_out(Source::Direct(permit), now, &plan)
    }

    /// Keeps messages that were accepted before a request to forget away from its paths, so that the request can be carried
    /// out ahead of them. Paths that were written directly after the request stay as they are.
    pub fn close_paths(&self, forget: Ulid, paths: &[String]) -> Result<()> {
        let mut inner = self.inner.lock();
        let mut closed = Vec::new();
        for path in paths {
            let written = self.context.store.newest_path_write(self.id, path)?;
            if written.is_none_or(|written| written < forget) {
                closed.push((path.clone(), forget));
            }
        }
        if closed.is_empty() {
            return Ok(());
        }
        let done = Acknowledgement { path_writes: &closed, ..Acknowledgement::new(&inner.record) };
        self.context.store.acknowledge(&done)?;
        inner.has_path_writes = true;
        Ok(())
    }

    /// Takes over the history of a repository on the same file system, which must go on where the namespace's own one is.
    pub fn adopt(&self, other: &Repository, head: CommitId) -> Result<()> {
        {
            let mut inner = self.inner.lock();
            self.mend(&mut inner)?;
            inner.needs_reload = true;
            let adopted = inner.git.import_history(other, head);
            if let Err(StorageError::Invalid { reason, .. }) = adopted {
                inner.needs_reload = false;
                return Err(Error::invalid("invalid_import", reason));
            }
            adopted?;
            inner.unacknowledged = sync::unacknowledged(&self.repository, inner.git.head(), &inner.record)?;
        }
        // Taken in as what was pushed is.
        self.write(None, Timestamp::now(), |_| Ok(Plan::new(String::new(), Vec::new()))).map(drop)
    }

    /// Takes over what was pushed into a repository [scratch](Repository::open_scratch): true when it is in git and indexed, false
    /// where the branch is not at `from` any more. The units of the permit are counted with it.
    pub fn take_in(
        &self,
        permit: Option<Permit<'_>>,
        apart: &Repository,
        from: Option<CommitId>,
        to: CommitId,
    ) -> Result<bool> {
        {
            let mut inner = self.inner.lock();
            if self.retired.load(Ordering::SeqCst) {
                return Err(Error::namespace_deleted());
            }
            self.mend(&mut inner)?;
            inner.needs_reload = true;
            let taken = inner.git.accept_push(apart, from, to);
            if let Err(StorageError::Conflict) = taken {
                inner.needs_reload = false;
                return Ok(false);
            }
            taken?;
            inner.unacknowledged = sync::unacknowledged(&self.repository, inner.git.head(), &inner.record)?;
            inner.needs_reload = false;
        }
        // The next change takes in what the branch has moved by; this one changes nothing itself.
        self.write(permit, Timestamp::now(), |_| Ok(Plan::new(String::new(), Vec::new()))).map(|_| true)
    }

    pub(super) fn carry_out(
        &self,
        source: Source<'_>,
        now: Timestamp,
        plan: &dyn Fn(&mut PlanContext<'_>) -> Result<Plan>,
    ) -> Result<Option<CommitId>> {
        let mut inner = self.inner.lock();
        if self.retired.load(Ordering::SeqCst) {
            return Err(Error::namespace_deleted());
        }
        let began = Instant::now();
        self.mend(&mut inner)?;
        let entry = match &source {
            Source::Queued(entry) => Some(*entry),
            Source::Direct(_) => None,
        };
        let is_committed = entry.is_some_and(|entry| inner.unacknowledged.messages.contains_key(&entry.id));
        if let Some(entry) = entry
            && !is_committed
            && !self.context.store.is_queued(self.id, entry.id)?
        {
            // Acknowledged with another write since the worker read it.
            return Ok(None);
        }
        inner.needs_reload = true;
        let mut commit = None;
        if !is_committed {
            match self.commit_plan(&mut inner, entry, now, plan) {
                Ok(None) => {}
                Ok(Some(made)) => {
                    let paths: Vec<String> = made.files.iter().map(|(path, _)| path.clone()).collect();
                    inner.unacknowledged.push(made.commit, now.as_second(), entry.map(|entry| entry.id), paths);
                    commit = Some(made.commit);
                    let (committed, files) = (began.elapsed(), made.files.len());
                    self.publish(&mut inner, made)?;
                    let indexed = began.elapsed() - committed;
                    let message = entry.map(|entry| entry.id);
                    tracing::debug!(?message, files, ?committed, ?indexed, "written");
                }
                Err(error) => {
                    // The writer has read itself anew, and the index was not touched; but the branch may have moved.
                    inner.needs_reload = inner.git.head().map(|head| head.to_string()).as_deref() != inner.index.head();
                    sync::require_recorded(&self.repository, &inner.record)?;
                    return Err(error);
                }
            }
        }
        inner.needs_reload = false;
        self.record_head(&mut inner, source, now)?;
        Ok(commit)
    }

    /// Records the index's head, with everything that became true on the way to it, in one batch.
    pub(super) fn record_head(&self, inner: &mut WriterState, source: Source<'_>, now: Timestamp) -> Result<()> {
        // The index's head, not git's: what is recorded can be retrieved from.
        let mut record = inner.record.clone();
        if record.head.as_deref() != inner.index.head() {
            record.head = inner.index.head().map(str::to_owned);
            record.updated_at_ms = now.as_millisecond();
        }
        record.memories = inner.index.memory_count() as u64;
        record.waiting = inner.index.waiting_count() as u64;
        if inner.unacknowledged.too_many {
            // Too many to be recorded one by one: histories are read from git up to here.
            record.history_base.clone_from(&record.head);
        }
        record.commits += inner.unacknowledged.commits.len() as u64;
        // Whatever is committed is in the index by now, so all of it is acknowledged as the head moves past it.
        let ingested = self.ingested(inner, &source)?;
        let dropped: Vec<Ulid> = inner.unacknowledged.messages.keys().copied().collect();
        let voids = self.written_directly(inner);
        let path_writes = self.path_writes(inner);
        let mut done = Acknowledgement {
            ingested: &ingested,
            dropped: &dropped,
            terms: &inner.terms,
            commits: &inner.unacknowledged.commits,
            invalidates: &voids,
            path_writes: &path_writes,
            ..Acknowledgement::new(&record)
        };
        match source {
            Source::Direct(Some(mut permit)) => {
                let charge = permit.charge_guard();
                done.usage = Some(charge.record());
                self.context.store.acknowledge(&done)?;
                charge.commit();
            }
            Source::Direct(None) | Source::Queued(_) => self.context.store.acknowledge(&done)?,
        }
        inner.has_path_writes |= !path_writes.is_empty();
        inner.record = record;
        if inner.record.waiting > 0 {
            self.context.backlog.add(&self.key());
        }
        inner.unacknowledged.clear();
        if !std::mem::take(&mut inner.terms).is_empty() {
            self.vocabulary.store(Arc::new(sync::vocabulary(&self.context.store, self.id)?));
        }
        Ok(())
    }

    /// The entries of the queue that leave it, with what they changed.
    pub(super) fn ingested(&self, inner: &WriterState, source: &Source<'_>) -> Result<Vec<IngestedEntry>> {
        let mut ingested = Vec::new();
        for (id, paths) in &inner.unacknowledged.messages {
            let entry = match source {
                Source::Queued(entry) if entry.id == *id => Some((*entry).clone()),
                // Left by a crash, or by a write that failed half way.
                _ => self.context.store.queue_entry(self.id, *id)?,
            };
            if let Some(entry) = entry {
                let source = self.context.sources.record_of(&entry);
                ingested.push(IngestedEntry { entry, paths: paths.clone(), source });
            }
        }
        if let Source::Queued(entry) = source
            && !inner.unacknowledged.messages.contains_key(&entry.id)
        {
            let source = self.context.sources.record_of(entry);
            ingested.push(IngestedEntry { entry: (*entry).clone(), paths: Vec::new(), source });
        }
        Ok(ingested)
    }

    /// The paths of commits that came from no message: direct writes and pushes.
    pub(super) fn direct_paths<'a>(&self, inner: &'a WriterState) -> impl Iterator<Item = &'a String> {
        inner.unacknowledged.commits_of_no_message().flat_map(|commit| &commit.paths)
    }

    pub(super) fn written_directly(&self, inner: &WriterState) -> Vec<FingerprintSubject> {
        self.direct_paths(inner).map(|path| FingerprintSubject::path(path)).collect()
    }

    /// Of those paths, the ones that a message in the queue is about: it was accepted before, so it must not undo what was
    /// written since.
    pub(super) fn path_writes(&self, inner: &WriterState) -> Vec<(String, Ulid)> {
        let mut path_writes = Vec::new();
        for path in self.direct_paths(inner) {
            if self.context.pending.names(self.id, path) {
                path_writes.push((path.clone(), self.context.ids.fresh()));
            }
        }
        path_writes
    }

    /// Draws up the plan and makes its commit, anew when somebody pushed meanwhile; none when there is nothing to do.
    pub(super) fn commit_plan(
        &self,
        inner: &mut WriterState,
        entry: Option<&QueueEntry>,
        now: Timestamp,
        plan: &dyn Fn(&mut PlanContext<'_>) -> Result<Plan>,
    ) -> Result<Option<NewCommit>> {
        let mut attempts = 0;
        loop {
            let parent = inner.git.head();
            let Plan { subject, body, trailers: more, mut files } = plan(&mut PlanContext {
                namespace: self.id,
                git: &mut inner.git,
                namer: &mut inner.namer,
                repository: &self.repository,
                store: &self.context.store,
            })?;
            if let Some(entry) = entry
                && inner.has_path_writes
            {
                self.leave_alone(entry, &mut files)?;
            }
            if files.is_empty() {
                return Ok(None);
            }
            let edit = |(path, content): &(String, Option<Content>)| {
                let content = content.as_ref().map(|content| content.render().map(String::into_bytes)).transpose()?;
                Ok(Edit { path: path.clone(), content })
            };
            let edits = files.iter().map(edit).collect::<Result<Vec<_>, StorageError>>()?;
            let mut trailers = Vec::new();
            if let Some(entry) = entry {
                trailers.push((MESSAGE_TRAILER.to_owned(), entry.id.to_string()));
            }
            trailers.extend(more);
            let message = CommitMessage { subject, body, trailers, at_seconds: now.as_second() };
            let began = Instant::now();
            let committed = inner.git.commit(&edits, &message);
            self.context.metrics.changed(Step::Commit, began.elapsed());
            match committed {
                Err(StorageError::Conflict) if attempts < CONFLICTS_MAX => attempts += 1,
                Err(error) => return Err(error.into()),
                Ok(commit) => return Ok(Some(NewCommit { commit, parent, files })),
            }
        }
    }

    /// Takes the files out of a plan that were written directly, or forgotten, after the message was accepted.
    pub(super) fn leave_alone(&self, entry: &QueueEntry, files: &mut Vec<(String, Option<Content>)>) -> Result<()> {
        let mut kept = Vec::with_capacity(files.len());
        for (path, content) in files.drain(..) {
            let written = self.context.store.newest_path_write(self.id, &path)?;
            if written.is_none_or(|written| written <= entry.id) {
                kept.push((path, content));
            }
        }
        *files = kept;
        Ok(())
    }

    /// Brings the index to a new commit: with the files at hand where it stands at the parent, else by comparing.
    pub(super) fn publish(&self, inner: &mut WriterState, made: NewCommit) -> Result<()> {
        let NewCommit { commit, parent, files } = made;
        if files.iter().any(|(path, _)| is_term(path)) {
            inner.terms = sync::term_changes(&self.repository, parent, Some(commit))?;
        }
        let at_parent = inner.index.head().map(str::to_owned) == parent.map(|parent| parent.to_string());
        let vectors = self.context.models.of(inner.index.model());
        let lookup = sync::Lookup { namespace: self.id, vectors: vectors.as_deref() };
        if !at_parent {
            let changes = sync::changes(inner.index.head(), &self.repository, commit, &lookup)?;
            return self.apply(inner, changes, commit);
        }
        let change = |(path, content): (String, Option<Content>)| {
            let parsed: MemoryPath = path.parse().ok()?;
            match content {
                Some(Content::Memory(file)) => {
                    let memory = files::to_memory(&parsed, *file, &|text| lookup.vector(text));
                    Some(Change::Put(Box::new(memory)))
                }
                Some(Content::Term(_)) => None,
                None => Some(Change::Forget(path)),
            }
        };
        let changes: Vec<Change> = files.into_par_iter().filter_map(change).collect();
        self.apply(inner, changes, commit)
    }
}

fn is_term(path: &str) -> bool {
    path.strip_prefix(VOCABULARY_FOLDER).is_some_and(|rest| rest.starts_with('/'))
}
