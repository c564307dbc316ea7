//! Histories along first parents: of the branch, and of single files.

use gix::ObjectId;

use super::compare::{Walk, WalkLimits};
use super::missing::tree_and_parents;
use super::repository::{CommitId, CommitInfo, Repository, commit};
use super::tree::{TreeCache, TreeEntry};
use crate::error::Result;

/// Where a walk for the histories of files ends at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryBudget {
    /// Commits that are looked at.
    pub commits_max: usize,
    /// Bytes of directories that are read.
    pub tree_bytes_max: u64,
}

impl Default for HistoryBudget {
    /// Some hundred milliseconds: 10,000 commits, 64 MiB of directories.
    fn default() -> Self {
        Self { commits_max: 10_000, tree_bytes_max: 64 << 20 }
    }
}

/// The histories of some files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histories {
    /// Of each file, the commits that changed it, newest first.
    pub revisions: Vec<Vec<CommitInfo>>,
    /// False when the budget ended the walk: there may be earlier commits.
    pub complete: bool,
}

/// Where a path leads at one commit.
#[derive(Default)]
struct Trail {
    /// The trees on the way, from the root on, as far as they are there.
    trees: Vec<ObjectId>,
    file: Option<ObjectId>,
}

/// A file whose history is not at its end yet.
struct Followed<'a> {
    /// Which of the files it is.
    number: usize,
    segments: Vec<&'a [u8]>,
    /// At the commit that is looked at.
    trail: Trail,
}

impl Repository {
    /// First-parent history from `from` back to (not including) `until`, newest first, at most `limit` commits.
    pub fn log(&self, from: CommitId, until: Option<CommitId>, limit: usize) -> Result<Vec<CommitInfo>> {
        self.read_objects(|repository| {
            let mut commits = Vec::new();
            let mut next = Some(from.0);
            while let Some(id) = next.filter(|id| Some(CommitId(*id)) != until && commits.len() < limit) {
                let (info, parent, _) = commit(repository, id)?;
                commits.push(info);
                next = parent;
            }
            Ok(commits)
        })
    }

    /// A commit's description; none where there is no such commit.
    pub fn commit_info(&self, id: CommitId) -> Result<Option<CommitInfo>> {
        if !self.has_commit(id)? {
            return Ok(None);
        }
        self.read_objects(|repository| Ok(Some(commit(repository, id.0)?.0)))
    }

    /// The paths of the files that differ between a commit and its first parent, sorted; of a first commit, all of its
    /// files. No file is read. Names that are not UTF-8 are left out.
    pub fn changed_paths(&self, commit: CommitId) -> Result<Vec<String>> {
        let differing = self.read_objects(|repository| {
            let (tree, parents) = tree_and_parents(repository, commit.0)?;
            let before = match parents.first() {
                Some(parent) => Some(tree_and_parents(repository, *parent)?.0),
                None => None,
            };
            Walk::new(repository, WalkLimits::OWN).compare(before, Some(tree), "")
        })?;
        let mut paths = Vec::with_capacity(differing.len());
        for difference in differing {
            paths.extend(String::from_utf8(difference.path).ok());
        }
        Ok(paths)
    }

    /// The commits that changed each of the given files, newest first, at most `limit` a file.
    ///
    /// One walk serves all files. It ends when every file has its limit or its first revision, or when the budget is
    /// used up.
    pub fn histories(&self, head: CommitId, paths: &[&str], limit: usize, budget: HistoryBudget) -> Result<Histories> {
        self.read_objects(|repository| histories(repository, head, paths, limit, budget))
    }
}

fn histories(
    repository: &gix::Repository,
    head: CommitId,
    paths: &[&str],
    limit: usize,
    budget: HistoryBudget,
) -> Result<Histories> {
    let mut trees = TreeCache::new(repository);
    let mut revisions = vec![Vec::new(); paths.len()];
    let (mut info, mut parent, root) = commit(repository, head.0)?;
    let mut followed = Vec::with_capacity(paths.len());
    for (number, path) in paths.iter().enumerate() {
        let segments: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
        let trail = locate(&mut trees, root, &segments, &Trail::default())?;
        followed.push(Followed { number, segments, trail });
    }
    let mut walked = 1;
    loop {
        let before = match parent {
            Some(id) => Some(commit(repository, id)?),
            None => None,
        };
        let mut open = Vec::with_capacity(followed.len());
        for mut file in followed {
            let then = match &before {
                Some((_, _, root)) => locate(&mut trees, *root, &file.segments, &file.trail)?,
                None => Trail::default(),
            };
            if file.trail.file != then.file {
                revisions[file.number].push(info.clone());
            }
            // A file that was not there before began here.
            let began = file.trail.file.is_some() && then.file.is_none();
            if !began && revisions[file.number].len() < limit {
                file.trail = then;
                open.push(file);
            }
        }
        followed = open;
        let Some((earlier, its_parent, _)) = before.filter(|_| !followed.is_empty()) else {
            return Ok(Histories { revisions, complete: true });
        };
        if walked >= budget.commits_max || trees.read_bytes >= budget.tree_bytes_max {
            return Ok(Histories { revisions, complete: false });
        }
        (info, parent) = (earlier, its_parent);
        walked += 1;
    }
}

/// Where a path leads from a root. Where a tree on the way is the one that `known` has at the same place, so is all that
/// is below it, and nothing is read.
fn locate(trees: &mut TreeCache<'_>, root: ObjectId, segments: &[&[u8]], known: &Trail) -> Result<Trail> {
    let mut trail = Trail::default();
    let mut at = root;
    for (level, segment) in segments.iter().enumerate() {
        if known.trees.get(level) == Some(&at) {
            trail.trees.extend_from_slice(&known.trees[level..]);
            trail.file = known.file;
            return Ok(trail);
        }
        trail.trees.push(at);
        let is_last = level + 1 == segments.len();
        match trees.get(at)?.find(segment) {
            Some(TreeEntry::Directory(id)) if !is_last => at = id,
            Some(TreeEntry::File(id)) if is_last => trail.file = Some(id),
            _ => return Ok(trail),
        }
    }
    Ok(trail)
}
