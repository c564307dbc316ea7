//! Objects for a repository with a shallow history, such as a clone of the last few commits.
//!
//! The history of a shallow commit ends there: its parents are left out on purpose. The depth of a commit is the number
//! of commits on the shortest path to it from a wanted commit, both included. See git's `gitprotocol-pack`, "shallow".

use std::collections::{HashMap, HashSet, VecDeque};

use gix::ObjectId;
use gix::objs::Kind;

use super::commit::{CommitId, CommitLinks};
use super::missing::{MissingObjects, collect_tree, exclude_tree};
use super::repository::Repository;
use crate::error::Result;

/// The reply to a fetch by, or into, a shallow repository.
pub struct ShallowFetch {
    /// The objects to send.
    pub missing: MissingObjects,
    /// Commits that become shallow on the other side.
    pub shallow: Vec<CommitId>,
    /// Commits that are shallow on the other side and now receive their parents.
    pub unshallow: Vec<CommitId>,
}

impl Repository {
    /// Returns the objects that the other side lacks of those that can be reached from `wanted`, up to `depth` if
    /// given. The other side has what can be reached from `had` up to its shallow commits, `ends`. All of these must be
    /// commits of this repository.
    pub fn missing_shallow(
        &self,
        wanted: &[CommitId],
        had: &[CommitId],
        ends: &[CommitId],
        depth: Option<u32>,
    ) -> Result<ShallowFetch> {
        let repository = self.open()?;
        let ends: HashSet<ObjectId> = ends.iter().map(|commit| commit.0).collect();
        let theirs = walk(&repository, had, HistoryEnd::At(&ends))?;
        let reached = match depth {
            Some(depth) => walk(&repository, wanted, HistoryEnd::Depth(depth))?,
            None => walk(&repository, wanted, HistoryEnd::At(&ends))?,
        };
        let (mut shallow, mut unshallow) = (Vec::new(), Vec::new());
        let (mut objects, mut known, mut trees) = (Vec::new(), HashSet::new(), Vec::new());
        for (id, commit) in &reached {
            if depth.is_some() && commit.is_end && !commit.links.parents.is_empty() && !ends.contains(id) {
                shallow.push(CommitId(*id));
            }
            if depth.is_some() && !commit.is_end && ends.contains(id) {
                unshallow.push(CommitId(*id));
            }
            if !theirs.contains_key(id) {
                objects.push((*id, Kind::Commit));
                trees.push(commit.links.tree);
            }
        }
        // The other side has everything below the trees of the commits that it named.
        for commit in had {
            if let Some(commit) = theirs.get(&commit.0) {
                exclude_tree(&repository, commit.links.tree, &mut known)?;
            }
        }
        for tree in trees {
            collect_tree(&repository, tree, &mut known, &mut objects)?;
        }
        Ok(ShallowFetch { missing: MissingObjects { repository, objects }, shallow, unshallow })
    }
}

/// Where a walk along a history ends.
#[derive(Clone, Copy)]
enum HistoryEnd<'a> {
    /// At these commits.
    At(&'a HashSet<ObjectId>),
    /// At commits of this depth.
    Depth(u32),
}

/// A commit that a walk visited.
struct ReachedCommit {
    links: CommitLinks,
    /// Whether the walk ends here.
    is_end: bool,
}

/// Visits all commits from `from` back to the end of the walk, nearest first.
fn walk(
    repository: &gix::Repository,
    from: &[CommitId],
    end: HistoryEnd<'_>,
) -> Result<HashMap<ObjectId, ReachedCommit>> {
    let mut reached = HashMap::new();
    let mut pending: VecDeque<(ObjectId, u32)> = from.iter().map(|commit| (commit.0, 1)).collect();
    while let Some((id, depth)) = pending.pop_front() {
        if reached.contains_key(&id) {
            continue;
        }
        let links = CommitLinks::read(repository, id)?;
        let is_end = match end {
            HistoryEnd::At(commits) => commits.contains(&id),
            HistoryEnd::Depth(depth_max) => depth >= depth_max,
        };
        if !is_end {
            pending.extend(links.parents.iter().map(|parent| (*parent, depth + 1)));
        }
        reached.insert(id, ReachedCommit { links, is_end });
    }
    Ok(reached)
}
