//! What git remembers of memories.

use cuebase_storage::git::{CommitId, Repository};
use serde::Serialize;

use crate::service::error::Outcome;
use crate::service::namespaces::Lease;
use crate::time::format_ms;

/// Revisions told with `detail=full`, at most.
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

/// Revisions and last diff of each path, as of a head.
pub(in crate::service) fn histories(lease: &Lease, head: Option<&str>, paths: &[&str]) -> Outcome<Vec<History>> {
    let Some(head) = head.map(str::parse::<CommitId>).transpose()? else {
        return Ok(paths.iter().map(|_| History::default()).collect());
    };
    lease.read_git(|repository| histories_at(repository, head, paths))
}

fn histories_at(repository: &Repository, head: CommitId, paths: &[&str]) -> Outcome<Vec<History>> {
    let found = repository.histories(head, paths, REVISIONS_MAX)?;
    let mut histories = Vec::with_capacity(paths.len());
    for (path, commits) in paths.iter().zip(found) {
        let text = |commit: CommitId| -> Outcome<String> {
            let bytes = repository.read(commit, path)?.unwrap_or_default();
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let newest = commits.first().map(|commit| text(commit.id)).transpose()?.unwrap_or_default();
        let before = commits.get(1).map(|commit| text(commit.id)).transpose()?.unwrap_or_default();
        let diff = similar::TextDiff::from_lines(before.as_str(), newest.as_str());
        let diff = diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string();
        let revisions = commits.into_iter().map(|commit| RevisionView {
            commit: commit.id.to_string(),
            at: format_ms(commit.at_seconds.saturating_mul(1000)),
            message: commit.message.trim_end().to_owned(),
        });
        histories.push(History { revisions: revisions.collect(), last_diff: diff });
    }
    Ok(histories)
}
