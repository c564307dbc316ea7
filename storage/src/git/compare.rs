//! Which files differ between two trees.
//!
//! A walk over pairs of directories that differ, without recursion: two trees are compared by going through both sorted
//! lists of entries at once, and directories whose ids are the same are never entered. What it may meet is bounded, since
//! one object can stand under any number of paths.

use std::cmp::Ordering;

use gix::ObjectId;
use gix::objs::tree::EntryRef;

use super::limits::IntakeLimits;
use super::tree::{RawTree, TreeEntry};
use crate::error::{Error, Result};

/// A file that differs. Its contents are not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: Vec<u8>,
    /// The file before; none where there was none.
    pub(super) old: Option<ObjectId>,
    /// The file after; none where there is none.
    pub(super) new: Option<ObjectId>,
}

/// Bounds of a walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkLimits {
    names_max: usize,
    depth_max: usize,
    paths_max: u64,
    path_bytes_max: u64,
    tree_bytes_max: u64,
}

impl WalkLimits {
    /// Of what is in a repository already: only against histories that were taken in before there were bounds.
    pub(super) const OWN: Self = Self {
        names_max: usize::MAX,
        depth_max: 4096,
        paths_max: 20_000_000,
        path_bytes_max: 4 << 30,
        tree_bytes_max: u64::MAX,
    };

    /// Of what another git brings in.
    pub(super) fn of(limits: &IntakeLimits) -> Self {
        Self {
            names_max: limits.names_max,
            depth_max: limits.depth_max,
            paths_max: limits.paths_max,
            path_bytes_max: limits.path_bytes_max,
            tree_bytes_max: limits.tree_bytes_max,
        }
    }
}

/// Two directories at the same path, one of which may not be there.
struct Pair {
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    /// The path with a slash at its end; empty for the root.
    prefix: Vec<u8>,
    depth: usize,
}

/// One or several comparisons under the same bounds.
pub(super) struct Walk<'a> {
    repository: &'a gix::Repository,
    limits: WalkLimits,
    paths: u64,
    path_bytes: u64,
    tree_bytes: u64,
}

impl<'a> Walk<'a> {
    pub(super) fn new(repository: &'a gix::Repository, limits: WalkLimits) -> Self {
        Self { repository, limits, paths: 0, path_bytes: 0, tree_bytes: 0 }
    }

    /// The files that differ between two trees, by path. `prefix` stands before every path.
    ///
    /// Fails with [`Error::Invalid`] where the walk reaches one of its bounds.
    pub(super) fn compare(
        &mut self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        prefix: &str,
    ) -> Result<Vec<Difference>> {
        let mut found = Vec::new();
        let mut next = vec![Pair { old, new, prefix: prefix.as_bytes().to_vec(), depth: 0 }];
        while let Some(pair) = next.pop() {
            if pair.old != pair.new {
                self.merge(&pair, &mut next, &mut found)?;
            }
        }
        found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    /// Goes through the entries of both directories at once.
    fn merge(&mut self, pair: &Pair, next: &mut Vec<Pair>, found: &mut Vec<Difference>) -> Result<()> {
        let (old, new) = (self.read(pair.old)?, self.read(pair.new)?);
        let (mut at_old, mut at_new) = (0, 0);
        loop {
            let (before, after) = (old.entry(at_old), new.entry(at_new));
            let order = match (&before, &after) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(before), Some(after)) => before.cmp(after),
            };
            at_old += usize::from(order.is_le());
            at_new += usize::from(order.is_ge());
            let before = before.filter(|_| order.is_le());
            let after = after.filter(|_| order.is_ge());
            self.differ(pair, before, after, next, found)?;
        }
    }

    /// Notes one name. Where both entries are there they are of one name, and both are directories or neither is.
    fn differ(
        &mut self,
        pair: &Pair,
        before: Option<EntryRef<'_>>,
        after: Option<EntryRef<'_>>,
        next: &mut Vec<Pair>,
        found: &mut Vec<Difference>,
    ) -> Result<()> {
        let Some(named) = before.or(after) else { return Ok(()) };
        let (then, now) = (before.and_then(TreeEntry::of), after.and_then(TreeEntry::of));
        if then == now {
            return Ok(());
        }
        let mut path = pair.prefix.clone();
        path.extend_from_slice(named.filename);
        self.count(&path)?;
        let (old, new) = (then.and_then(TreeEntry::directory), now.and_then(TreeEntry::directory));
        if old.is_none() && new.is_none() {
            let (old, new) = (then.and_then(TreeEntry::file), now.and_then(TreeEntry::file));
            found.push(Difference { path, old, new });
            return Ok(());
        }
        if pair.depth == self.limits.depth_max {
            return Err(over("its directories are nested more than", self.limits.depth_max as u64, "deep"));
        }
        path.push(b'/');
        next.push(Pair { old, new, prefix: path, depth: pair.depth + 1 });
        Ok(())
    }

    fn count(&mut self, path: &[u8]) -> Result<()> {
        self.paths += 1;
        self.path_bytes += path.len() as u64;
        if self.paths > self.limits.paths_max {
            return Err(over(
                "it changes more than",
                self.limits.paths_max,
                "files and directories, each path counted",
            ));
        }
        if self.path_bytes > self.limits.path_bytes_max {
            return Err(over("the paths that it changes take more than", self.limits.path_bytes_max, "bytes"));
        }
        Ok(())
    }

    fn read(&mut self, id: Option<ObjectId>) -> Result<RawTree> {
        let Some(id) = id else { return Ok(RawTree::empty()) };
        let tree = RawTree::read(self.repository, id)?;
        self.tree_bytes += tree.bytes().len() as u64;
        if tree.len() > self.limits.names_max {
            return Err(over("one of its directories has more than", self.limits.names_max as u64, "names"));
        }
        if self.tree_bytes > self.limits.tree_bytes_max {
            return Err(over("its directories take more than", self.limits.tree_bytes_max, "bytes to compare"));
        }
        Ok(tree)
    }
}

/// What is said of a history that reaches a bound.
pub(super) fn over(what: &str, bound: u64, of: &str) -> Error {
    Error::invalid("history", format!("{what} {bound} {of}"))
}
