//! What git remembers of memories.

use cuebase_storage::git::{CommitId, CommitInfo, HistoryBudget, Repository};
use serde::Serialize;

use crate::service::error::Outcome;
use crate::service::namespace::RecordedRevisions;
use crate::service::namespaces::Lease;
use crate::time::format_ms;

/// Revisions of a memory that `detail=full` returns, at most.
const REVISIONS_MAX: usize = 50;

/// What git remembers of a memory.
#[derive(Default)]
pub struct History {
    pub(super) revisions: Vec<RevisionView>,
    pub(super) last_diff: String,
}

#[derive(Debug, Serialize)]
pub(super) struct RevisionView {
    commit: String,
    at: Option<String>,
    message: String,
}

/// The history of a path as of a commit that a caller names, with that commit the newest that can be in it.
pub(in crate::service) fn history_as_of(lease: &Lease, commit: &str, path: &str) -> Outcome<History> {
    let commit: CommitId = commit.parse()?;
    let RecordedRevisions { mut revisions, older_than } = lease.recorded_revisions(&[path], REVISIONS_MAX)?;
    let recorded = revisions.pop().unwrap_or_default();
    let place = recorded.iter().position(|revision| revision.id == commit);
    lease.read_git(|repository| {
        let mut commits = Vec::new();
        match place {
            Some(place) if older_than.is_none() => {
                for revision in &recorded[place..] {
                    commits.extend(repository.commit_info(revision.id)?);
                }
            }
            // Which of the recorded ones are before it is not known; git knows.
            _ => {
                let found = repository.histories(commit, &[path], REVISIONS_MAX, HistoryBudget::default())?;
                commits = found.revisions.into_iter().next().unwrap_or_default();
            }
        }
        history(repository, commit, path, commits)
    })
}

/// Revisions and last diff of each path, as of now.
pub(in crate::service) fn histories(lease: &Lease, head: Option<&str>, paths: &[&str]) -> Outcome<Vec<History>> {
    let Some(head) = head.map(str::parse::<CommitId>).transpose()? else {
        return Ok(paths.iter().map(|_| History::default()).collect());
    };
    let recorded = lease.recorded_revisions(paths, REVISIONS_MAX)?;
    lease.read_git(|repository| histories_at(repository, head, paths, recorded))
}

/// The histories of paths: what is recorded of them, and where the record begins later than the repository's history, what
/// a bounded walk of the older commits finds.
fn histories_at(
    repository: &Repository,
    head: CommitId,
    paths: &[&str],
    recorded: RecordedRevisions,
) -> Outcome<Vec<History>> {
    let RecordedRevisions { revisions, older_than } = recorded;
    let older = match older_than {
        Some(base) => repository.histories(base, paths, REVISIONS_MAX, HistoryBudget::default())?.revisions,
        None => paths.iter().map(|_| Vec::new()).collect(),
    };
    let mut histories = Vec::with_capacity(paths.len());
    for ((path, recorded), older) in paths.iter().zip(revisions).zip(older) {
        let mut commits = Vec::with_capacity(recorded.len());
        for revision in recorded {
            commits.extend(repository.commit_info(revision.id)?);
        }
        for commit in older {
            if commits.len() < REVISIONS_MAX && !commits.iter().any(|known| known.id == commit.id) {
                commits.push(commit);
            }
        }
        histories.push(history(repository, head, path, commits)?);
    }
    Ok(histories)
}

fn history(repository: &Repository, head: CommitId, path: &str, commits: Vec<CommitInfo>) -> Outcome<History> {
    // Where no commit is known the file is as it was before the history that could be looked through.
    let newest = commits.first().map_or(head, |commit| commit.id);
    let newest = text_at(repository, newest, path)?;
    let before = match commits.get(1) {
        Some(commit) => text_at(repository, commit.id, path)?,
        None => String::new(),
    };
    let diff = similar::TextDiff::from_lines(before.as_str(), newest.as_str());
    let diff = diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string();
    let mut revisions = Vec::with_capacity(commits.len());
    for commit in commits {
        revisions.push(RevisionView {
            commit: commit.id.to_string(),
            at: format_ms(commit.at_seconds.saturating_mul(1000)),
            message: commit.message.trim_end().to_owned(),
        });
    }
    Ok(History { revisions, last_diff: diff })
}

fn text_at(repository: &Repository, commit: CommitId, path: &str) -> Outcome<String> {
    let bytes = repository.read(commit, path)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
