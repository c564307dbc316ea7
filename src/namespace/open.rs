//! One open namespace: its repository, index and vocabulary, and their one writer.
//!
//! This file opens a namespace, reads from it and rebuilds its index. Writes are in `write.rs`, recovery after a failed
//! change in `recover.rs`, erasures in `erase.rs`, and the computation of missing vectors in `reembed.rs`. Readers
//! never take the writer lock; they load the newest published snapshot.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use cuebase_retrieval::Error as IndexError;
use cuebase_retrieval::{Snapshot, Vocabulary};
use cuebase_storage::git::{CommitId, Repository};
use cuebase_storage::records::{Acknowledgement, NamespaceRecord, Revision};
use cuebase_storage::{AccountId, MessageId, NamespaceId, NamespaceKey, NamespaceName};
use parking_lot::Mutex;

use super::compare::differences;
use super::context::NamespaceContext;
use super::end::{End, EndState};
use super::erasure_recovery::complete_interrupted;
use super::heads;
use super::snapshot_download::{IndexPlace, bucket_copy, fetch_snapshot};
use super::snapshot_state::SnapshotState;
use super::sync;
use super::writer_state::WriterState;
use crate::error::{Error, Result};
use crate::metrics::Step;
use crate::model::Deadline;
use crate::namespace::threads::on_own_thread;

/// How long packs are not joined after a failure of the database or the bucket.
const JOINING_REST: Duration = Duration::from_secs(60);

/// The recorded part of the histories of some paths.
pub struct RecordedRevisions {
    /// The revisions of each path, newest first.
    pub revisions: Vec<Vec<Revision>>,
    /// The commit before which no revision is recorded; none if the lists are complete.
    pub older_than: Option<CommitId>,
    /// The newest commit that is certainly recorded. A reader can hold a newer snapshot, because a snapshot is
    /// published before its commit is recorded.
    pub recorded_head: Option<CommitId>,
}

/// An open namespace.
pub struct Namespace {
    pub(super) account: AccountId,
    pub(super) name: NamespaceName,
    pub(super) id: NamespaceId,
    pub(super) repository: Repository,
    pub(super) context: NamespaceContext,
    pub(super) index_folder: PathBuf,
    pub(super) end: EndState,
    /// Number of erasures since the namespace was opened. An index that was begun before one must not be used.
    pub(super) erasures: AtomicU64,
    pub(super) snapshot: Arc<ArcSwap<Snapshot>>,
    /// What of the index is in the bucket. Taken before the writer lock.
    pub(super) snapshot_state: Mutex<SnapshotState>,
    pub(super) vocabulary: ArcSwap<Vocabulary>,
    pub(super) writer: Mutex<WriterState>,
}

impl Namespace {
    /// Opens repository and index, and updates index and vocabulary to the repository's head.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedNamespace`] if the recorded head is not in the repository's history. Nothing is changed then.
    pub(super) fn open(
        record: NamespaceRecord,
        repository_path: &Path,
        index_folder: &Path,
        context: NamespaceContext,
    ) -> Result<Self> {
        let record = complete_interrupted(&context, repository_path, record)?;
        let repository = sync::open_repository(&context, repository_path, &record)?;
        let git = repository.writer()?;
        let unacknowledged = sync::unacknowledged(&repository, git.head(), &record)?;
        let place =
            IndexPlace { namespace: record.id, folder: index_folder, repository: &repository, head: git.head() };
        let stored_state = fetch_snapshot(&context, &place);
        let index = sync::open_index(index_folder, &repository, git.head(), record.id, &context.models)?;
        let bucket_copy = bucket_copy(index_folder, stored_state.as_deref());
        if !heads::is_recorded(&record, &index) {
            // The recorded head stays until the end, because it determines which messages are not acknowledged.
            let terms = sync::term_changes(&repository, record.head, git.head())?;
            context.store.acknowledge(&Acknowledgement { terms: &terms, ..Acknowledgement::new(&record) })?;
        }
        let vocabulary = sync::open_vocabulary(&context.store, &repository, git.head(), &record)?;
        let has_path_writes = context.store.has_path_writes(record.id)?;
        let snapshot = index.published();
        let snapshot_state = SnapshotState::opened(&snapshot.load_full(), bucket_copy);
        let namespace = Self {
            account: record.account.clone(),
            name: record.name.clone(),
            id: record.id,
            repository,
            context,
            index_folder: index_folder.to_path_buf(),
            end: EndState::default(),
            erasures: AtomicU64::new(0),
            snapshot,
            snapshot_state: Mutex::new(snapshot_state),
            vocabulary: ArcSwap::from_pointee(vocabulary),
            writer: Mutex::new(WriterState::new(git, index, record, unacknowledged, has_path_writes)),
        };
        namespace.record_former_writes()?;
        Ok(namespace)
    }

    pub(super) fn key(&self) -> NamespaceKey {
        NamespaceKey { account: self.account.clone(), name: self.name.clone(), id: self.id }
    }

    /// The account that the namespace belongs to.
    pub(crate) fn account(&self) -> &AccountId {
        &self.account
    }

    /// The id of this creation of the namespace.
    pub fn id(&self) -> NamespaceId {
        self.id
    }

    /// Embeds the texts that a write will need, before the writer lock is taken. If the model fails, or its vectors follow
    /// in the background in any case, the write is committed without vectors.
    pub fn prepare(&self, texts: &[String], deadline: Deadline) {
        let Some(vectors) = self.context.models.of(self.snapshot().model()) else { return };
        if vectors.model().is_deferred() {
            return;
        }
        match vectors.prepare(&self.key(), texts.iter().map(String::as_str), deadline) {
            // Only a call, not a cached vector, shows that the model works.
            Ok(computed) if computed > 0 => self.context.backlog.retry_now(),
            Ok(_) => {}
            Err(error) => {
                let failure = error.kind();
                tracing::warn!(account = %self.account, namespace = %self.name, failure, "a write is committed without vectors");
            }
        }
    }

    /// The newest vocabulary.
    pub fn vocabulary(&self) -> Arc<Vocabulary> {
        self.vocabulary.load_full()
    }

    /// The newest published snapshot of the index.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Reads from the newest snapshot. If the index is damaged or cannot be read from the disk, it is rebuilt from git
    /// and read again.
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

    /// Rebuilds the index from git, unless a newer index than that of the damaged snapshot is published already.
    pub(super) fn rebuild(&self, damaged: &Arc<Snapshot>) -> Result<()> {
        let mut writer = self.writer.lock();
        if self.end.is_set() || !Arc::ptr_eq(damaged, &self.snapshot()) {
            return Ok(());
        }
        let head = writer.index.head().map(heads::commit_at);
        let mut change = writer.begin_change();
        let index = &mut change.index;
        on_own_thread(|| sync::rebuild_served(index, &self.repository, head, self.id, &self.context.models))?;
        change.complete();
        self.record_waiting(&mut writer)
    }

    /// Describes how the index differs from git at the index's head, one line per difference.
    pub fn compare_index(&self) -> Result<Vec<String>> {
        let snapshot = self.snapshot();
        let indexed = match snapshot.all().collect::<Result<Vec<_>, _>>() {
            Ok(memories) => memories,
            Err(error) => return Ok(vec![error.to_string()]),
        };
        let Some(head) = snapshot.head() else { return Ok(differences(indexed, Vec::new())) };
        Ok(differences(indexed, sync::memories_at(&self.repository, heads::commit_at(head))?))
    }

    /// Rebuilds the index from git.
    pub fn rebuild_index(&self) -> Result<()> {
        self.rebuild(&self.snapshot())
    }

    /// Returns up to `limit` recorded revisions of each path, newest first. Older revisions than `older_than` are in
    /// git only; it is none if each path has `limit` revisions.
    pub fn recorded_revisions(&self, paths: &[&str], limit: usize) -> Result<RecordedRevisions> {
        // The record is read first, so that all revisions up to its head are found below.
        let Some(record) = self.context.store.namespace(&self.account, &self.name)? else {
            return Err(Error::NamespaceGone);
        };
        if record.id != self.id {
            return Err(Error::NamespaceGone);
        }
        let mut revisions = Vec::with_capacity(paths.len());
        for path in paths {
            revisions.push(self.context.store.revisions(self.id, path, limit)?);
        }
        let is_full = revisions.iter().all(|revisions| revisions.len() == limit);
        let older_than = if is_full { None } else { record.history_base };
        Ok(RecordedRevisions { revisions, older_than, recorded_head: record.head })
    }

    /// The repository, for callers that prevent its deletion. Other readers use [`Namespace::read_git`].
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Reads from the repository. An error caused by the namespace's deletion becomes [`Error::NamespaceGone`].
    pub fn read_git<T>(&self, read: impl FnOnce(&Repository) -> Result<T>) -> Result<T> {
        match read(&self.repository) {
            Err(error) => {
                // Waits for the current write.
                let _writer = self.writer.lock();
                self.require_open()?;
                Err(error)
            }
            read => read,
        }
    }

    /// Reads from the commit that the index was built from. Returns `None` if the index is empty.
    ///
    /// An erasure replaces the history, and the head of a read that began before it is gone then. A read that finds
    /// nothing, or fails, is therefore repeated if the head has changed meanwhile.
    pub fn read_at_head<T>(&self, read: impl Fn(&Repository, CommitId) -> Result<Option<T>>) -> Result<Option<T>> {
        loop {
            let Some(head) = self.snapshot().head() else { return Ok(None) };
            let found = self.read_git(|repository| read(repository, heads::commit_at(head)));
            if matches!(found, Ok(Some(_))) || self.snapshot().head() == Some(head) {
                return found;
            }
        }
    }

    /// Fails if the namespace was deleted or released.
    pub(super) fn require_open(&self) -> Result<()> {
        self.end.require_open(|| self.key())
    }

    /// Makes all later changes fail.
    pub(super) fn end_writes(&self, end: End) {
        self.end.set(end);
    }

    /// Makes all later changes fail, and waits for the current one.
    pub(super) fn retire(&self, end: End) {
        self.end.set(end);
        let _writer = self.writer.lock();
        // Nobody waits any longer for its vectors.
        self.context.backlog.remove_namespace(self.id);
        self.context.backlog.notify_indexed();
    }

    /// Whether a message's commit is in git, and only its acknowledgement is missing.
    pub fn is_committed(&self, id: MessageId) -> bool {
        self.writer.lock().unacknowledged.messages.contains_key(&id)
    }

    /// Runs an action while no write is in progress.
    pub(super) fn with_writes_paused<T>(&self, action: impl FnOnce() -> T) -> T {
        let _writer = self.writer.lock();
        action()
    }

    /// Joins packs to keep their number small. Called after a write is acknowledged, so that no caller waits for it.
    /// Does nothing while an erasure waits for the removal of packs: a joined one would keep the text.
    pub fn consolidate_packs(&self) -> Result<()> {
        let mut writer = self.writer.lock();
        let began = Instant::now();
        let rests = writer.joining_rests_until.is_some_and(|until| began < until);
        if self.end.is_set() || rests || self.context.store.erasure(self.id)?.is_some() {
            return Ok(());
        }
        if let Err(error) = writer.git.consolidate() {
            if !self.context.repositories.is_disk() {
                // The bucket or the database may be away for longer, and the local folder may differ from the records.
                writer.joining_rests_until = Some(began + JOINING_REST);
                writer.require_reload();
            }
            return Err(error.into());
        }
        self.context.metrics.record_step(Step::Pack, began.elapsed());
        Ok(())
    }

    /// Joins packs after a write whose caller still waits. If packs are stored over a network, the sweep does it later.
    pub fn consolidate_after_direct_write(&self) -> Result<()> {
        if self.context.repositories.is_disk() { self.consolidate_packs() } else { Ok(()) }
    }

    /// Removes packs that [`Namespace::consolidate_packs`] replaced some time ago, also if no further write comes.
    pub(super) fn sweep(&self) -> Result<()> {
        {
            let _writer = self.writer.lock();
            if !self.end.is_set() {
                self.repository.remove_replaced_packs()?;
            }
        }
        if self.context.repositories.is_disk() {
            return Ok(());
        }
        // Direct writes leave it to the sweep.
        self.consolidate_packs()
    }
}

/// The folders that an index can have: its own, that of its successor, that of its predecessor, and that of a snapshot.
pub(super) fn index_folders(folder: &Path) -> [PathBuf; 4] {
    let (next, former) = (sync::next_folder(folder), sync::former_folder(folder));
    [folder.to_path_buf(), next, former, sync::download_folder(folder)]
}
