//! Keeping what is derived at git's head: the index, and the vocabulary's lookup.

use std::collections::HashSet;
use std::path::Path;

use cuebase_retrieval::{Change, Error as IndexError, Index, Memory, Term, Vocabulary};
use cuebase_storage::Store;
use cuebase_storage::git::{CommitId, Repository};
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::memory_file::{MemoryFile, MemoryPath, TermFile};
use cuebase_storage::records::{NamespaceRecord, TermChange};
use rayon::prelude::*;
use ulid::Ulid;

use super::MESSAGE_TRAILER;
use crate::ingest::files;
use crate::ingest::vocabulary::term_record;
use crate::model::{Embedder, index_settings};
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

/// Opens an index and brings it to the head; one that is damaged or of another model is made anew.
pub(super) fn open_index(
    folder: &Path,
    repository: &Repository,
    head: Option<CommitId>,
    embedder: &dyn Embedder,
) -> Outcome<Index> {
    let settings = index_settings(embedder).map_err(Failure::internal)?;
    let opened = Index::open(folder, settings).map_err(Failure::from).and_then(|mut index| {
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
            rebuilt_index(folder, repository, head, embedder)
        }
    }
}

/// Makes an index anew from git as of the head.
fn rebuilt_index(
    folder: &Path,
    repository: &Repository,
    head: Option<CommitId>,
    embedder: &dyn Embedder,
) -> Outcome<Index> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(Failure::internal)?;
    }
    let mut index = Index::open(folder, index_settings(embedder).map_err(Failure::internal)?)?;
    if let Some(head) = head {
        catch_up(&mut index, repository, head, embedder)?;
    }
    Ok(index)
}

/// Applies what changed between the index's head and a commit.
pub(super) fn catch_up(
    index: &mut Index,
    repository: &Repository,
    to: CommitId,
    embedder: &dyn Embedder,
) -> Outcome<()> {
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
    apply(index, changes, repository, to, embedder)
}

/// Applies the changes that lead to a commit. An index that turns out damaged is made anew from git instead.
pub(super) fn apply(
    index: &mut Index,
    changes: Vec<Change>,
    repository: &Repository,
    to: CommitId,
    embedder: &dyn Embedder,
) -> Outcome<()> {
    match index.apply(changes, &to.to_string()) {
        Err(IndexError::Damaged(reason)) => {
            tracing::warn!(index = %index.folder().display(), %reason, "making the index anew from git");
            replace(index, repository, Some(to), embedder)
        }
        applied => Ok(applied?),
    }
}

/// Puts an index made anew from git in the place of another, also for those who read from it.
pub(super) fn replace(
    index: &mut Index,
    repository: &Repository,
    head: Option<CommitId>,
    embedder: &dyn Embedder,
) -> Outcome<()> {
    let published = index.published();
    *index = rebuilt_index(index.folder(), repository, head, embedder)?;
    index.publish_to(published);
    Ok(())
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

/// What the vocabulary's lookup has to change to get from one head to another.
pub(super) fn term_changes(
    repository: &Repository,
    from: Option<CommitId>,
    to: Option<CommitId>,
) -> Outcome<Vec<TermChange>> {
    let Some(to) = to else { return Ok(Vec::new()) };
    let changes = repository.changes_below(VOCABULARY_FOLDER, from, to)?.into_iter();
    let change = |change: cuebase_storage::git::Change| {
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
