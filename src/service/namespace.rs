//! One open namespace: its repository, its index, its one writer.
//!
//! A write takes the writer's lock: commit to git, then the index, then the record with the new head. Readers never
//! take it; they load the newest published snapshot.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arc_swap::ArcSwap;
use cuebase_retrieval::{Change, Index, IndexSettings, Memory, Snapshot};
use cuebase_storage::git::{CommitId, CommitMessage, Edit, Repository, Writer};
use cuebase_storage::memory_file::{MemoryFile, MemoryPath};
use cuebase_storage::records::NamespaceRecord;
use cuebase_storage::{Error as StorageError, Store};
use jiff::Timestamp;
use parking_lot::Mutex;
use rayon::prelude::*;
use ulid::Ulid;

use super::error::{Failure, Outcome};
use crate::ingest::conversation::Conversation;
use crate::ingest::extract::Draft;
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
    /// A change is under way, or one failed half way: writer and index are to be read again before they are used.
    doubtful: bool,
}

impl Namespace {
    /// Opens repository and index, and brings the index up to the repository's head.
    pub(super) fn open(
        record: NamespaceRecord,
        repository_path: &Path,
        index_folder: &Path,
        store: Arc<Store>,
        embedder: Arc<dyn Embedder>,
    ) -> Outcome<Self> {
        let repository = Repository::open_or_create(repository_path)?;
        let git = repository.writer()?;
        let index = open_index(index_folder, &repository, git.head(), embedder.as_ref())?;
        let committed = unacknowledged(&repository, git.head(), &record)?;
        Ok(Self {
            account: record.account.clone(),
            name: record.name.clone(),
            repository,
            store,
            embedder,
            index_folder: index_folder.to_path_buf(),
            retired: AtomicBool::new(false),
            snapshot: index.published(),
            inner: Mutex::new(Inner { git, index, namer: Namer::default(), record, committed, doubtful: false }),
        })
    }

    /// The newest state that can be retrieved from.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
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

    /// Commits the drafts of one queue message, indexes them and acknowledges the message, each exactly once however
    /// often this is called.
    pub fn ingest(&self, id: Ulid, conversation: &Conversation, drafts: &[Draft], now: Timestamp) -> Outcome<()> {
        let mut inner = self.inner.lock();
        if self.retired.load(Ordering::SeqCst) {
            return Err(Failure::not_found("namespace_not_found", "the namespace was deleted meanwhile"));
        }
        let began = Instant::now();
        self.mend(&mut inner)?;
        inner.doubtful = true;
        if !drafts.is_empty() && !inner.committed.contains(&id) {
            let mut attempts = 0;
            loop {
                match self.commit_drafts(&mut inner, id, conversation, drafts, now) {
                    Err(StorageError::Conflict) if attempts < CONFLICTS_MAX => attempts += 1,
                    Err(error) => {
                        // The writer has read itself anew, and the index was not touched.
                        inner.doubtful = false;
                        return Err(error.into());
                    }
                    Ok((commit, parent, files)) => {
                        inner.committed.insert(id);
                        let committed = began.elapsed();
                        self.publish(&mut inner, commit, parent, files)?;
                        let indexed = began.elapsed() - committed;
                        tracing::debug!(message = %id, drafts = drafts.len(), ?committed, ?indexed, "ingested");
                        break;
                    }
                }
            }
        }
        inner.doubtful = false;
        // The index's head, not git's: what is recorded can be retrieved from.
        let head = inner.index.head().map(str::to_owned);
        let mut record = inner.record.clone();
        if record.head != head {
            record.head = head;
            record.updated_at_ms = now.as_millisecond();
        }
        record.memories = inner.index.memories() as u64;
        self.store.acknowledge(id, &record)?;
        inner.record = record;
        inner.committed.remove(&id);
        Ok(())
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

    /// One commit of all drafts. Returns it with its parent and the files.
    #[expect(clippy::type_complexity, reason = "used once, right where it is named")]
    fn commit_drafts(
        &self,
        inner: &mut Inner,
        id: Ulid,
        conversation: &Conversation,
        drafts: &[Draft],
        now: Timestamp,
    ) -> Result<(CommitId, Option<CommitId>, Vec<(String, MemoryFile)>), StorageError> {
        let parent = inner.git.head();
        let paths = inner.namer.name(drafts, &mut inner.git)?;
        let files: Vec<MemoryFile> =
            drafts.iter().map(|draft| files::of_draft(draft, &paths, conversation, now)).collect();
        let edits = paths
            .iter()
            .zip(&files)
            .map(|(path, file)| Ok(Edit { path: path.clone(), content: Some(file.render()?.into_bytes()) }));
        let edits = edits.collect::<Result<Vec<_>, StorageError>>()?;
        let message = CommitMessage {
            subject: format!("Remember {} statement{}", drafts.len(), if drafts.len() == 1 { "" } else { "s" }),
            trailers: vec![(MESSAGE_TRAILER.into(), id.to_string())],
            at_seconds: now.as_second(),
        };
        let commit = inner.git.commit(&edits, &message)?;
        Ok((commit, parent, paths.into_iter().zip(files).collect()))
    }

    /// Brings the index to a new commit: with the files at hand where it stands at the parent, else by comparing.
    fn publish(
        &self,
        inner: &mut Inner,
        commit: CommitId,
        parent: Option<CommitId>,
        files: Vec<(String, MemoryFile)>,
    ) -> Outcome<()> {
        let at_parent = inner.index.head().map(str::to_owned) == parent.map(|parent| parent.to_string());
        if at_parent {
            let embedder = self.embedder.as_ref();
            let memories: Vec<Change> = files
                .into_par_iter()
                .filter_map(|(path, file)| {
                    let path: MemoryPath = path.parse().ok()?;
                    Some(Change::Put(Box::new(files::to_memory(&path, file, embedder))))
                })
                .collect();
            inner.index.apply(memories, &commit.to_string())?;
        } else {
            catch_up(&mut inner.index, &self.repository, commit, self.embedder.as_ref())?;
        }
        Ok(())
    }

    /// Reads writer and index again after a failed change, and takes in what was pushed from outside.
    fn mend(&self, inner: &mut Inner) -> Outcome<()> {
        let embedder = self.embedder.as_ref();
        if inner.doubtful || self.repository.head()? != inner.git.head() {
            inner.git.reload()?;
        }
        if inner.doubtful {
            tracing::warn!(account = %self.account, namespace = %self.name, "opening the index again after a failed change");
            inner.index = open_index(&self.index_folder, &self.repository, inner.git.head(), embedder)?;
            inner.index.publish_to(Arc::clone(&self.snapshot));
        } else if let Some(head) = inner.git.head() {
            inner.doubtful = true;
            catch_up(&mut inner.index, &self.repository, head, embedder)?;
        }
        inner.doubtful = false;
        Ok(())
    }
}

/// The messages of commits after the recorded head: in git, but not acknowledged.
fn unacknowledged(repository: &Repository, head: Option<CommitId>, record: &NamespaceRecord) -> Outcome<HashSet<Ulid>> {
    let recorded = record.head.as_deref().map(str::parse::<CommitId>).transpose()?;
    let Some(head) = head.filter(|head| Some(*head) != recorded) else { return Ok(HashSet::new()) };
    let commits = repository.log(head, recorded, usize::MAX)?;
    let ids = commits.iter().filter_map(|commit| commit.trailer(MESSAGE_TRAILER)?.parse().ok());
    Ok(ids.collect())
}

/// Opens an index and brings it to the head; one that is damaged or of another model is made anew.
fn open_index(
    folder: &Path,
    repository: &Repository,
    head: Option<CommitId>,
    embedder: &dyn Embedder,
) -> Outcome<Index> {
    let settings = IndexSettings { dimensions: embedder.filled_dimensions(), model: embedder.identity().to_owned() };
    let opened = Index::open(folder, settings.clone()).map_err(Failure::from).and_then(|mut index| {
        if let Some(head) = head {
            catch_up(&mut index, repository, head, embedder)?;
        }
        Ok(index)
    });
    match opened {
        Ok(index) if index.head().is_none() || head.is_some() => Ok(index),
        other => {
            let reason = other.err().map_or_else(|| "the repository is empty".to_owned(), |error| error.to_string());
            tracing::warn!(index = %folder.display(), %reason, "making the index anew from git");
            if folder.exists() {
                std::fs::remove_dir_all(folder).map_err(Failure::internal)?;
            }
            let mut index = Index::open(folder, settings)?;
            if let Some(head) = head {
                catch_up(&mut index, repository, head, embedder)?;
            }
            Ok(index)
        }
    }
}

/// Applies what changed between the index's head and a commit.
fn catch_up(index: &mut Index, repository: &Repository, to: CommitId, embedder: &dyn Embedder) -> Outcome<()> {
    let from = index.head().map(str::parse::<CommitId>).transpose()?;
    if from == Some(to) {
        return Ok(());
    }
    let changes = repository.changes(from, to)?;
    let changes: Vec<Change> = changes
        .into_par_iter()
        .filter_map(|change| {
            // Vocabulary and whatever a person keeps beside the tiers is no memory.
            let path: MemoryPath = change.path.parse().ok()?;
            let memory = change.content.and_then(|content| read(&path, &content, embedder));
            Some(memory.map_or_else(|| Change::Forget(change.path), |memory| Change::Put(Box::new(memory))))
        })
        .collect();
    Ok(index.apply(changes, &to.to_string())?)
}

/// A pushed file that cannot be read is left out with a word in the log; it does not stop the others.
fn read(path: &MemoryPath, content: &[u8], embedder: &dyn Embedder) -> Option<Memory> {
    match MemoryFile::parse(content) {
        Ok(file) => Some(files::to_memory(path, file, embedder)),
        Err(error) => {
            let error = error.to_string();
            // As a quoted text: it may repeat what stands in the file.
            tracing::warn!(%path, ?error, "a memory file cannot be read and is not indexed");
            None
        }
    }
}
