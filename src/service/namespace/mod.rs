//! One open namespace: its repository, its index, its vocabulary, its one writer.
//!
//! A write takes the writer's lock: [`plan`] says what it makes of what is there, then commit to git, then the index,
//! then the record with the new head. Readers never take it; they load the newest published snapshot. [`follow`] keeps
//! what is derived at git's head, whatever happened in between.

mod follow;
pub mod plan;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arc_swap::ArcSwap;
use cuebase_retrieval::{Change, Error as IndexError, Index, Snapshot, Vocabulary};
use cuebase_storage::git::{CommitId, CommitMessage, Edit, Repository, Writer};
use cuebase_storage::memory_file::MemoryPath;
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::records::{NamespaceRecord, TermChange};
use cuebase_storage::{Error as StorageError, Store};
use jiff::Timestamp;
use parking_lot::Mutex;
use rayon::prelude::*;
use ulid::Ulid;

use self::plan::{Content, Desk, Plan};
use super::error::{Failure, Outcome};
use crate::ingest::files;
use crate::ingest::naming::Namer;
use crate::model::Embedder;

/// The trailer that ties a commit to the queue message it came from.
const MESSAGE_TRAILER: &str = "Cuebase-Message";
/// How often a commit is tried again when somebody pushes at the same moment.
const CONFLICTS_MAX: usize = 5;

/// An open namespace.
pub struct Namespace {
    account: String,
    name: String,
    repository: Repository,
    store: Arc<Store>,
    embedder: Arc<dyn Embedder>,
    index_folder: PathBuf,
    retired: AtomicBool,
    snapshot: Arc<ArcSwap<Snapshot>>,
    vocabulary: ArcSwap<Vocabulary>,
    inner: Mutex<Inner>,
}

/// What only the writer touches.
struct Inner {
    git: Writer,
    index: Index,
    namer: Namer,
    record: NamespaceRecord,
    /// Messages whose commit is in git but which are not acknowledged yet: left by a crash, or by a failed index write.
    committed: HashSet<Ulid>,
    /// What the vocabulary's lookup has to change with the next record.
    terms: Vec<TermChange>,
    /// A change is under way, or one failed half way: writer and index are to be read again before they are used.
    doubtful: bool,
}

/// A commit that was made.
struct Made {
    commit: CommitId,
    parent: Option<CommitId>,
    files: Vec<(String, Option<Content>)>,
}

impl Namespace {
    /// Opens repository and index, and brings index and vocabulary up to the repository's head.
    pub(super) fn open(
        record: NamespaceRecord,
        repository_path: &Path,
        index_folder: &Path,
        store: Arc<Store>,
        embedder: Arc<dyn Embedder>,
    ) -> Outcome<Self> {
        let repository = Repository::open_or_create(repository_path)?;
        let git = repository.writer()?;
        let index = follow::open_index(index_folder, &repository, git.head(), embedder.as_ref())?;
        let committed = follow::unacknowledged(&repository, git.head(), &record)?;
        if record.head.as_deref() != index.head() {
            // The record's head stays: it tells which messages are not acknowledged.
            let recorded = record.head.as_deref().map(str::parse::<CommitId>).transpose()?;
            let terms = follow::term_changes(&repository, recorded, git.head())?;
            store.acknowledge(&[], &record, &terms)?;
        }
        let vocabulary = follow::vocabulary(&store, &record.account, &record.name)?;
        Ok(Self {
            account: record.account.clone(),
            name: record.name.clone(),
            repository,
            store,
            embedder,
            index_folder: index_folder.to_path_buf(),
            retired: AtomicBool::new(false),
            snapshot: index.published(),
            vocabulary: ArcSwap::from_pointee(vocabulary),
            inner: Mutex::new(Inner {
                git,
                index,
                namer: Namer::default(),
                record,
                committed,
                terms: Vec::new(),
                doubtful: false,
            }),
        })
    }

    /// The newest vocabulary.
    pub fn vocabulary(&self) -> Arc<Vocabulary> {
        self.vocabulary.load_full()
    }

    /// The newest state that can be retrieved from.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Reads from the newest snapshot. Where that shows the index to be damaged, it is made anew from git and read again.
    pub fn read<T>(&self, read: impl Fn(&Snapshot) -> Result<T, IndexError>) -> Outcome<T> {
        let snapshot = self.snapshot();
        match read(&snapshot) {
            Err(IndexError::Damaged(reason)) => {
                tracing::warn!(account = %self.account, namespace = %self.name, %reason, "the index is damaged");
                self.rebuild(&snapshot)?;
                Ok(read(&self.snapshot())?)
            }
            read => Ok(read?),
        }
    }

    /// Makes the index anew from git, unless that was done since a snapshot was taken.
    fn rebuild(&self, damaged: &Arc<Snapshot>) -> Outcome<()> {
        let mut inner = self.inner.lock();
        if self.retired.load(Ordering::SeqCst) || !Arc::ptr_eq(damaged, &self.snapshot()) {
            return Ok(());
        }
        let head = inner.index.head().map(str::parse::<CommitId>).transpose()?;
        inner.doubtful = true;
        follow::replace(&mut inner.index, &self.repository, head, self.embedder.as_ref())?;
        inner.doubtful = false;
        Ok(())
    }

    /// The repository, for histories and old revisions.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Waits for the write under way, removes the namespace with the given act, and refuses any later write if that
    /// removed it.
    pub(super) fn retire(&self, remove: impl FnOnce() -> Outcome<bool>) -> Outcome<bool> {
        let _held = self.inner.lock();
        let removed = remove()?;
        self.retired.fetch_or(removed, Ordering::SeqCst);
        Ok(removed)
    }

    /// Carries out the plan of one queue message, indexes it and acknowledges the message, each exactly once however
    /// often this is called.
    pub fn ingest(&self, id: Ulid, now: Timestamp, plan: impl Fn(&mut Desk<'_>) -> Outcome<Plan>) -> Outcome<()> {
        self.carry_out(Some(id), now, &plan).map(drop)
    }

    /// Carries out a plan at once. Returns the commit, none when there was nothing to do.
    pub fn write(&self, now: Timestamp, plan: impl Fn(&mut Desk<'_>) -> Outcome<Plan>) -> Outcome<Option<CommitId>> {
        self.carry_out(None, now, &plan)
    }

    fn carry_out(
        &self,
        id: Option<Ulid>,
        now: Timestamp,
        plan: &dyn Fn(&mut Desk<'_>) -> Outcome<Plan>,
    ) -> Outcome<Option<CommitId>> {
        let mut inner = self.inner.lock();
        if self.retired.load(Ordering::SeqCst) {
            return Err(Failure::not_found("namespace_not_found", "the namespace was deleted meanwhile"));
        }
        let began = Instant::now();
        self.mend(&mut inner)?;
        inner.doubtful = true;
        let mut commit = None;
        if id.is_none_or(|id| !inner.committed.contains(&id)) {
            match self.commit_plan(&mut inner, id, now, plan) {
                Ok(None) => {}
                Ok(Some(made)) => {
                    inner.committed.extend(id);
                    commit = Some(made.commit);
                    let (committed, files) = (began.elapsed(), made.files.len());
                    self.publish(&mut inner, made)?;
                    let indexed = began.elapsed() - committed;
                    tracing::debug!(message = ?id, files, ?committed, ?indexed, "written");
                }
                Err(error) => {
                    // The writer has read itself anew, and the index was not touched.
                    inner.doubtful = false;
                    return Err(error);
                }
            }
        }
        inner.doubtful = false;
        // The index's head, not git's: what is recorded can be retrieved from.
        let mut record = inner.record.clone();
        if record.head.as_deref() != inner.index.head() {
            record.head = inner.index.head().map(str::to_owned);
            record.updated_at_ms = now.as_millisecond();
        }
        record.memories = inner.index.memories() as u64;
        // Whatever is committed is in the index by now, so all of it is acknowledged as the head moves past it.
        let done: Vec<Ulid> = inner.committed.iter().copied().chain(id).collect();
        self.store.acknowledge(&done, &record, &inner.terms)?;
        inner.record = record;
        inner.committed.clear();
        if !std::mem::take(&mut inner.terms).is_empty() {
            self.vocabulary.store(Arc::new(follow::vocabulary(&self.store, &self.account, &self.name)?));
        }
        Ok(commit)
    }

    /// Whether a message's commit is in git and only its acknowledgement is missing.
    pub fn is_committed(&self, id: Ulid) -> bool {
        self.inner.lock().committed.contains(&id)
    }

    /// Keeps the number of packs small. Called after a write has been acknowledged, off its path.
    pub fn tidy(&self) -> Outcome<()> {
        let _held = self.inner.lock();
        if !self.retired.load(Ordering::SeqCst) {
            self.repository.consolidate()?;
        }
        Ok(())
    }

    /// Draws up the plan and makes its commit, anew when somebody pushed meanwhile; none when there is nothing to do.
    fn commit_plan(
        &self,
        inner: &mut Inner,
        id: Option<Ulid>,
        now: Timestamp,
        plan: &dyn Fn(&mut Desk<'_>) -> Outcome<Plan>,
    ) -> Outcome<Option<Made>> {
        let mut attempts = 0;
        loop {
            let parent = inner.git.head();
            let Plan { subject, files } = plan(&mut Desk {
                account: &self.account,
                namespace: &self.name,
                git: &mut inner.git,
                namer: &mut inner.namer,
                repository: &self.repository,
                store: &self.store,
            })?;
            if files.is_empty() {
                return Ok(None);
            }
            let edit = |(path, content): &(String, Option<Content>)| {
                let content = content.as_ref().map(|content| content.render().map(String::into_bytes)).transpose()?;
                Ok(Edit { path: path.clone(), content })
            };
            let edits = files.iter().map(edit).collect::<Result<Vec<_>, StorageError>>()?;
            let trailers = id.map(|id| (MESSAGE_TRAILER.to_owned(), id.to_string())).into_iter().collect();
            let message = CommitMessage { subject, trailers, at_seconds: now.as_second() };
            match inner.git.commit(&edits, &message) {
                Err(StorageError::Conflict) if attempts < CONFLICTS_MAX => attempts += 1,
                Err(error) => return Err(error.into()),
                Ok(commit) => return Ok(Some(Made { commit, parent, files })),
            }
        }
    }

    /// Brings the index to a new commit: with the files at hand where it stands at the parent, else by comparing.
    fn publish(&self, inner: &mut Inner, made: Made) -> Outcome<()> {
        let Made { commit, parent, files } = made;
        if files.iter().any(|(path, _)| is_term(path)) {
            inner.terms = follow::term_changes(&self.repository, parent, Some(commit))?;
        }
        let at_parent = inner.index.head().map(str::to_owned) == parent.map(|parent| parent.to_string());
        let embedder = self.embedder.as_ref();
        if !at_parent {
            return follow::catch_up(&mut inner.index, &self.repository, commit, embedder);
        }
        let change = |(path, content): (String, Option<Content>)| {
            let parsed: MemoryPath = path.parse().ok()?;
            match content {
                Some(Content::Memory(file)) => Some(Change::Put(Box::new(files::to_memory(&parsed, *file, embedder)))),
                Some(Content::Term(_)) => None,
                None => Some(Change::Forget(path)),
            }
        };
        let changes: Vec<Change> = files.into_par_iter().filter_map(change).collect();
        follow::apply(&mut inner.index, changes, &self.repository, commit, embedder)
    }

    /// Reads writer and index again after a failed change, and takes in what was pushed from outside.
    fn mend(&self, inner: &mut Inner) -> Outcome<()> {
        let embedder = self.embedder.as_ref();
        if inner.doubtful || self.repository.head()? != inner.git.head() {
            inner.git.reload()?;
        }
        if inner.doubtful {
            tracing::warn!(account = %self.account, namespace = %self.name, "opening the index again after a failed change");
            inner.index = follow::open_index(&self.index_folder, &self.repository, inner.git.head(), embedder)?;
            inner.index.publish_to(Arc::clone(&self.snapshot));
        } else if let Some(head) = inner.git.head() {
            inner.doubtful = true;
            follow::catch_up(&mut inner.index, &self.repository, head, embedder)?;
        }
        self.mend_vocabulary(inner)?;
        inner.doubtful = false;
        Ok(())
    }

    /// Takes into the lookup what came by a push, or by a commit whose record was not written.
    fn mend_vocabulary(&self, inner: &mut Inner) -> Outcome<()> {
        if inner.record.head.as_deref() == inner.index.head() {
            return Ok(());
        }
        let recorded = inner.record.head.as_deref().map(str::parse::<CommitId>).transpose()?;
        let terms = follow::term_changes(&self.repository, recorded, inner.git.head())?;
        if !terms.is_empty() {
            // The record's head stays: it tells which messages are not acknowledged.
            self.store.acknowledge(&[], &inner.record, &terms)?;
            self.vocabulary.store(Arc::new(follow::vocabulary(&self.store, &self.account, &self.name)?));
        }
        Ok(())
    }
}

fn is_term(path: &str) -> bool {
    path.strip_prefix(VOCABULARY_FOLDER).is_some_and(|rest| rest.starts_with('/'))
}
