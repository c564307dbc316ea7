//! Keeping what is derived at git's head: the index, and the vocabulary's lookup.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use cuebase_retrieval::{Change, Index, Memory, Term, Vocabulary};
use cuebase_storage::Store;
use cuebase_storage::git::{Change as GitChange, CommitId, Repository};
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::memory_file::{MemoryFile, MemoryPath, TermFile};
use cuebase_storage::records::{NamespaceRecord, TermChange};
use rayon::prelude::*;
use ulid::Ulid;

use super::MESSAGE_TRAILER;
use crate::ingest::files;
use crate::ingest::vocabulary::term_record;
use crate::model::{Models, StaticTable, Vectors, index_settings};
use crate::service::{Failure, Outcome};

/// The messages of commits after the recorded head: in git, but not acknowledged.
pub(super) fn unacknowledged(
    repository: &Repository,
    head: Option<CommitId>,
    record: &NamespaceRecord,
) -> Outcome<HashSet<Ulid>> {
    let recorded = record.head.as_deref().map(str::parse::<CommitId>).transpose()?;
    let Some(head) = head.filter(|head| Some(*head) != recorded) else { return Ok(HashSet::new()) };
    let commits = repository.log(head, recorded, usize::MAX)?;
    let ids = commits.iter().filter_map(|commit| commit.trailer(MESSAGE_TRAILER)?.parse().ok());
    Ok(ids.collect())
}

/// Where the vectors of cues are looked up while files become memories.
#[derive(Clone, Copy)]
pub(super) struct Lookup<'a> {
    pub(super) account: &'a str,
    /// None where the index's model cannot be had any more.
    pub(super) vectors: Option<&'a Vectors>,
}

impl Lookup<'_> {
    /// For a look at the texts alone.
    pub(super) fn nothing() -> Self {
        Self { account: "", vectors: None }
    }

    pub(super) fn vector(&self, text: &str) -> Option<Vec<f32>> {
        self.vectors?.at_hand(self.account, text)
    }
}

/// Where an index is made that is to take another one's place.
pub(super) fn next_folder(folder: &Path) -> PathBuf {
    folder.with_extension("next")
}

/// Where an index is put whose place another one has taken, until it is removed.
pub(super) fn former_folder(folder: &Path) -> PathBuf {
    folder.with_extension("former")
}

/// Opens an index, whatever model it is of, and brings it to the head; one that is damaged is made anew.
pub(super) fn open_index(
    folder: &Path,
    repository: &Repository,
    head: Option<CommitId>,
    account: &str,
    models: &Models,
) -> Outcome<Index> {
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
    let table = StaticTable::built_in().map_err(Failure::internal)?;
    let settings = match Index::settings_of(folder, table) {
        Some(settings) => settings,
        None => index_settings(current).map_err(Failure::internal)?,
    };
    if settings.model == current.identity() && next.exists() {
        std::fs::remove_dir_all(&next)?;
    }
    let vectors = models.of(&settings.model);
    let lookup = Lookup { account, vectors: vectors.as_deref() };
    let opened = Index::open(folder, settings).map_err(Failure::from).and_then(|mut index| {
        if let Some(head) = head {
            catch_up(&mut index, repository, head, &lookup)?;
        }
        Ok(index)
    });
    match opened {
        Ok(index) if index.head().is_none() || head.is_some() => Ok(index),
        other => {
            let reason = other.err().map_or_else(|| "the repository is empty".to_owned(), |error| error.to_string());
            tracing::warn!(index = %folder.display(), %reason, "making the index anew from git");
            rebuilt_index(folder, repository, head, account, models)
        }
    }
}

/// Makes an index anew from git as of the head, with the vectors of the model that is configured.
fn rebuilt_index(
    folder: &Path,
    repository: &Repository,
    head: Option<CommitId>,
    account: &str,
    models: &Models,
) -> Outcome<Index> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    let vectors = models.current();
    let mut index = Index::open(folder, index_settings(vectors.model()).map_err(Failure::internal)?)?;
    if let Some(head) = head {
        catch_up(&mut index, repository, head, &Lookup { account, vectors: Some(vectors) })?;
    }
    Ok(index)
}

/// Applies what changed between the index's head and a commit.
pub(super) fn catch_up(index: &mut Index, repository: &Repository, to: CommitId, lookup: &Lookup<'_>) -> Outcome<()> {
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
) -> Outcome<Vec<Change>> {
    let changes = repository.changes(from.map(str::parse).transpose()?, to)?;
    let change = |change: GitChange| match read_change(change, lookup) {
        Ok(memory) => Some(Change::Put(Box::new(memory))),
        Err(path) => path.map(Change::Forget),
    };
    Ok(changes.into_par_iter().filter_map(change).collect())
}

/// The memory that a changed file holds; else the path of a memory that is gone, none where the file is no memory's.
pub(super) fn read_change(change: GitChange, lookup: &Lookup<'_>) -> Result<Memory, Option<String>> {
    // Vocabulary and whatever a person keeps beside the tiers is no memory.
    let path: MemoryPath = change.path.parse().map_err(|_| None)?;
    let memory = change.content.and_then(|content| read(&path, &content, lookup));
    memory.ok_or(Some(change.path))
}

/// Every memory at a commit, without vectors.
pub(super) fn memories_at(repository: &Repository, commit: CommitId) -> Outcome<Vec<Memory>> {
    let files = repository.changes(None, commit)?;
    Ok(files.into_par_iter().filter_map(|file| read_change(file, &Lookup::nothing()).ok()).collect())
}

/// Puts an index made anew from git in the place of another, also for those who read from it.
pub(super) fn replace(
    index: &mut Index,
    repository: &Repository,
    head: Option<CommitId>,
    account: &str,
    models: &Models,
) -> Outcome<()> {
    let published = index.published();
    *index = rebuilt_index(index.folder(), repository, head, account, models)?;
    index.publish_to(published);
    Ok(())
}

/// A pushed file that cannot be read is left out with a word in the log; it does not stop the others.
fn read(path: &MemoryPath, content: &[u8], lookup: &Lookup<'_>) -> Option<Memory> {
    match MemoryFile::parse(content) {
        Ok(file) => Some(files::to_memory(path, file, &|text| lookup.vector(text))),
        Err(error) => {
            let error = error.to_string();
            // As a quoted text: it may repeat what stands in the file.
            tracing::warn!(%path, ?error, "a memory file cannot be read and is not indexed");
            None
        }
    }
}

/// What the vocabulary's lookup has to change to get from one head to another.
pub(super) fn term_changes(
    repository: &Repository,
    from: Option<CommitId>,
    to: Option<CommitId>,
) -> Outcome<Vec<TermChange>> {
    let Some(to) = to else { return Ok(Vec::new()) };
    let changes = repository.changes_below(VOCABULARY_FOLDER, from, to)?.into_iter();
    let change = |change: GitChange| {
        let file = change.content.as_deref().map(TermFile::parse);
        match file {
            Some(Ok(file)) => TermChange::Put(term_record(change.path, file)),
            Some(Err(error)) => {
                let error = error.to_string();
                tracing::warn!(path = ?change.path, ?error, "a term file cannot be read and is left out");
                TermChange::Remove(change.path)
            }
            None => TermChange::Remove(change.path),
        }
    };
    Ok(changes.filter(|change| change.path.ends_with(".md")).map(change).collect())
}

/// The vocabulary as the lookup has it.
pub(super) fn vocabulary(store: &Store, account: &str, namespace: &str) -> Outcome<Vocabulary> {
    let terms = store.terms(account, namespace)?.into_iter();
    let term = |record: cuebase_storage::records::TermRecord| Term {
        term: record.term,
        aliases: record.aliases,
        definition: record.definition,
    };
    Ok(Vocabulary::new(terms.map(term).collect()))
}
