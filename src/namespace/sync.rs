//! Data derived from git, the index and the vocabulary's lookup: opening, updating and rebuilding it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use cuebase_retrieval::{Change, Head, Index, IndexSettings, Memory, Term, Vocabulary};
use cuebase_storage::Error as StorageError;
use cuebase_storage::git::{CommitId, FileChange, Repository};
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::memory_file::{MemoryFile, MemoryPath, TermFile};
use cuebase_storage::records::{
    Acknowledgement, NamespaceRecord, RecordedCommit, TermChange, TermRecord, WriteChanges,
};
use cuebase_storage::{MessageId, NamespaceId, Store};
use rayon::prelude::*;

use super::context::NamespaceContext;
use super::heads::{commit_at, head_at};
use super::report::changes_of_commit;
use crate::error::{Error, Result};
use crate::memory::files;
use crate::memory::terms::term_record;
use crate::model::{Models, StaticTable, Vectors, index_settings};

/// The trailer that ties a commit to the queue message it came from.
pub const MESSAGE_TRAILER: &str = "Cuebase-Message";

/// The trailer of a commit that repaired paths. What was replaced before it has been restored.
pub const REPAIR_TRAILER: &str = "Cuebase-Repair";

/// Commits after the recorded head whose paths are recorded one by one. The paths of a longer history are not recorded.
const RECORDED_COMMITS_MAX: usize = 10_000;

/// The commit of a queue message.
#[derive(Clone, Default)]
pub(super) struct CommittedWrite {
    /// The paths that it changed.
    pub(super) paths: Vec<String>,
    /// What the outcome of the write lists.
    pub(super) changes: WriteChanges,
}

/// Commits that are in git but not acknowledged.
#[derive(Default)]
pub(super) struct Unacknowledged {
    /// The commits, oldest first; empty if there are [too many](Self::too_many).
    pub(super) commits: Vec<RecordedCommit>,
    /// The queue messages of these commits, with what each changed.
    pub(super) messages: HashMap<MessageId, CommittedWrite>,
    /// The commits of queue messages.
    queued: HashSet<CommitId>,
    /// Whether there are more commits than are recorded one by one.
    pub(super) too_many: bool,
}

impl Unacknowledged {
    /// Adds a commit, which must be the newest. `write` is the queue message that it came from and what that changed.
    pub(super) fn push(&mut self, commit: RecordedCommit, write: Option<(MessageId, WriteChanges)>) {
        if let Some((message, changes)) = write {
            self.queued.insert(commit.id);
            self.messages.insert(message, CommittedWrite { paths: commit.paths.clone(), changes });
        }
        self.commits.push(commit);
    }

    /// The commits that do not come from a queue message: direct writes and pushes.
    pub(super) fn commits_of_no_message(&self) -> impl Iterator<Item = &RecordedCommit> {
        self.commits.iter().filter(|commit| !self.queued.contains(&commit.id))
    }

    /// Removes all commits after their acknowledgement.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Opens a namespace's repository. Creates it if the namespace has no recorded head yet.
pub(super) fn open_repository(context: &NamespaceContext, path: &Path, record: &NamespaceRecord) -> Result<Repository> {
    let key = record.key();
    if record.head.is_none() {
        return context.repositories.open_or_create(path, &context.store, &key);
    }
    match context.repositories.open_existing(path, &context.store, &key) {
        Ok(Some(repository)) => {
            require_recorded(&repository, record)?;
            Ok(repository)
        }
        Ok(None) => Err(damaged(path, "does not exist")),
        Err(error) => Err(damaged_by(error, path)),
    }
}

/// Fails with [`Error::DamagedNamespace`] unless the recorded head is in the repository's history.
pub(super) fn require_recorded(repository: &Repository, record: &NamespaceRecord) -> Result<()> {
    let Some(recorded) = record.head else { return Ok(()) };
    let path = repository.path();
    let head = repository.head().map_err(|error| damaged_by(error, path))?;
    let Some(head) = head else { return Err(damaged(path, "has no branch main")) };
    let is_ancestor = repository.is_ancestor(recorded, head).map_err(|error| damaged_by(error, path))?;
    if is_ancestor {
        return Ok(());
    }
    Err(damaged(path, &format!("is at {head}, whose history does not hold the recorded commit {recorded}")))
}

fn damaged(path: &Path, how: &str) -> Error {
    Error::DamagedNamespace(format!("its repository {} {how}", path.display()))
}

/// Converts an error of reading a recorded repository: damage, unless the disk refused the access.
fn damaged_by(error: StorageError, path: &Path) -> Error {
    match error.disk_trouble() {
        // Also an owner that is another one now.
        Some(_) => error.into(),
        None => damaged(path, &format!("cannot be read: {error}")),
    }
}

/// Returns the commits after the recorded head.
pub(super) fn unacknowledged(
    repository: &Repository,
    head: Option<CommitId>,
    record: &NamespaceRecord,
) -> Result<Unacknowledged> {
    let mut unacknowledged = Unacknowledged::default();
    let Some(head) = head else { return Ok(unacknowledged) };
    if record.head == Some(head) {
        return Ok(unacknowledged);
    }
    let mut commits = repository.log(head, record.head, usize::MAX)?;
    commits.reverse();
    unacknowledged.too_many = commits.len() > RECORDED_COMMITS_MAX;
    for commit in commits {
        let message: Option<MessageId> = match commit.trailer(MESSAGE_TRAILER) {
            Some(id) => id.parse().ok(),
            None => None,
        };
        if unacknowledged.too_many {
            if let Some(message) = message {
                let changes = changes_of_commit(&commit.message, &[]);
                unacknowledged.messages.insert(message, CommittedWrite { paths: Vec::new(), changes });
            }
            continue;
        }
        let files = repository.path_changes(commit.id)?;
        let write = message.map(|message| (message, changes_of_commit(&commit.message, &files)));
        let paths = files.into_iter().map(|file| file.path).collect();
        unacknowledged.push(RecordedCommit { id: commit.id, at_seconds: commit.at_seconds, paths }, write);
    }
    Ok(unacknowledged)
}

/// Lookup of stored vectors while files are converted to memories.
#[derive(Clone, Copy)]
pub(super) struct Lookup<'a> {
    pub(super) namespace: NamespaceId,
    /// None if the index's model is not available any more.
    pub(super) vectors: Option<&'a Vectors>,
}

impl Lookup<'_> {
    /// A lookup that finds no vector, for callers that need only the texts.
    pub(super) fn without_vectors() -> Self {
        Self { namespace: NamespaceId::default(), vectors: None }
    }

    pub(super) fn vector(&self, text: &str) -> Option<Vec<f32>> {
        self.vectors?.available(self.namespace, text)
    }
}

/// The folder in which an index is built that will replace the served one.
pub(super) fn next_folder(folder: &Path) -> PathBuf {
    with_ending(folder, ".next")
}

/// The folder to which a replaced index is moved before it is removed.
pub(super) fn former_folder(folder: &Path) -> PathBuf {
    with_ending(folder, ".former")
}

/// The folder into which a snapshot of the index is downloaded before it is moved to its place.
pub(super) fn download_folder(folder: &Path) -> PathBuf {
    with_ending(folder, ".download")
}

/// A folder in the same directory, with a suffix to its name.
fn with_ending(folder: &Path, ending: &str) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Opens the index of a namespace, with the vectors of any model, and updates it to the head. Rebuilds a damaged index.
pub(super) fn open_index(
    folder: &Path,
    repository: &Repository,
    head: Option<CommitId>,
    namespace: NamespaceId,
    models: &Models,
) -> Result<Index> {
    finish_replacement(folder)?;
    let current = models.current();
    let current = current.model();
    let table = StaticTable::built_in().map_err(Error::internal)?;
    let settings = match Index::settings_of(folder, table) {
        Some(settings) => settings,
        None => index_settings(current).map_err(Error::internal)?,
    };
    let next = next_folder(folder);
    if settings.model == current.identity() && next.exists() {
        std::fs::remove_dir_all(&next)?;
    }
    let model = settings.model.clone();
    let vectors = models.of(&model);
    let lookup = Lookup { namespace, vectors: vectors.as_deref() };
    let reason = match open_at_head(folder, settings, repository, head, &lookup) {
        Ok(index) if index.head().is_none() || head.is_some() => return Ok(index),
        Ok(_) => "the repository is empty",
        // The index may be intact, and the system refuses to read or extend it for now: another index would be too.
        Err(refused) if refused.is_temporary() => return Err(refused),
        Err(error) => error.code(),
    };
    tracing::warn!(index = %folder.display(), reason, "rebuilding the index from git");
    rebuilt_index(folder, &model, repository, head, namespace, models)
}

/// Finishes the replacement of an index that a crash interrupted.
fn finish_replacement(folder: &Path) -> Result<()> {
    let former = former_folder(folder);
    if former.exists() {
        std::fs::remove_dir_all(&former)?;
    }
    let next = next_folder(folder);
    if next.exists() && !folder.exists() {
        // The former index was moved away, and the next one was not moved into its place.
        std::fs::rename(&next, folder)?;
    }
    Ok(())
}

fn open_at_head(
    folder: &Path,
    settings: IndexSettings,
    repository: &Repository,
    head: Option<CommitId>,
    lookup: &Lookup<'_>,
) -> Result<Index> {
    let mut index = Index::open(folder, settings)?;
    if let Some(head) = head {
        catch_up(&mut index, repository, head, lookup)?;
    }
    Ok(index)
}

/// Rebuilds an index from git at the head, with the vectors of the model that it had, or of the configured one if that is
/// not available.
fn rebuilt_index(
    folder: &Path,
    model: &str,
    repository: &Repository,
    head: Option<CommitId>,
    namespace: NamespaceId,
    models: &Models,
) -> Result<Index> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    let vectors = models.of(model).unwrap_or_else(|| models.current());
    let mut index = Index::open(folder, index_settings(vectors.model()).map_err(Error::internal)?)?;
    if let Some(head) = head {
        catch_up(&mut index, repository, head, &Lookup { namespace, vectors: Some(&vectors) })?;
    }
    Ok(index)
}

/// Applies the changes between the index's head and a commit.
pub(super) fn catch_up(index: &mut Index, repository: &Repository, to: CommitId, lookup: &Lookup<'_>) -> Result<()> {
    if index.head() != Some(head_at(to)) {
        let changes = changes(index.head(), repository, to, lookup)?;
        index.apply(changes, head_at(to))?;
    }
    Ok(())
}

/// Returns the changes between an index's head and a commit.
pub(super) fn changes(
    from: Option<Head>,
    repository: &Repository,
    to: CommitId,
    lookup: &Lookup<'_>,
) -> Result<Vec<Change>> {
    let files = repository.changes(from.map(commit_at), to)?;
    Ok(files.into_par_iter().filter_map(|file| index_change(file, lookup)).collect())
}

fn index_change(file: FileChange, lookup: &Lookup<'_>) -> Option<Change> {
    match read_change(file, lookup) {
        Ok(memory) => Some(Change::Put(Box::new(memory))),
        Err(path) => path.map(Change::Forget),
    }
}

/// Returns the memory in a changed file. Otherwise returns the path of a memory that no longer exists, or `None` if the
/// path is not a memory's.
pub(super) fn read_change(change: FileChange, lookup: &Lookup<'_>) -> Result<Memory, Option<String>> {
    // Files outside the tiers, such as the vocabulary, are not memories.
    let path = MemoryPath::of_stored(&change.path).map_err(|_| None)?;
    if let Some(content) = &change.content
        && let Some(memory) = read(&path, content, lookup)
    {
        return Ok(memory);
    }
    Err(Some(change.path))
}

/// Returns all memories at a commit, without vectors.
pub(super) fn memories_at(repository: &Repository, commit: CommitId) -> Result<Vec<Memory>> {
    let files = repository.changes(None, commit)?;
    Ok(files.into_par_iter().filter_map(|file| read_change(file, &Lookup::without_vectors()).ok()).collect())
}

/// Rebuilds an open index from git. Readers get the rebuilt one from then on.
pub(super) fn rebuild_served(
    index: &mut Index,
    repository: &Repository,
    head: Option<CommitId>,
    namespace: NamespaceId,
    models: &Models,
) -> Result<()> {
    let published = index.published();
    *index = rebuilt_index(index.folder(), index.model(), repository, head, namespace, models)?;
    index.publish_to(published);
    Ok(())
}

/// Parses a memory file. A pushed file that cannot be parsed is logged and left out, so that it does not stop the
/// others.
fn read(path: &MemoryPath, content: &[u8], lookup: &Lookup<'_>) -> Option<Memory> {
    match MemoryFile::parse(content) {
        Ok(file) => Some(files::to_memory(path, file, &|text| lookup.vector(text))),
        Err(_) => {
            // Path and error may quote a client's text, so they are not logged. `git log` of the namespace shows the
            // file.
            tracing::warn!(namespace = %lookup.namespace, "a memory file cannot be read and is not indexed");
            None
        }
    }
}

/// Returns the changes of the vocabulary's lookup between two commits.
pub(super) fn term_changes(
    repository: &Repository,
    from: Option<CommitId>,
    to: Option<CommitId>,
) -> Result<Vec<TermChange>> {
    let Some(to) = to else { return Ok(Vec::new()) };
    let mut changes = Vec::new();
    for file in repository.changes_below(VOCABULARY_FOLDER, from, to)? {
        if file.path.ends_with(".md") {
            changes.push(term_change(file));
        }
    }
    Ok(changes)
}

fn term_change(file: FileChange) -> TermChange {
    let Some(content) = &file.content else { return TermChange::Remove(file.path) };
    match TermFile::parse(content) {
        Ok(term) => TermChange::Put(term_record(file.path, term)),
        Err(_) => {
            tracing::warn!("a term file cannot be read and is left out");
            TermChange::Remove(file.path)
        }
    }
}

/// Returns the vocabulary in the lookup.
pub(super) fn vocabulary(store: &Store, namespace: NamespaceId) -> Result<Vocabulary> {
    Ok(vocabulary_of(store.terms(namespace)?))
}

/// Returns the vocabulary in the lookup when the namespace is opened. If records of terms cannot be decoded, reads the
/// terms from git again.
pub(super) fn open_vocabulary(
    store: &Store,
    repository: &Repository,
    head: Option<CommitId>,
    record: &NamespaceRecord,
) -> Result<Vocabulary> {
    let list = store.term_list(record.id)?;
    if list.unreadable.is_empty() {
        return Ok(vocabulary_of(list.terms));
    }
    let mut changes = Vec::new();
    for path in list.unreadable {
        changes.push(TermChange::Remove(path));
    }
    changes.extend(term_changes(repository, None, head)?);
    match store.acknowledge(&Acknowledgement { terms: &changes, ..Acknowledgement::new(record) }) {
        Ok(()) => tracing::warn!(namespace = %record.id, "terms that could not be decoded were read from git again"),
        // The namespace is served without them.
        Err(error) => tracing::warn!(namespace = %record.id, %error, "terms that cannot be decoded were not replaced"),
    }
    vocabulary(store, record.id)
}

fn vocabulary_of(records: Vec<TermRecord>) -> Vocabulary {
    let mut terms = Vec::with_capacity(records.len());
    for record in records {
        terms.push(Term { term: record.term, aliases: record.aliases, definition: record.definition });
    }
    Vocabulary::new(terms)
}
