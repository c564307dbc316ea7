//! One open namespace: its repository, its index, its vocabulary, its one writer.
//!
//! A write takes the writer's lock: [`plan`] says what it makes of what is there, then commit to git, then the index,
//! then the record with the new head. Readers never take it; they load the newest published snapshot. [`follow`] keeps
//! what is derived at git's head, whatever happened in between; [`renew`] brings vectors up to date that a model did not
//! give when they were needed, or that another model made.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arc_swap::ArcSwap;
use cuebase_retrieval::Error as IndexError;
use cuebase_retrieval::{Change, Index, Snapshot, Vocabulary};
use cuebase_storage::Error as StorageError;
use cuebase_storage::git::{CommitId, CommitMessage, Edit, Repository, Writer};
use cuebase_storage::memory_file::MemoryPath;
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::records::{
    Acknowledgement, Ingested, NamespaceId, NamespaceRecord, QueueEntry, Revision, Subject, TermChange,
};
use jiff::Timestamp;
use parking_lot::Mutex;
use rayon::prelude::*;
use ulid::Ulid;

use super::compare::differences;
use super::context::Around;
use super::plan::{Content, Desk, Plan};
use super::sync as follow;
use super::sync::Unacknowledged;
use crate::billing::meters::Permit;
use crate::error::{Failure, Outcome};
use crate::memory::file_names::Namer;
use crate::memory::files;
use crate::metrics::Step;
use crate::model::Patience;
use crate::namespace::key::NamespaceKey;
use crate::namespace::sync::MESSAGE_TRAILER;
use crate::namespace::threads::on_own_thread;

/// How often a commit is tried again when somebody pushes at the same moment.
const CONFLICTS_MAX: usize = 5;

/// The recorded part of the histories of some paths.
pub struct RecordedRevisions {
    /// Of each path, newest first.
    pub revisions: Vec<Vec<Revision>>,
    /// The commit before which nothing is recorded; none where everything is.
    pub older_than: Option<CommitId>,
    /// The newest commit that is certainly recorded. A snapshot is published before its commit is recorded, so a reader
    /// can hold a newer one.
    pub recorded_head: Option<CommitId>,
}

/// Who asked for a write.
pub enum Source<'a> {
    /// A message of the queue.
    Queued(&'a QueueEntry),
    /// A caller who waits for it. The unit is counted with the write.
    Direct(Option<Permit<'a>>),
}

/// An open namespace.
pub struct Namespace {
    pub(super) account: String,
    pub(super) name: String,
    pub(super) id: NamespaceId,
    pub(super) repository: Repository,
    pub(super) around: Around,
    pub(super) index_folder: PathBuf,
    pub(super) retired: AtomicBool,
    pub(super) snapshot: Arc<ArcSwap<Snapshot>>,
    pub(super) vocabulary: ArcSwap<Vocabulary>,
    pub(super) inner: Mutex<Inner>,
}

/// What only the writer touches.
pub(super) struct Inner {
    pub(super) git: Writer,
    pub(super) index: Index,
    pub(super) namer: Namer,
    pub(super) record: NamespaceRecord,
    /// Commits in git that are not acknowledged yet: left by a crash, or by a failed index write.
    pub(super) unacknowledged: Unacknowledged,
    /// Whether there are paths that queued writes must leave alone since they were written directly.
    pub(super) has_path_writes: bool,
    /// What the vocabulary's lookup has to change with the next record.
    pub(super) terms: Vec<TermChange>,
    /// A change is under way, or one failed half way: writer and index are to be read again before they are used.
    pub(super) doubtful: bool,
}

/// A commit that was made.
pub(super) struct Made {
    pub(super) commit: CommitId,
    pub(super) parent: Option<CommitId>,
    pub(super) files: Vec<(String, Option<Content>)>,
}

impl Namespace {
    /// Opens repository and index, and brings index and vocabulary up to the repository's head.
    ///
    /// # Errors
    /// [`Failure::DamagedNamespace`] where the recorded head is not in the repository's history; nothing is changed then.
    pub(super) fn open(
        record: NamespaceRecord,
        repository_path: &Path,
        index_folder: &Path,
        around: Around,
    ) -> Outcome<Self> {
        let repository = follow::open_repository(repository_path, &record)?;
        let git = repository.writer()?;
        let unacknowledged = follow::unacknowledged(&repository, git.head(), &record)?;
        let index = follow::open_index(index_folder, &repository, git.head(), record.id, &around.models)?;
        if record.head.as_deref() != index.head() {
            // The record's head stays: it says which messages are not acknowledged.
            let recorded = record.head.as_deref().map(str::parse::<CommitId>).transpose()?;
            let terms = follow::term_changes(&repository, recorded, git.head())?;
            around.store.acknowledge(&Acknowledgement { terms: &terms, ..Acknowledgement::of(&record) })?;
        }
        let vocabulary = follow::vocabulary(&around.store, record.id)?;
        let has_path_writes = around.store.has_path_writes(record.id)?;
        let namespace = Self {
            account: record.account.clone(),
            name: record.name.clone(),
            id: record.id,
            repository,
            around,
            index_folder: index_folder.to_path_buf(),
            retired: AtomicBool::new(false),
            snapshot: index.published(),
            vocabulary: ArcSwap::from_pointee(vocabulary),
            inner: Mutex::new(Inner {
                git,
                index,
                namer: Namer::default(),
                record,
                unacknowledged,
                has_path_writes,
                terms: Vec::new(),
                doubtful: false,
            }),
        };
        namespace.note_waiting(&mut namespace.inner.lock())?;
        Ok(namespace)
    }

    pub(super) fn key(&self) -> NamespaceKey {
        NamespaceKey { account: self.account.clone(), name: self.name.clone(), id: self.id }
    }

    /// The namespace's identity.
    pub fn id(&self) -> NamespaceId {
        self.id
    }

    /// Has the vectors made that a write to come will need, before it takes the writer's lock. Where the model fails,
    /// the write goes on without them.
    pub fn prepare(&self, texts: &[String], patience: Patience) {
        let Some(vectors) = self.around.models.of(self.snapshot().model()) else { return };
        match vectors.prepare(self.id, texts.iter().map(String::as_str), patience) {
            // Only a model that was asked has shown that it works.
            Ok(made) if made > 0 => self.around.backlog.hurry(),
            Ok(_) => {}
            Err(error) => {
                let failure = error.kind();
                tracing::warn!(account = %self.account, namespace = %self.name, failure, "a write goes on without vectors");
            }
        }
    }

    /// The newest vocabulary.
    pub fn vocabulary(&self) -> Arc<Vocabulary> {
        self.vocabulary.load_full()
    }

    /// The newest state that can be retrieved from.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Reads from the newest snapshot. Where that shows the index to be damaged, or cannot be read from the disk, it is
    /// made anew from git and read again.
    pub fn read<T>(&self, read: impl Fn(&Snapshot) -> Result<T, IndexError>) -> Outcome<T> {
        let snapshot = self.snapshot();
        match read(&snapshot) {
            Err(reason @ (IndexError::Damaged(_) | IndexError::Io { .. })) => {
                tracing::warn!(account = %self.account, namespace = %self.name, %reason, "the index is damaged");
                self.rebuild(&snapshot)?;
                Ok(read(&self.snapshot())?)
            }
            read => Ok(read?),
        }
    }

    /// Makes the index anew from git, unless that was done since a snapshot was taken.
    pub(super) fn rebuild(&self, damaged: &Arc<Snapshot>) -> Outcome<()> {
        let mut inner = self.inner.lock();
        if self.retired.load(Ordering::SeqCst) || !Arc::ptr_eq(damaged, &self.snapshot()) {
            return Ok(());
        }
        let head = inner.index.head().map(str::parse::<CommitId>).transpose()?;
        inner.doubtful = true;
        let index = &mut inner.index;
        on_own_thread(|| follow::replace(index, &self.repository, head, self.id, &self.around.models))?;
        inner.doubtful = false;
        self.note_waiting(&mut inner)
    }

    /// How the index differs from git at the commit that it stands for; nothing when it does not.
    pub fn compare_index(&self) -> Outcome<Vec<String>> {
        let snapshot = self.snapshot();
        let held = match snapshot.all().collect::<Result<Vec<_>, _>>() {
            Ok(held) => held,
            Err(error) => return Ok(vec![error.to_string()]),
        };
        let Some(head) = snapshot.head() else { return Ok(differences(held, Vec::new())) };
        Ok(differences(held, follow::memories_at(&self.repository, head.parse()?)?))
    }

    /// Makes the index anew from git.
    pub fn renew_index(&self) -> Outcome<()> {
        self.rebuild(&self.snapshot())
    }

    /// The newest commits that changed each of some paths, as they are recorded. `older_than` says from
    /// where on only git knows more; it is none where each path has as many revisions as were asked for.
    pub fn recorded_revisions(&self, paths: &[&str], limit: usize) -> Outcome<RecordedRevisions> {
        // The record first: whatever is recorded up to its head is then found below.
        let record = self.around.store.namespace(&self.account, &self.name)?.filter(|record| record.id == self.id);
        let NamespaceRecord { head, history_base, .. } = record.ok_or_else(Failure::namespace_deleted)?;
        let mut revisions = Vec::with_capacity(paths.len());
        for path in paths {
            revisions.push(self.around.store.revisions(self.id, path, limit)?);
        }
        let is_full = revisions.iter().all(|found| found.len() == limit);
        let older_than = history_base.filter(|_| !is_full).map(|base| base.parse()).transpose()?;
        let recorded_head = head.map(|head| head.parse()).transpose()?;
        Ok(RecordedRevisions { revisions, older_than, recorded_head })
    }

    /// The repository, for who knows that it stays: [`Namespace::read_git`] is for readers.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Reads from the repository. What fails because the namespace is being deleted is told as that.
    pub fn read_git<T>(&self, read: impl FnOnce(&Repository) -> Outcome<T>) -> Outcome<T> {
        read(&self.repository).map_err(|failure| {
            let retired = self.while_still(|| self.retired.load(Ordering::SeqCst));
            if retired { Failure::namespace_deleted() } else { failure }
        })
    }

    /// Waits for the write under way and refuses any later one: the namespace was deleted.
    pub(super) fn retire(&self) {
        let _held = self.inner.lock();
        self.retired.store(true, Ordering::SeqCst);
    }

    /// Carries out the plan of one queue message, indexes it and acknowledges the message, each exactly once however
    /// often this is called. A message that is not in the queue any more is acknowledged already.
    pub fn ingest(
        &self,
        entry: &QueueEntry,
        now: Timestamp,
        plan: impl Fn(&mut Desk<'_>) -> Outcome<Plan>,
    ) -> Outcome<()> {
        self.carry_out(Source::Queued(entry), now, &plan).map(drop)
    }

    /// Carries out a plan at once, and counts a unit with it. Returns the commit, none when there was nothing to do.
    pub fn write(
        &self,
        permit: Option<Permit<'_>>,
        now: Timestamp,
        plan: impl Fn(&mut Desk<'_>) -> Outcome<Plan>,
    ) -> Outcome<Option<CommitId>> {
        self.carry_out(Source::Direct(permit), now, &plan)
    }

    /// Keeps messages that were accepted before a request to forget away from its paths, so that the request can be carried
    /// out ahead of them. Paths that were written directly after the request stay as they are.
    pub fn close_paths(&self, forget: Ulid, paths: &[String]) -> Outcome<()> {
        let mut inner = self.inner.lock();
        let mut closed = Vec::new();
        for path in paths {
            let written = self.around.store.path_written(self.id, path)?;
            if written.is_none_or(|written| written < forget) {
                closed.push((path.clone(), forget));
            }
        }
        if closed.is_empty() {
            return Ok(());
        }
        let done = Acknowledgement { path_writes: &closed, ..Acknowledgement::of(&inner.record) };
        self.around.store.acknowledge(&done)?;
        inner.has_path_writes = true;
        Ok(())
    }

    /// Takes over the history of a repository on the same file system, which must go on where the namespace's own one is.
    pub fn adopt(&self, other: &Repository, head: CommitId) -> Outcome<()> {
        {
            let mut inner = self.inner.lock();
            self.mend(&mut inner)?;
            inner.doubtful = true;
            let adopted = inner.git.adopt(other, head);
            if let Err(StorageError::Invalid { reason, .. }) = adopted {
                inner.doubtful = false;
                return Err(Failure::invalid("invalid_import", reason));
            }
            adopted?;
            inner.unacknowledged = follow::unacknowledged(&self.repository, inner.git.head(), &inner.record)?;
        }
        // Taken in as what was pushed is.
        self.write(None, Timestamp::now(), |_| Ok(Plan::new(String::new(), Vec::new()))).map(drop)
    }

    /// Takes over what was pushed into a repository [apart](Repository::apart): true when it is in git and indexed, false
    /// where the branch is not at `from` any more. The units of the permit are counted with it.
    pub fn take_in(
        &self,
        permit: Option<Permit<'_>>,
        apart: &Repository,
        from: Option<CommitId>,
        to: CommitId,
    ) -> Outcome<bool> {
        {
            let mut inner = self.inner.lock();
            if self.retired.load(Ordering::SeqCst) {
                return Err(Failure::namespace_deleted());
            }
            self.mend(&mut inner)?;
            inner.doubtful = true;
            let taken = inner.git.take_in(apart, from, to);
            if let Err(StorageError::Conflict) = taken {
                inner.doubtful = false;
                return Ok(false);
            }
            taken?;
            inner.unacknowledged = follow::unacknowledged(&self.repository, inner.git.head(), &inner.record)?;
            inner.doubtful = false;
        }
        // The next change takes in what the branch has moved by; this one changes nothing itself.
        self.write(permit, Timestamp::now(), |_| Ok(Plan::new(String::new(), Vec::new()))).map(|_| true)
    }

    pub(super) fn carry_out(
        &self,
        source: Source<'_>,
        now: Timestamp,
        plan: &dyn Fn(&mut Desk<'_>) -> Outcome<Plan>,
    ) -> Outcome<Option<CommitId>> {
        let mut inner = self.inner.lock();
        if self.retired.load(Ordering::SeqCst) {
            return Err(Failure::namespace_deleted());
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
            && !self.around.store.is_queued(self.id, entry.id)?
        {
            // Acknowledged with another write since the worker read it.
            return Ok(None);
        }
        inner.doubtful = true;
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
                    inner.doubtful = inner.git.head().map(|head| head.to_string()).as_deref() != inner.index.head();
                    follow::require_recorded(&self.repository, &inner.record)?;
                    return Err(error);
                }
            }
        }
        inner.doubtful = false;
        self.record_head(&mut inner, source, now)?;
        Ok(commit)
    }

    /// Records the index's head, with everything that became true on the way to it, in one batch.
    pub(super) fn record_head(&self, inner: &mut Inner, source: Source<'_>, now: Timestamp) -> Outcome<()> {
        // The index's head, not git's: what is recorded can be retrieved from.
        let mut record = inner.record.clone();
        if record.head.as_deref() != inner.index.head() {
            record.head = inner.index.head().map(str::to_owned);
            record.updated_at_ms = now.as_millisecond();
        }
        record.memories = inner.index.memories() as u64;
        record.waiting = inner.index.waiting() as u64;
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
            voids: &voids,
            path_writes: &path_writes,
            ..Acknowledgement::of(&record)
        };
        match source {
            Source::Direct(Some(mut permit)) => {
                let charge = permit.charge_guard();
                done.usage = Some(charge.record());
                self.around.store.acknowledge(&done)?;
                charge.commit();
            }
            Source::Direct(None) | Source::Queued(_) => self.around.store.acknowledge(&done)?,
        }
        inner.has_path_writes |= !path_writes.is_empty();
        inner.record = record;
        if inner.record.waiting > 0 {
            self.around.backlog.add(&self.key());
        }
        inner.unacknowledged.clear();
        if !std::mem::take(&mut inner.terms).is_empty() {
            self.vocabulary.store(Arc::new(follow::vocabulary(&self.around.store, self.id)?));
        }
        Ok(())
    }

    /// The entries of the queue that leave it, with what they changed.
    pub(super) fn ingested(&self, inner: &Inner, source: &Source<'_>) -> Outcome<Vec<Ingested>> {
        let mut ingested = Vec::new();
        for (id, paths) in &inner.unacknowledged.messages {
            let entry = match source {
                Source::Queued(entry) if entry.id == *id => Some((*entry).clone()),
                // Left by a crash, or by a write that failed half way.
                _ => self.around.store.queue_entry(self.id, *id)?,
            };
            if let Some(entry) = entry {
                let source = self.around.sources.record_of(&entry);
                ingested.push(Ingested { entry, paths: paths.clone(), source });
            }
        }
        if let Source::Queued(entry) = source
            && !inner.unacknowledged.messages.contains_key(&entry.id)
        {
            let source = self.around.sources.record_of(entry);
            ingested.push(Ingested { entry: (*entry).clone(), paths: Vec::new(), source });
        }
        Ok(ingested)
    }

    /// The paths of commits that came from no message: direct writes and pushes.
    pub(super) fn direct_paths<'a>(&self, inner: &'a Inner) -> impl Iterator<Item = &'a String> {
        inner.unacknowledged.commits_of_no_message().flat_map(|commit| &commit.paths)
    }

    pub(super) fn written_directly(&self, inner: &Inner) -> Vec<Subject> {
        self.direct_paths(inner).map(|path| Subject::path(path)).collect()
    }

    /// Of those paths, the ones that a message in the queue is about: it was accepted before, so it must not undo what was
    /// written since.
    pub(super) fn path_writes(&self, inner: &Inner) -> Vec<(String, Ulid)> {
        let mut path_writes = Vec::new();
        for path in self.direct_paths(inner) {
            if self.around.pending.names(self.id, path) {
                path_writes.push((path.clone(), self.around.ids.fresh()));
            }
        }
        path_writes
    }

    /// Whether a message's commit is in git and only its acknowledgement is missing.
    pub fn is_committed(&self, id: Ulid) -> bool {
        self.inner.lock().unacknowledged.messages.contains_key(&id)
    }

    /// Does something while nobody writes.
    pub(super) fn while_still<T>(&self, act: impl FnOnce() -> T) -> T {
        let _held = self.inner.lock();
        act()
    }

    /// Keeps the number of packs small. Called after a write has been acknowledged, off its path.
    pub fn tidy(&self) -> Outcome<()> {
        let _held = self.inner.lock();
        if !self.retired.load(Ordering::SeqCst) {
            let began = Instant::now();
            self.repository.consolidate()?;
            self.around.metrics.changed(Step::Pack, began.elapsed());
        }
        Ok(())
    }

    /// Removes what [`Namespace::tidy`] has replaced a while ago, for a namespace that is written to no more.
    pub(super) fn sweep(&self) -> Outcome<()> {
        let _held = self.inner.lock();
        if !self.retired.load(Ordering::SeqCst) {
            self.repository.remove_replaced()?;
        }
        Ok(())
    }

    /// Draws up the plan and makes its commit, anew when somebody pushed meanwhile; none when there is nothing to do.
    pub(super) fn commit_plan(
        &self,
        inner: &mut Inner,
        entry: Option<&QueueEntry>,
        now: Timestamp,
        plan: &dyn Fn(&mut Desk<'_>) -> Outcome<Plan>,
    ) -> Outcome<Option<Made>> {
        let mut attempts = 0;
        loop {
            let parent = inner.git.head();
            let Plan { subject, body, trailers: more, mut files } = plan(&mut Desk {
                namespace: self.id,
                git: &mut inner.git,
                namer: &mut inner.namer,
                repository: &self.repository,
                store: &self.around.store,
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
            self.around.metrics.changed(Step::Commit, began.elapsed());
            match committed {
                Err(StorageError::Conflict) if attempts < CONFLICTS_MAX => attempts += 1,
                Err(error) => return Err(error.into()),
                Ok(commit) => return Ok(Some(Made { commit, parent, files })),
            }
        }
    }

    /// Takes the files out of a plan that were written directly, or forgotten, after the message was accepted.
    pub(super) fn leave_alone(&self, entry: &QueueEntry, files: &mut Vec<(String, Option<Content>)>) -> Outcome<()> {
        let mut kept = Vec::with_capacity(files.len());
        for (path, content) in files.drain(..) {
            let written = self.around.store.path_written(self.id, &path)?;
            if written.is_none_or(|written| written <= entry.id) {
                kept.push((path, content));
            }
        }
        *files = kept;
        Ok(())
    }

    /// Brings the index to a new commit: with the files at hand where it stands at the parent, else by comparing.
    pub(super) fn publish(&self, inner: &mut Inner, made: Made) -> Outcome<()> {
        let Made { commit, parent, files } = made;
        if files.iter().any(|(path, _)| is_term(path)) {
            inner.terms = follow::term_changes(&self.repository, parent, Some(commit))?;
        }
        let at_parent = inner.index.head().map(str::to_owned) == parent.map(|parent| parent.to_string());
        let vectors = self.around.models.of(inner.index.model());
        let lookup = follow::Lookup { namespace: self.id, vectors: vectors.as_deref() };
        if !at_parent {
            let changes = follow::changes(inner.index.head(), &self.repository, commit, &lookup)?;
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

    /// Applies the changes that lead to a commit. An index that turns out damaged is made anew from git instead.
    pub(super) fn apply(&self, inner: &mut Inner, changes: Vec<Change>, to: CommitId) -> Outcome<()> {
        let began = Instant::now();
        let applied = inner.index.apply(changes, &to.to_string());
        self.around.metrics.changed(Step::Index, began.elapsed());
        match applied {
            Err(IndexError::Damaged(reason)) => {
                tracing::warn!(index = %inner.index.folder().display(), %reason, "making the index anew from git");
                follow::replace(&mut inner.index, &self.repository, Some(to), self.id, &self.around.models)
            }
            applied => Ok(applied?),
        }
    }

    /// Reads writer and index again after a failed change, and takes in what was pushed from outside.
    pub(super) fn mend(&self, inner: &mut Inner) -> Outcome<()> {
        let head = self.repository.head();
        if inner.doubtful || !inner.git.is_sound() || head.is_err() || head.ok().flatten() != inner.git.head() {
            follow::require_recorded(&self.repository, &inner.record)?;
            inner.git.reload()?;
            inner.unacknowledged = follow::unacknowledged(&self.repository, inner.git.head(), &inner.record)?;
        }
        if inner.doubtful {
            tracing::warn!(account = %self.account, namespace = %self.name, "opening the index again after a failed change");
            inner.index = follow::open_index(
                &self.index_folder,
                &self.repository,
                inner.git.head(),
                self.id,
                &self.around.models,
            )?;
            inner.index.publish_to(Arc::clone(&self.snapshot));
        } else if let Some(head) = inner.git.head() {
            inner.doubtful = true;
            if inner.index.head() != Some(head.to_string().as_str()) {
                let vectors = self.around.models.of(inner.index.model());
                let lookup = follow::Lookup { namespace: self.id, vectors: vectors.as_deref() };
                let changes = follow::changes(inner.index.head(), &self.repository, head, &lookup)?;
                self.apply(inner, changes, head)?;
            }
        }
        self.mend_vocabulary(inner)?;
        inner.doubtful = false;
        Ok(())
    }

    /// Takes into the lookup what came by a push, or by a commit whose record was not written.
    pub(super) fn mend_vocabulary(&self, inner: &mut Inner) -> Outcome<()> {
        if inner.record.head.as_deref() == inner.index.head() {
            return Ok(());
        }
        let recorded = inner.record.head.as_deref().map(str::parse::<CommitId>).transpose()?;
        let terms = follow::term_changes(&self.repository, recorded, inner.git.head())?;
        if !terms.is_empty() {
            // The record's head stays: it says which messages are not acknowledged.
            self.around.store.acknowledge(&Acknowledgement { terms: &terms, ..Acknowledgement::of(&inner.record) })?;
            self.vocabulary.store(Arc::new(follow::vocabulary(&self.around.store, self.id)?));
        }
        Ok(())
    }
}

/// The folders that an index may have: its own, and those of one on its way in or out.
pub(super) fn index_folders(folder: &Path) -> [PathBuf; 3] {
    [folder.to_path_buf(), follow::next_folder(folder), follow::former_folder(folder)]
}

fn is_term(path: &str) -> bool {
    path.strip_prefix(VOCABULARY_FOLDER).is_some_and(|rest| rest.starts_with('/'))
}
