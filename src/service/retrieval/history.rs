//! The history of a memory in git: its revisions and its last diff.

use cuebase_storage::git::{CommitId, CommitInfo, CommitReader, HistoryBudget, Repository};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::memory::time::format_ms;
use crate::namespace::heads::commit_at;
use crate::namespace::open::RecordedRevisions;
use crate::namespace::registry::Lease;

/// Maximum number of revisions of a memory that `detail=full` returns.
const REVISIONS_MAX: usize = 50;
/// Maximum number of commits between the recorded head and a snapshot's head that are read from git.
const UNRECORDED_MAX: usize = 64;

/// The history of a memory.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct History {
    pub(super) revisions: Vec<RevisionView>,
    pub(super) last_diff: String,
}

/// A commit that changed a memory, in an API response.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Revision")]
pub struct RevisionView {
    /// Id of the commit.
    pub commit: String,
    /// Time of the commit, RFC 3339 in UTC.
    #[schemars(extend("format" = "date-time"))]
    pub at: Option<String>,
    /// Message of the commit.
    pub message: String,
}

/// Returns the history of a path up to a commit.
pub(in crate::service) fn history_at(lease: &Lease, commit: CommitId, path: &str) -> Result<History> {
    let RecordedRevisions { mut revisions, older_than, .. } = lease.recorded_revisions(&[path], REVISIONS_MAX)?;
    let recorded = revisions.pop().unwrap_or_default();
    let position = recorded.iter().position(|revision| revision.id == commit);
    lease.read_git(|repository| {
        let reader = repository.commit_reader()?;
        let mut commits = Vec::new();
        match position {
            Some(position) if older_than.is_none() => {
                for revision in &recorded[position..] {
                    commits.extend(reader.commit_info(revision.id)?);
                }
            }
            // The records do not show which revisions are before the commit, so git is read.
            _ => {
                let found = repository.histories(commit, &[path], REVISIONS_MAX, HistoryBudget::default())?;
                commits = found.revisions.into_iter().next().unwrap_or_default();
            }
        }
        history(&reader, commit, path, commits)
    })
}

/// Returns the history of each path up to the head of a snapshot. If an erasure has removed that history meanwhile, up to
/// the newest head.
pub(in crate::service) fn histories(lease: &Lease, head: Option<CommitId>, paths: &[&str]) -> Result<Vec<History>> {
    let Some(mut head) = head else { return Ok(paths.iter().map(|_| History::default()).collect()) };
    loop {
        let recorded = lease.recorded_revisions(paths, REVISIONS_MAX)?;
        let read = lease.read_git(|repository| histories_at(repository, head, paths, recorded));
        match lease.snapshot().head().map(commit_at) {
            Some(newest) if read.is_err() && newest != head => head = newest,
            _ => return read,
        }
    }
}

/// Returns the history of each path. Commits come from the records. If the records begin later than the history in git,
/// a bounded walk reads the older commits.
fn histories_at(
    repository: &Repository,
    head: CommitId,
    paths: &[&str],
    recorded: RecordedRevisions,
) -> Result<Vec<History>> {
    let RecordedRevisions { revisions, older_than, recorded_head } = recorded;
    let unrecorded = unrecorded_commits(repository, head, recorded_head)?;
    let older = match older_than {
        Some(base) => repository.histories(base, paths, REVISIONS_MAX, HistoryBudget::default())?.revisions,
        None => paths.iter().map(|_| Vec::new()).collect(),
    };
    let reader = repository.commit_reader()?;
    let mut histories = Vec::with_capacity(paths.len());
    for ((path, recorded), older) in paths.iter().zip(revisions).zip(older) {
        let mut commits: Vec<CommitInfo> = Vec::with_capacity(recorded.len());
        for commit in &unrecorded {
            if commit.changed_paths.iter().any(|changed| changed == path) {
                commits.push(commit.info.clone());
            }
        }
        for revision in recorded {
            if !commits.iter().any(|known| known.id == revision.id) {
                commits.extend(reader.commit_info(revision.id)?);
            }
        }
        for commit in older {
            if commits.len() < REVISIONS_MAX && !commits.iter().any(|known| known.id == commit.id) {
                commits.push(commit);
            }
        }
        histories.push(history(&reader, head, path, commits)?);
    }
    Ok(histories)
}

/// A commit whose changed paths are not recorded yet.
struct UnrecordedCommit {
    info: CommitInfo,
    changed_paths: Vec<String>,
}

/// Returns the commits after the recorded head up to a snapshot's head, newest first. Returns none if the recorded head
/// is newer than the snapshot.
fn unrecorded_commits(
    repository: &Repository,
    head: CommitId,
    recorded_head: Option<CommitId>,
) -> Result<Vec<UnrecordedCommit>> {
    if recorded_head == Some(head) {
        return Ok(Vec::new());
    }
    let infos = repository.log(head, recorded_head, UNRECORDED_MAX)?;
    if infos.len() == UNRECORDED_MAX {
        return Ok(Vec::new());
    }
    if let Some(recorded) = recorded_head
        && !repository.is_ancestor(recorded, head)?
    {
        return Ok(Vec::new());
    }
    let mut commits = Vec::with_capacity(infos.len());
    for info in infos {
        let changed_paths = repository.changed_paths(info.id)?;
        commits.push(UnrecordedCommit { info, changed_paths });
    }
    Ok(commits)
}

/// Makes the history of a path from its commits, newest first.
fn history(reader: &CommitReader<'_>, head: CommitId, path: &str, commits: Vec<CommitInfo>) -> Result<History> {
    // A file without a known commit is older than the commits that were read.
    let newest_commit = match commits.first() {
        Some(commit) => commit.id,
        None => head,
    };
    let newest = text_at(reader, newest_commit, path)?;
    let before = match commits.get(1) {
        Some(commit) => text_at(reader, commit.id, path)?,
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

/// Returns the content of a file in a commit; empty if there is none.
fn text_at(reader: &CommitReader<'_>, commit: CommitId, path: &str) -> Result<String> {
    let bytes = reader.read(commit, path)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use cuebase_storage::git::{CommitMessage, Edit, Writer};
    use cuebase_storage::records::Revision;

    use super::*;

    const PATH: &str = "facts/iris.md";

    fn commit(writer: &mut Writer, content: &str, at_seconds: i64) -> CommitId {
        let edit = Edit { path: PATH.to_owned(), content: Some(content.into()) };
        let message =
            CommitMessage { subject: "Write".to_owned(), body: String::new(), trailers: Vec::new(), at_seconds };
        writer.commit(&[edit], &message).expect("commits")
    }

    #[test]
    fn a_published_unrecorded_commit_is_in_the_history() {
        let folder = tempfile::tempdir().expect("a folder");
        let repository = Repository::open_or_create(&folder.path().join("n.git")).expect("creates");
        let mut writer = repository.writer().expect("writes");
        let first = commit(&mut writer, "Bergen\n", 1_700_000_000);
        let second = commit(&mut writer, "Malmo\n", 1_700_000_100);
        let recorded = Revision { id: first, at_seconds: 1_700_000_000 };
        for (head, recorded_head, revisions) in [
            (first, None, vec![]),
            (second, Some(first), vec![recorded]),
            (second, Some(second), vec![Revision { id: second, at_seconds: 1_700_000_100 }, recorded]),
        ] {
            let recorded = RecordedRevisions { revisions: vec![revisions], older_than: None, recorded_head };
            let histories = histories_at(&repository, head, &[PATH], recorded).expect("reads");
            let [History { revisions, last_diff }] = histories.as_slice() else { panic!("one path has one history") };
            let expected = if head == first { 1 } else { 2 };
            assert_eq!(revisions.len(), expected, "{recorded_head:?}");
            assert_eq!(last_diff.contains("-Bergen"), head == second, "{last_diff}");
        }
    }
}
