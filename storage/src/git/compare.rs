//! Finding the files that differ between two trees.
//!
//! The walk visits pairs of differing directories without recursion. It merges their two sorted lists of entries and
//! skips directories whose ids are equal. The work is bounded, since one object can appear under any number of paths.

use std::cmp::Ordering;

use gix::ObjectId;
use gix::objs::tree::EntryRef;

use super::limits::IntakeLimits;
use super::tree::{RawTree, TreeEntry};
use crate::error::{Error, Result};

/// A file that differs between two trees, without its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: Vec<u8>,
    /// The earlier file, if it exists.
    pub(super) old: Option<ObjectId>,
    /// The later file, if it exists.
    pub(super) new: Option<ObjectId>,
}

/// Limits of a walk. [`IntakeLimits`] describes the fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkLimits {
    names_max: usize,
    depth_max: usize,
    paths_max: u64,
    path_bytes_max: u64,
    tree_bytes_max: u64,
}

impl WalkLimits {
    /// For histories that a repository already has. These limits matter only for histories that were pushed or imported
    /// before [`IntakeLimits`] existed.
    pub(super) const OWN: Self = Self {
        names_max: usize::MAX,
        depth_max: 4096,
        paths_max: 20_000_000,
        path_bytes_max: 4 << 30,
        tree_bytes_max: u64::MAX,
    };

    /// For histories that come from another git.
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

/// Two versions of the directory at one path. At most one of them is missing.
struct DirectoryPair {
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    /// The path with a trailing slash; empty for the root.
    prefix: Vec<u8>,
    depth: usize,
}

/// The object of one version of an entry: a directory, a file, or neither for a submodule or a missing entry.
#[derive(PartialEq, Eq)]
struct EntryObject {
    directory: Option<ObjectId>,
    file: Option<ObjectId>,
}

impl EntryObject {
    fn of(entry: Option<EntryRef<'_>>) -> Self {
        let Some(entry) = entry else { return Self { directory: None, file: None } };
        match TreeEntry::of(entry) {
            Some(TreeEntry::Directory(id)) => Self { directory: Some(id), file: None },
            Some(TreeEntry::File(id)) => Self { directory: None, file: Some(id) },
            None => Self { directory: None, file: None },
        }
    }
}

/// One or more comparisons that share their limits.
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

    /// Returns the files that differ between two trees, sorted by path. `prefix` is put before every path.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the walk exceeds one of its limits.
    pub(super) fn compare(
        &mut self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        prefix: &str,
    ) -> Result<Vec<Difference>> {
        let mut found = Vec::new();
        let mut pending = vec![DirectoryPair { old, new, prefix: prefix.as_bytes().to_vec(), depth: 0 }];
        while let Some(pair) = pending.pop() {
            if pair.old != pair.new {
                self.merge(&pair, &mut pending, &mut found)?;
            }
        }
        found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    /// Compares the entries of both directories in one pass.
    fn merge(
        &mut self,
        pair: &DirectoryPair,
        pending: &mut Vec<DirectoryPair>,
        found: &mut Vec<Difference>,
    ) -> Result<()> {
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
            self.compare_entries(pair, before, after, pending, found)?;
        }
    }

    /// Compares the entries of one name. If both exist, both are directories or neither is.
    fn compare_entries(
        &mut self,
        pair: &DirectoryPair,
        before: Option<EntryRef<'_>>,
        after: Option<EntryRef<'_>>,
        pending: &mut Vec<DirectoryPair>,
        found: &mut Vec<Difference>,
    ) -> Result<()> {
        let Some(named) = before.or(after) else { return Ok(()) };
        let (old, new) = (EntryObject::of(before), EntryObject::of(after));
        if old == new {
            return Ok(());
        }
        let mut path = pair.prefix.clone();
        path.extend_from_slice(named.filename);
        self.count(&path)?;
        if old.directory.is_none() && new.directory.is_none() {
            found.push(Difference { path, old: old.file, new: new.file });
            return Ok(());
        }
        if pair.depth == self.limits.depth_max {
            return Err(limit_exceeded("its directories are nested more than", self.limits.depth_max as u64, "deep"));
        }
        path.push(b'/');
        pending.push(DirectoryPair { old: old.directory, new: new.directory, prefix: path, depth: pair.depth + 1 });
        Ok(())
    }

    /// Counts a differing path against the limits.
    fn count(&mut self, path: &[u8]) -> Result<()> {
        self.paths += 1;
        self.path_bytes += path.len() as u64;
        if self.paths > self.limits.paths_max {
            return Err(limit_exceeded(
                "it changes more than",
                self.limits.paths_max,
                "files and directories, each path counted",
            ));
        }
        if self.path_bytes > self.limits.path_bytes_max {
            return Err(limit_exceeded(
                "the paths that it changes take more than",
                self.limits.path_bytes_max,
                "bytes",
            ));
        }
        Ok(())
    }

    fn read(&mut self, id: Option<ObjectId>) -> Result<RawTree> {
        let Some(id) = id else { return Ok(RawTree::empty()) };
        let tree = RawTree::read(self.repository, id)?;
        self.tree_bytes += tree.bytes().len() as u64;
        if tree.len() > self.limits.names_max {
            return Err(limit_exceeded("one of its directories has more than", self.limits.names_max as u64, "names"));
        }
        if self.tree_bytes > self.limits.tree_bytes_max {
            return Err(limit_exceeded(
                "its directories take more than",
                self.limits.tree_bytes_max,
                "bytes to compare",
            ));
        }
        Ok(tree)
    }
}

/// Returns the error for a history that exceeds a limit.
pub(super) fn limit_exceeded(what: &str, bound: u64, of: &str) -> Error {
    Error::invalid("history", format!("{what} {bound} {of}"))
}
