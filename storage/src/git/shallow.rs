//! Histories that end early on the other side: a clone of the last few commits, and what follows from it.
//!
//! A commit is shallow where its parents are left out on purpose. The depth of a commit is how many commits lie on the
//! shortest way from one that is wanted, itself included. See git's `gitprotocol-pack`, "shallow".

use std::collections::{HashMap, HashSet, VecDeque};

use gix::ObjectId;
use gix::objs::Kind;

use super::missing::{Missing, below, tree_and_parents};
use super::repository::{CommitId, Repository};
use crate::error::Result;

/// What one lacks whose history ends early, or is to.
pub struct Shallow {
    /// The objects to send.
    pub missing: Missing,
    /// Commits whose parents the other side will not have, beside those of which it knows that.
    pub shallow: Vec<CommitId>,
    /// Commits whose parents it gets now.
    pub unshallow: Vec<CommitId>,
}

impl Repository {
    /// The objects that `wanted` reach, up to a depth where one is given, and the other side lacks, which has what `had`
    /// reach up to its `ends`. Each of them must be a commit of this repository.
    pub fn missing_shallow(
        &self,
        wanted: &[CommitId],
        had: &[CommitId],
        ends: &[CommitId],
        depth: Option<u32>,
    ) -> Result<Shallow> {
        let repository = self.open()?;
        let ends: HashSet<ObjectId> = ends.iter().map(|commit| commit.0).collect();
        let theirs = walk(&repository, had, |id, _| ends.contains(&id))?;
        let reached = match depth {
            Some(depth) => walk(&repository, wanted, |_, at| at >= depth)?,
            None => walk(&repository, wanted, |id, _| ends.contains(&id))?,
        };
        let (mut shallow, mut unshallow) = (Vec::new(), Vec::new());
        let (mut objects, mut known, mut trees) = (Vec::new(), HashSet::new(), Vec::new());
        for (id, commit) in &reached {
            if depth.is_some() && commit.is_end && !commit.parents.is_empty() && !ends.contains(id) {
                shallow.push(CommitId(*id));
            }
            if depth.is_some() && !commit.is_end && ends.contains(id) {
                unshallow.push(CommitId(*id));
            }
            if !theirs.contains_key(id) {
                objects.push((*id, Kind::Commit));
                trees.push(commit.tree);
            }
        }
        // What the commits hold that lie next to those which are sent.
        for commit in had.iter().filter_map(|commit| theirs.get(&commit.0)) {
            below(&repository, commit.tree, &mut known, |_, _| {})?;
        }
        for tree in trees {
            below(&repository, tree, &mut known, |id, kind| objects.push((id, kind)))?;
        }
        Ok(Shallow { missing: Missing { repository, objects }, shallow, unshallow })
    }
}

/// A commit on a way.
struct Reached {
    tree: ObjectId,
    parents: Vec<ObjectId>,
    /// Whether the way ends here.
    is_end: bool,
}

/// Every commit from some on back, nearest first, up to those where it is to end: told by its id and depth.
fn walk(
    repository: &gix::Repository,
    from: &[CommitId],
    ends: impl Fn(ObjectId, u32) -> bool,
) -> Result<HashMap<ObjectId, Reached>> {
    let mut reached = HashMap::new();
    let mut next: VecDeque<(ObjectId, u32)> = from.iter().map(|commit| (commit.0, 1)).collect();
    while let Some((id, depth)) = next.pop_front() {
        if reached.contains_key(&id) {
            continue;
        }
        let (tree, parents) = tree_and_parents(repository, id)?;
        let is_end = ends(id, depth);
        if !is_end {
            next.extend(parents.iter().map(|parent| (*parent, depth + 1)));
        }
        reached.insert(id, Reached { tree, parents, is_end });
    }
    Ok(reached)
}
