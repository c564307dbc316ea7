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
use cuebase_retrieval::{Index, Snapshot, Vocabulary};
use cuebase_storage::git::{CommitId, Repository, Writer};
use cuebase_storage::records::{Acknowledgement, NamespaceId, NamespaceRecord, Revision, TermChange};
use parking_lot::Mutex;
use ulid::Ulid;

use super::compare::differences;
use super::context::NamespaceContext;
use super::sync;
use super::sync::Unacknowledged;
use crate::error::{Error, Result};
use crate::memory::file_names::Namer;
use crate::metrics::Step;
use crate::model::Deadline;
use crate::namespace::key::NamespaceKey;
use crate::namespace::threads::on_own_thread;

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

/// An open namespace.
pub struct Namespace {
    pub(super) account: String,
    pub(super) name: String,
    pub(super) id: NamespaceId,
    pub(super) repository: Repository,
    pub(super) context: NamespaceContext,
    pub(super) index_folder: PathBuf,
    pub(super) retired: AtomicBool,
    pub(super) snapshot: Arc<ArcSwap<Snapshot>>,
    pub(super) vocabulary: ArcSwap<Vocabulary>,
    pub(super) inner: Mutex<WriterState>,
}

/// What only the writer touches.
pub(super) struct WriterState {
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
    pub(super) needs_reload: bool,
}

impl Namespace {
    /// Opens repository and index, and brings index and vocabulary up to the repository's head.
    ///
    /// # Errors
    /// [`Error::DamagedNamespace`] where the recorded head is not in the repository's history; nothing is changed then.
    pub(super) fn open(
        record: NamespaceRecord,
        repository_path: &Path,
        index_folder: &Path,
        context: NamespaceContext,
    ) -> Result<Self> {
        let repository = sync::open_repository(repository_path, &record)?;
        let git = repository.writer()?;
        let unacknowledged = sync::unacknowledged(&repository, git.head(), &record)?;
        let index = sync::open_index(index_folder, &repository, git.head(), record.id, &context.models)?;
        if record.head.as_deref() != index.head() {
            // The record's head stays: it says which messages are not acknowledged.
            let recorded = record.head.as_deref().map(str::parse::<CommitId>).transpose()?;
            let terms = sync::term_changes(&repository, recorded, git.head())?;
            context.store.acknowledge(&Acknowledgement { terms: &terms, ..Acknowledgement::new(&record) })?;
        }
        let vocabulary = sync::vocabulary(&context.store, record.id)?;
        let has_path_writes = context.store.has_path_writes(record.id)?;
        let namespace = Self {
            account: record.account.clone(),
            name: record.name.clone(),
            id: record.id,
            repository,
            context,
            index_folder: index_folder.to_path_buf(),
            retired: AtomicBool::new(false),
            snapshot: index.published(),
            vocabulary: ArcSwap::from_pointee(vocabulary),
            inner: Mutex::new(WriterState {
                git,
                index,
                namer: Namer::default(),
                record,
                unacknowledged,
                has_path_writes,
                terms: Vec::new(),
                needs_reload: false,
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
    pub fn prepare(&self, texts: &[String], deadline: Deadline) {
        let Some(vectors) = self.context.models.of(self.snapshot().model()) else { return };
        match vectors.prepare(self.id, texts.iter().map(String::as_str), deadline) {
            // Only a model that was asked has shown that it works.
            Ok(made) if made > 0 => self.context.backlog.hurry(),
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
    pub fn read<T>(&self, read: impl Fn(&Snapshot) -> Result<T, IndexError>) -> Result<T> {
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
    pub(super) fn rebuild(&self, damaged: &Arc<Snapshot>) -> Result<()> {
        let mut inner = self.inner.lock();
        if self.retired.load(Ordering::SeqCst) || !Arc::ptr_eq(damaged, &self.snapshot()) {
            return Ok(());
        }
        let head = inner.index.head().map(str::parse::<CommitId>).transpose()?;
        inner.needs_reload = true;
        let index = &mut inner.index;
        on_own_thread(|| sync::replace(index, &self.repository, head, self.id, &self.context.models))?;
        inner.needs_reload = false;
        self.note_waiting(&mut inner)
    }

    /// How the index differs from git at the commit that it stands for; nothing when it does not.
    pub fn compare_index(&self) -> Result<Vec<String>> {
        let snapshot = self.snapshot();
        let held = match snapshot.all().collect::<Result<Vec<_>, _>>() {
            Ok(held) => held,
            Err(error) => return Ok(vec![error.to_string()]),
        };
        let Some(head) = snapshot.head() else { return Ok(differences(held, Vec::new())) };
        Ok(differences(held, sync::memories_at(&self.repository, head.parse()?)?))
    }

    /// Makes the index anew from git.
    pub fn renew_index(&self) -> Result<()> {
        self.rebuild(&self.snapshot())
    }

    /// The newest commits that changed each of some paths, as they are recorded. `older_than` says from
    /// where on only git knows more; it is none where each path has as many revisions as were asked for.
    pub fn recorded_revisions(&self, paths: &[&str], limit: usize) -> Result<RecordedRevisions> {
        // The record first: whatever is recorded up to its head is then found below.
        let record = self.context.store.namespace(&self.account, &self.name)?.filter(|record| record.id == self.id);
        let NamespaceRecord { head, history_base, .. } = record.ok_or_else(Error::namespace_deleted)?;
        let mut revisions = Vec::with_capacity(paths.len());
        for path in paths {
            revisions.push(self.context.store.revisions(self.id, path, limit)?);
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
    pub fn read_git<T>(&self, read: impl FnOnce(&Repository) -> Result<T>) -> Result<T> {
        read(&self.repository).map_err(|failure| {
            let retired = self.while_still(|| self.retired.load(Ordering::SeqCst));
            if retired { Error::namespace_deleted() } else { failure }
        })
    }

    /// Waits for the write under way and refuses any later one: the namespace was deleted.
    pub(super) fn retire(&self) {
        let _held = self.inner.lock();
        self.retired.store(true, Ordering::SeqCst);
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
    pub fn tidy(&self) -> Result<()> {
        let _held = self.inner.lock();
        if !self.retired.load(Ordering::SeqCst) {
            let began = Instant::now();
            self.repository.consolidate()?;
            self.context.metrics.changed(Step::Pack, began.elapsed());
        }
        Ok(())
    }

    /// Removes what [`Namespace::tidy`] has replaced a while ago, for a namespace that is written to no more.
    pub(super) fn sweep(&self) -> Result<()> {
        let _held = self.inner.lock();
        if !self.retired.load(Ordering::SeqCst) {
            self.repository.remove_replaced_packs()?;
        }
        Ok(())
    }
}

/// The folders that an index may have: its own, and those of one on its way in or out.
pub(super) fn index_folders(folder: &Path) -> [PathBuf; 3] {
    [folder.to_path_buf(), sync::next_folder(folder), sync::former_folder(folder)]
}
