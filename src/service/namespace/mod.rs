//! One open namespace: its repository, its index, its vocabulary, its one writer.
//!
//! A write takes the writer's lock: [`plan`] says what it makes of what is there, then commit to git, then the index,
//! then the record with the new head. Readers never take it; they load the newest published snapshot. [`follow`] keeps
//! what is derived at git's head, whatever happened in between; [`renew`] brings vectors up to date that a model did not
//! give when they were needed, or that another model made.

mod compare;
mod follow;
pub mod plan;
mod renew;

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

use self::compare::differences;
use self::plan::{Content, Desk, Plan};
use super::error::{Failure, Outcome};
use crate::ingest::files;
use crate::ingest::naming::Namer;
use crate::metrics::{Metrics, Step};
use crate::model::{Models, Patience};
use crate::service::backlog::Backlog;
use crate::service::namespaces::{NamespaceKey, apart};

/// The trailer that ties a commit to the queue message it came from.
pub const MESSAGE_TRAILER: &str = "Cuebase-Message";
/// How often a commit is tried again when somebody pushes at the same moment.
const CONFLICTS_MAX: usize = 5;

/// What all namespaces share.
#[derive(Clone)]
pub struct Around {
    /// The records.
    pub(crate) store: Arc<Store>,
    /// Who makes vectors.
    pub(crate) models: Arc<Models>,
    /// Which namespaces wait for vectors.
    pub(crate) backlog: Arc<Backlog>,
    /// Where it is counted.
    pub(crate) metrics: Arc<Metrics>,
}

/// An open namespace.
pub struct Namespace {
    account: String,
    name: String,
    repository: Repository,
    around: Around,
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
        around: Around,
    ) -> Outcome<Self> {
        let repository = Repository::open_or_create(repository_path)?;
        let git = repository.writer()?;
        let index = follow::open_index(index_folder, &repository, git.head(), &record.account, &around.models)?;
        let committed = follow::unacknowledged(&repository, git.head(), &record)?;
        if record.head.as_deref() != index.head() {
            // The record's head stays: it tells which messages are not acknowledged.
            let recorded = record.head.as_deref().map(str::parse::<CommitId>).transpose()?;
            let terms = follow::term_changes(&repository, recorded, git.head())?;
            around.store.acknowledge(&[], &record, &terms)?;
        }
        let vocabulary = follow::vocabulary(&around.store, &record.account, &record.name)?;
        let namespace = Self {
            account: record.account.clone(),
            name: record.name.clone(),
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
                committed,
                terms: Vec::new(),
                doubtful: false,
            }),
        };
        namespace.note_waiting(&mut namespace.inner.lock())?;
        Ok(namespace)
    }

    fn key(&self) -> NamespaceKey {
        NamespaceKey { account: self.account.clone(), name: self.name.clone() }
    }

    /// Has the vectors made that a write to come will need, before it takes the writer's lock. Where the model fails,
    /// the write goes on without them.
    pub fn prepare(&self, texts: &[String], patience: Patience) {
        let Some(vectors) = self.around.models.of(self.snapshot().model()) else { return };
        match vectors.prepare(&self.account, texts.iter().map(String::as_str), patience) {
            // Only a model that was asked has shown that it works.
            Ok(made) if made > 0 => self.around.backlog.hurry(),
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(account = %self.account, namespace = %self.name, %error, "a write goes on without vectors");
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
    fn rebuild(&self, damaged: &Arc<Snapshot>) -> Outcome<()> {
        let mut inner = self.inner.lock();
        if self.retired.load(Ordering::SeqCst) || !Arc::ptr_eq(damaged, &self.snapshot()) {
            return Ok(());
        }
        let head = inner.index.head().map(str::parse::<CommitId>).transpose()?;
        inner.doubtful = true;
        let index = &mut inner.index;
        apart(|| follow::replace(index, &self.repository, head, &self.account, &self.around.models))?;
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

    /// The repository, for who knows that it stays: [`Namespace::read_git`] is for readers.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Reads from the repository. What fails because the namespace is being deleted is told as that.
    pub fn read_git<T>(&self, read: impl FnOnce(&Repository) -> Outcome<T>) -> Outcome<T> {
        read(&self.repository).map_err(|failure| {
            let retired = self.while_still(|| self.retired.load(Ordering::SeqCst));
            if retired { deleted() } else { failure }
        })
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
        }
        // Taken in as what was pushed is.
        self.write(Timestamp::now(), |_| Ok(Plan::new(String::new(), Vec::new()))).map(drop)
    }

    /// Takes over what was pushed into a repository [apart](Repository::apart): true when it is in git and indexed, false
    /// where the branch is not at `from` any more.
    pub fn take_in(&self, apart: &Repository, from: Option<CommitId>, to: CommitId) -> Outcome<bool> {
        {
            let mut inner = self.inner.lock();
            if self.retired.load(Ordering::SeqCst) {
                return Err(deleted());
            }
            self.mend(&mut inner)?;
            inner.doubtful = true;
            let taken = inner.git.take_in(apart, from, to);
            if let Err(StorageError::Conflict) = taken {
                inner.doubtful = false;
                return Ok(false);
            }
            taken?;
            inner.doubtful = false;
        }
        // The next change takes in what the branch has moved by; this one changes nothing itself.
        self.write(Timestamp::now(), |_| Ok(Plan::new(String::new(), Vec::new()))).map(|_| true)
    }

    fn carry_out(
        &self,
        id: Option<Ulid>,
        now: Timestamp,
        plan: &dyn Fn(&mut Desk<'_>) -> Outcome<Plan>,
    ) -> Outcome<Option<CommitId>> {
        let mut inner = self.inner.lock();
        if self.retired.load(Ordering::SeqCst) {
            return Err(deleted());
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
                    // The writer has read itself anew, and the index was not touched; but the branch may have moved.
                    inner.doubtful = inner.git.head().map(|head| head.to_string()).as_deref() != inner.index.head();
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
        record.waiting = inner.index.waiting() as u64;
        // Whatever is committed is in the index by now, so all of it is acknowledged as the head moves past it.
        let done: Vec<Ulid> = inner.committed.iter().copied().chain(id).collect();
        self.around.store.acknowledge(&done, &record, &inner.terms)?;
        inner.record = record;
        if inner.record.waiting > 0 {
            self.around.backlog.add(&self.key());
        }
        inner.committed.clear();
        if !std::mem::take(&mut inner.terms).is_empty() {
            self.vocabulary.store(Arc::new(follow::vocabulary(&self.around.store, &self.account, &self.name)?));
        }
        Ok(commit)
    }

    /// Whether a message's commit is in git and only its acknowledgement is missing.
    pub fn is_committed(&self, id: Ulid) -> bool {
        self.inner.lock().committed.contains(&id)
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
            let Plan { subject, body, trailers: more, files } = plan(&mut Desk {
                account: &self.account,
                namespace: &self.name,
                git: &mut inner.git,
                namer: &mut inner.namer,
                repository: &self.repository,
                store: &self.around.store,
            })?;
            if files.is_empty() {
                return Ok(None);
            }
            let edit = |(path, content): &(String, Option<Content>)| {
                let content = content.as_ref().map(|content| content.render().map(String::into_bytes)).transpose()?;
                Ok(Edit { path: path.clone(), content })
            };
            let edits = files.iter().map(edit).collect::<Result<Vec<_>, StorageError>>()?;
            let mut trailers: Vec<_> = id.map(|id| (MESSAGE_TRAILER.to_owned(), id.to_string())).into_iter().collect();
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

    /// Brings the index to a new commit: with the files at hand where it stands at the parent, else by comparing.
    fn publish(&self, inner: &mut Inner, made: Made) -> Outcome<()> {
        let Made { commit, parent, files } = made;
        if files.iter().any(|(path, _)| is_term(path)) {
            inner.terms = follow::term_changes(&self.repository, parent, Some(commit))?;
        }
        let at_parent = inner.index.head().map(str::to_owned) == parent.map(|parent| parent.to_string());
        let vectors = self.around.models.of(inner.index.model());
        let lookup = follow::Lookup { account: &self.account, vectors: vectors.as_deref() };
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
    fn apply(&self, inner: &mut Inner, changes: Vec<Change>, to: CommitId) -> Outcome<()> {
        let began = Instant::now();
        let applied = inner.index.apply(changes, &to.to_string());
        self.around.metrics.changed(Step::Index, began.elapsed());
        match applied {
            Err(IndexError::Damaged(reason)) => {
                tracing::warn!(index = %inner.index.folder().display(), %reason, "making the index anew from git");
                follow::replace(&mut inner.index, &self.repository, Some(to), &self.account, &self.around.models)
            }
            applied => Ok(applied?),
        }
    }

    /// Reads writer and index again after a failed change, and takes in what was pushed from outside.
    fn mend(&self, inner: &mut Inner) -> Outcome<()> {
        if inner.doubtful || !inner.git.is_sound() || self.repository.head()? != inner.git.head() {
            inner.git.reload()?;
            inner.committed = follow::unacknowledged(&self.repository, inner.git.head(), &inner.record)?;
        }
        if inner.doubtful {
            tracing::warn!(account = %self.account, namespace = %self.name, "opening the index again after a failed change");
            inner.index = follow::open_index(
                &self.index_folder,
                &self.repository,
                inner.git.head(),
                &self.account,
                &self.around.models,
            )?;
            inner.index.publish_to(Arc::clone(&self.snapshot));
        } else if let Some(head) = inner.git.head() {
            inner.doubtful = true;
            if inner.index.head() != Some(head.to_string().as_str()) {
                let vectors = self.around.models.of(inner.index.model());
                let lookup = follow::Lookup { account: &self.account, vectors: vectors.as_deref() };
                let changes = follow::changes(inner.index.head(), &self.repository, head, &lookup)?;
                self.apply(inner, changes, head)?;
            }
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
            self.around.store.acknowledge(&[], &inner.record, &terms)?;
            self.vocabulary.store(Arc::new(follow::vocabulary(&self.around.store, &self.account, &self.name)?));
        }
        Ok(())
    }
}

/// Where an index is made that is to take the place of the one in a folder.
pub(super) fn next_index_folder(folder: &Path) -> PathBuf {
    follow::next_folder(folder)
}

fn deleted() -> Failure {
    Failure::not_found("namespace_not_found", "the namespace was deleted meanwhile")
}

fn is_term(path: &str) -> bool {
    path.strip_prefix(VOCABULARY_FOLDER).is_some_and(|rest| rest.starts_with('/'))
}
