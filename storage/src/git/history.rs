//! Histories along first parents: of the branch, and of single files.

use gix::ObjectId;

use super::commit::{CommitId, CommitInfo, CommitLinks, DescribedCommit};
use super::compare::{Walk, WalkLimits};
use super::repository::Repository;
use super::tree::{TreeCache, TreeEntry};
use crate::error::Result;

/// Limits of a walk for the histories of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryBudget {
    /// Commits that the walk visits.
    pub commits_max: usize,
    /// Bytes of directories that the walk reads.
    pub tree_bytes_max: u64,
}

impl Default for HistoryBudget {
    /// A few hundred milliseconds: 10,000 commits, 64 MiB of directories.
    fn default() -> Self {
        Self { commits_max: 10_000, tree_bytes_max: 64 << 20 }
    }
}

/// The histories of several files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histories {
    /// For each file, the commits that changed it, newest first.
    pub revisions: Vec<Vec<CommitInfo>>,
    /// False if the budget ended the walk: earlier commits may have changed the files too.
    pub complete: bool,
}

/// How a commit changed a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChangeKind {
    /// The parent has no file at the path.
    Added,
    /// The parent has a different file at the path.
    Modified,
    /// Only the parent has a file at the path.
    Removed,
}

/// A file that a commit changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// Path from the root.
    pub path: String,
    /// How the file was changed.
    pub kind: PathChangeKind,
}

/// The objects along a path at one commit.
#[derive(Default)]
struct PathObjects {
    /// The trees on the path from the root on, as far as they exist.
    trees: Vec<ObjectId>,
    file: Option<ObjectId>,
}

/// A file whose history is not complete yet.
struct FollowedFile<'a> {
    /// Position of the file among the requested ones.
    number: usize,
    segments: Vec<&'a [u8]>,
    /// Objects along the file's path at the current commit.
    objects: PathObjects,
}

impl Repository {
    /// Returns the first-parent history from `from` back to (not including) `until`, newest first, at most `limit`
    /// commits.
    pub fn log(&self, from: CommitId, until: Option<CommitId>, limit: usize) -> Result<Vec<CommitInfo>> {
        self.read_with_index_repair(|repository| {
            let mut commits = Vec::new();
            let mut next = Some(from.0);
            while let Some(id) = next
                && Some(CommitId(id)) != until
                && commits.len() < limit
            {
                let commit = DescribedCommit::read(repository, id)?;
                commits.push(commit.info);
                next = commit.first_parent;
            }
            Ok(commits)
        })
    }

    /// Returns the description of a commit, or `None` if it does not exist.
    pub fn commit_info(&self, id: CommitId) -> Result<Option<CommitInfo>> {
        if !self.has_commit(id)? {
            return Ok(None);
        }
        self.read_with_index_repair(|repository| Ok(Some(DescribedCommit::read(repository, id.0)?.info)))
    }

    /// Returns the sorted paths of the files that differ between a commit and its first parent. For a first commit
    /// these are all of its files. No file is read. Paths that are not UTF-8 are left out.
    pub fn changed_paths(&self, commit: CommitId) -> Result<Vec<String>> {
        Ok(self.path_changes(commit)?.into_iter().map(|change| change.path).collect())
    }

    /// Returns the files that differ between a commit and its first parent like [`Repository::changed_paths`], and how
    /// each differs.
    pub fn path_changes(&self, commit: CommitId) -> Result<Vec<PathChange>> {
        let differences = self.read_with_index_repair(|repository| {
            let links = CommitLinks::read(repository, commit.0)?;
            let before = links.first_parent_tree(repository)?;
            Walk::new(repository, WalkLimits::OWN).compare(before, Some(links.tree), "")
        })?;
        let mut changes = Vec::with_capacity(differences.len());
        for difference in differences {
            let Ok(path) = String::from_utf8(difference.path) else { continue };
            let kind = match (difference.old, difference.new) {
                (None, _) => PathChangeKind::Added,
                (Some(_), Some(_)) => PathChangeKind::Modified,
                (Some(_), None) => PathChangeKind::Removed,
            };
            changes.push(PathChange { path, kind });
        }
        Ok(changes)
    }

    /// Returns the commits that changed each of the given files, newest first, at most `limit` for each file.
    ///
    /// One walk serves all files. It ends when every file has reached `limit` or its first revision, or when the budget
    /// is used up.
    pub fn histories(&self, head: CommitId, paths: &[&str], limit: usize, budget: HistoryBudget) -> Result<Histories> {
        self.read_with_index_repair(|repository| histories(repository, head, paths, limit, budget))
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
    let mut commit = DescribedCommit::read(repository, head.0)?;
    let mut followed = Vec::with_capacity(paths.len());
    for (number, path) in paths.iter().enumerate() {
        let segments: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
        let objects = locate(&mut trees, commit.tree, &segments, &PathObjects::default())?;
        followed.push(FollowedFile { number, segments, objects });
    }
    let mut walked = 1;
    loop {
        let parent = match commit.first_parent {
            Some(id) => Some(DescribedCommit::read(repository, id)?),
            None => None,
        };
        let mut unfinished = Vec::with_capacity(followed.len());
        for mut file in followed {
            let before = match &parent {
                Some(parent) => locate(&mut trees, parent.tree, &file.segments, &file.objects)?,
                None => PathObjects::default(),
            };
            if file.objects.file != before.file {
                revisions[file.number].push(commit.info.clone());
            }
            // The history of a file begins where the parent does not have it.
            let began = file.objects.file.is_some() && before.file.is_none();
            if !began && revisions[file.number].len() < limit {
                file.objects = before;
                unfinished.push(file);
            }
        }
        followed = unfinished;
        let Some(parent) = parent else { return Ok(Histories { revisions, complete: true }) };
        if followed.is_empty() {
            return Ok(Histories { revisions, complete: true });
        }
        if walked >= budget.commits_max || trees.read_bytes >= budget.tree_bytes_max {
            return Ok(Histories { revisions, complete: false });
        }
        commit = parent;
        walked += 1;
    }
}

/// Finds the objects along a path from a root. A tree that `known` has at the same level leads to the same objects as
/// before, so nothing below it is read.
fn locate(trees: &mut TreeCache<'_>, root: ObjectId, segments: &[&[u8]], known: &PathObjects) -> Result<PathObjects> {
    let mut objects = PathObjects::default();
    let mut tree = root;
    for (level, segment) in segments.iter().enumerate() {
        if known.trees.get(level) == Some(&tree) {
            objects.trees.extend_from_slice(&known.trees[level..]);
            objects.file = known.file;
            return Ok(objects);
        }
        objects.trees.push(tree);
        let is_last = level + 1 == segments.len();
        match trees.get(tree)?.find(segment) {
            Some(TreeEntry::Directory(id)) if !is_last => tree = id,
            Some(TreeEntry::File(id)) if is_last => objects.file = Some(id),
            _ => return Ok(objects),
        }
    }
    Ok(objects)
}
