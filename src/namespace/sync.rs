//! Keeping what is derived at git's head: the index, and the vocabulary's lookup.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use cuebase_retrieval::{Change, Index, Memory, Term, Vocabulary};
use cuebase_storage::Error as StorageError;
use cuebase_storage::Store;
use cuebase_storage::git::FileChange;
use cuebase_storage::git::{CommitId, Repository};
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::memory_file::{MemoryFile, MemoryPath, TermFile};
use cuebase_storage::records::{NamespaceId, NamespaceRecord, RecordedCommit, TermChange};
use rayon::prelude::*;
use ulid::Ulid;

use crate::error::{Error, Result};
use crate::memory::files;
use crate::memory::terms::term_record;
use crate::model::{Models, StaticTable, Vectors, index_settings};

/// The trailer that ties a commit to the queue message it came from.
pub const MESSAGE_TRAILER: &str = "Cuebase-Message";

/// Commits after the recorded head whose paths are recorded one by one. An import of a longer history is not.
const RECORDED_COMMITS_MAX: usize = 10_000;

/// Commits that are in git but not acknowledged.
#[derive(Default)]
pub(super) struct Unacknowledged {
    /// The commits, oldest first; none where there are [too many](Self::too_many).
    pub(super) commits: Vec<RecordedCommit>,
    /// The queue messages that some of them are of, with the paths that they changed.
    pub(super) messages: HashMap<Ulid, Vec<String>>,
    /// The commits that are of a message.
    queued: HashSet<CommitId>,
    /// More commits than are recorded one by one.
    pub(super) too_many: bool,
}

impl Unacknowledged {
    /// Adds the newest commit.
    pub(super) fn push(&mut self, id: CommitId, at_seconds: i64, message: Option<Ulid>, paths: Vec<String>) {
        if let Some(message) = message {
            self.queued.insert(id);
            self.messages.insert(message, paths.clone());
        }
        self.commits.push(RecordedCommit { id, at_seconds, paths });
    }

    /// The commits that came from no message.
    pub(super) fn commits_of_no_message(&self) -> impl Iterator<Item = &RecordedCommit> {
        self.commits.iter().filter(|commit| !self.queued.contains(&commit.id))
    }

    /// Everything is acknowledged.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Opens a namespace's repository, making it where nothing was ever recorded of it.
pub(super) fn open_repository(path: &Path, record: &NamespaceRecord) -> Result<Repository> {
    if record.head.is_none() {
        return Ok(Repository::open_or_create(path)?);
    }
    let opened = Repository::open_existing(path).map_err(|error| damaged_by(error, path))?;
    let repository = opened.ok_or_else(|| damaged(path, "is not there"))?;
    require_recorded(&repository, record)?;
    Ok(repository)
}

/// Fails with [`Error::DamagedNamespace`] where a repository does not hold the recorded head in its history.
pub(super) fn require_recorded(repository: &Repository, record: &NamespaceRecord) -> Result<()> {
    let Some(recorded) = record.head.as_deref().map(str::parse::<CommitId>).transpose()? else { return Ok(()) };
    let path = repository.path();
    let head = repository.head().map_err(|error| damaged_by(error, path))?;
    let head = head.ok_or_else(|| damaged(path, "has no branch main"))?;
    let is_ancestor = repository.is_ancestor(recorded, head).map_err(|error| damaged_by(error, path))?;
    if is_ancestor {
        return Ok(());
    }
    Err(damaged(path, &format!("is at {head}, whose history does not hold the recorded commit {recorded}")))
}

fn damaged(path: &Path, how: &str) -> Error {
    Error::DamagedNamespace(format!("its repository {} {how}", path.display()))
}

/// An error of reading a repository that holds what was recorded: damage, unless the disk refuses.
fn damaged_by(error: StorageError, path: &Path) -> Error {
    match error.disk_trouble() {
        Some(_) => error.into(),
        None => damaged(path, &format!("cannot be read: {error}")),
    }
}

/// The commits after the recorded head.
pub(super) fn unacknowledged(
    repository: &Repository,
    head: Option<CommitId>,
    record: &NamespaceRecord,
) -> Result<Unacknowledged> {
    let recorded = record.head.as_deref().map(str::parse::<CommitId>).transpose()?;
    let mut found = Unacknowledged::default();
    let Some(head) = head.filter(|head| Some(*head) != recorded) else { return Ok(found) };
    let mut commits = repository.log(head, recorded, usize::MAX)?;
    commits.reverse();
    found.too_many = commits.len() > RECORDED_COMMITS_MAX;
    for commit in commits {
        let message = commit.trailer(MESSAGE_TRAILER).and_then(|id| id.parse().ok());
        if found.too_many {
            found.messages.extend(message.map(|id| (id, Vec::new())));
            continue;
        }
        let paths = repository.changed_paths(commit.id)?;
        found.push(commit.id, commit.at_seconds, message, paths);
    }
    Ok(found)
}

/// Where the vectors of cues are looked up while files become memories.
#[derive(Clone, Copy)]
pub(super) struct Lookup<'a> {
    pub(super) namespace: NamespaceId,
    /// None where the index's model cannot be had any more.
    pub(super) vectors: Option<&'a Vectors>,
}

impl Lookup<'_> {
    /// For a look at the texts alone.
    pub(super) fn nothing() -> Self {
        Self { namespace: NamespaceId::new(Ulid::nil()), vectors: None }
    }

    pub(super) fn vector(&self, text: &str) -> Option<Vec<f32>> {
        self.vectors?.at_hand(self.namespace, text)
    }
}

/// Where an index is made that is to take another one's place.
pub(super) fn next_folder(folder: &Path) -> PathBuf {
    with_ending(folder, ".next")
}

/// Where an index is put whose place another one has taken, until it is removed.
pub(super) fn former_folder(folder: &Path) -> PathBuf {
    with_ending(folder, ".former")
}

/// A folder in the same place, whose name has a further ending.
fn with_ending(folder: &Path, ending: &str) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Opens an index, whatever model it is of, and brings it to the head; one that is damaged is made anew.
pub(super) fn open_index(
    folder: &Path,
    repository: &Repository,
    head: Option<CommitId>,
    namespace: NamespaceId,
    models: &Models,
) -> Result<Index> {
    // Left behind by a process that ended before it was removed.
    let former = former_folder(folder);
    if former.exists() {
        std::fs::remove_dir_all(&former)?;
    }
    let next = next_folder(folder);
    if next.exists() && !folder.exists() {
        // The process ended between taking the former one away and putting this one there.
        std::fs::rename(&next, folder)?;
    }
    let current = models.current().model();
    let table = StaticTable::built_in().map_err(Error::internal)?;
    let settings = match Index::settings_of(folder, table) {
        Some(settings) => settings,
        None => index_settings(current).map_err(Error::internal)?,
    };
    if settings.model == current.identity() && next.exists() {
        std::fs::remove_dir_all(&next)?;
    }
    let vectors = models.of(&settings.model);
    let lookup = Lookup { namespace, vectors: vectors.as_deref() };
    let opened = Index::open(folder, settings).map_err(Error::from).and_then(|mut index| {
        if let Some(head) = head {
            catch_up(&mut index, repository, head, &lookup)?;
        }
        Ok(index)
    });
    match opened {
        Ok(index) if index.head().is_none() || head.is_some() => Ok(index),
        other => {
            let reason = other.err().map_or("the repository is empty", |error| error.code());
            tracing::warn!(index = %folder.display(), reason, "making the index anew from git");
            rebuilt_index(folder, repository, head, namespace, models)
        }
    }
}

/// Makes an index anew from git as of the head, with the vectors of the model that is configured.
fn rebuilt_index(
    folder: &Path,
    repository: &Repository,
    head: Option<CommitId>,
    namespace: NamespaceId,
    models: &Models,
) -> Result<Index> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    let vectors = models.current();
    let mut index = Index::open(folder, index_settings(vectors.model()).map_err(Error::internal)?)?;
    if let Some(head) = head {
        catch_up(&mut index, repository, head, &Lookup { namespace, vectors: Some(vectors) })?;
    }
    Ok(index)
}

/// Applies what changed between the index's head and a commit.
pub(super) fn catch_up(index: &mut Index, repository: &Repository, to: CommitId, lookup: &Lookup<'_>) -> Result<()> {
    if index.head() != Some(to.to_string().as_str()) {
        let changes = changes(index.head(), repository, to, lookup)?;
        index.apply(changes, &to.to_string())?;
    }
    Ok(())
}

/// What changed between an index's head and a commit.
pub(super) fn changes(
    from: Option<&str>,
    repository: &Repository,
    to: CommitId,
    lookup: &Lookup<'_>,
) -> Result<Vec<Change>> {
    let changes = repository.changes(from.map(str::parse).transpose()?, to)?;
    let change = |change: FileChange| match read_change(change, lookup) {
        Ok(memory) => Some(Change::Put(Box::new(memory))),
        Err(path) => path.map(Change::Forget),
    };
    Ok(changes.into_par_iter().filter_map(change).collect())
}

/// The memory that a changed file holds; else the path of a memory that is gone, none where the file is no memory's.
pub(super) fn read_change(change: FileChange, lookup: &Lookup<'_>) -> Result<Memory, Option<String>> {
    // Vocabulary and whatever a person keeps beside the tiers is no memory.
    let path: MemoryPath = change.path.parse().map_err(|_| None)?;
    let memory = change.content.and_then(|content| read(&path, &content, lookup));
    memory.ok_or(Some(change.path))
}

/// Every memory at a commit, without vectors.
pub(super) fn memories_at(repository: &Repository, commit: CommitId) -> Result<Vec<Memory>> {
    let files = repository.changes(None, commit)?;
    Ok(files.into_par_iter().filter_map(|file| read_change(file, &Lookup::nothing()).ok()).collect())
}

/// Puts an index made anew from git in the place of another, also for those who read from it.
pub(super) fn replace(
    index: &mut Index,
    repository: &Repository,
    head: Option<CommitId>,
    namespace: NamespaceId,
    models: &Models,
) -> Result<()> {
    let published = index.published();
    *index = rebuilt_index(index.folder(), repository, head, namespace, models)?;
    index.publish_to(published);
    Ok(())
}

/// A pushed file that cannot be read is left out with a word in the log; it does not stop the others.
fn read(path: &MemoryPath, content: &[u8], lookup: &Lookup<'_>) -> Option<Memory> {
    match MemoryFile::parse(content) {
        Ok(file) => Some(files::to_memory(path, file, &|text| lookup.vector(text))),
        Err(_) => {
            // Without path and error: both may repeat what a client wrote. `git log` of the namespace shows the file.
            tracing::warn!(namespace = %lookup.namespace, "a memory file cannot be read and is not indexed");
            None
        }
    }
}

/// What the vocabulary's lookup has to change to get from one head to another.
pub(super) fn term_changes(
    repository: &Repository,
    from: Option<CommitId>,
    to: Option<CommitId>,
) -> Result<Vec<TermChange>> {
    let Some(to) = to else { return Ok(Vec::new()) };
    let changes = repository.changes_below(VOCABULARY_FOLDER, from, to)?.into_iter();
    let change = |change: FileChange| {
        let file = change.content.as_deref().map(TermFile::parse);
        match file {
            Some(Ok(file)) => TermChange::Put(term_record(change.path, file)),
            Some(Err(_)) => {
                tracing::warn!("a term file cannot be read and is left out");
                TermChange::Remove(change.path)
            }
            None => TermChange::Remove(change.path),
        }
    };
    Ok(changes.filter(|change| change.path.ends_with(".md")).map(change).collect())
}

/// The vocabulary as the lookup has it.
pub(super) fn vocabulary(store: &Store, namespace: NamespaceId) -> Result<Vocabulary> {
    let terms = store.terms(namespace)?.into_iter();
    let term = |record: cuebase_storage::records::TermRecord| Term {
        term: record.term,
        aliases: record.aliases,
        definition: record.definition,
    };
    Ok(Vocabulary::new(terms.map(term).collect()))
}
