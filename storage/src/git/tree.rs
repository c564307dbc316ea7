//! Tree objects, read in place: looking up an entry or comparing two trees copies no entry.
//!
//! ```text
//! entry  mode in octal digits | ' ' | name | NUL | 20 bytes of id
//! ```
//!
//! Entries are sorted by name, a directory's name as if it ended in a slash.

use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use gix::ObjectId;
use gix::objs::tree::{EntryKind, EntryRef, name_order};
use gix::objs::{Kind, TreeRefIter};

use crate::error::{Error, Result};

/// Size of the trees in a [`TreeCache`]: enough for two versions of the directories on the paths to some files, each of
/// thousands of names.
const CACHE_BYTES_MAX: usize = 64 << 20;

/// The object that an entry of a tree refers to. Submodules are ignored everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreeEntry {
    Directory(ObjectId),
    File(ObjectId),
}

impl TreeEntry {
    /// Returns the object of an entry, or `None` for a submodule.
    pub(super) fn of(entry: EntryRef<'_>) -> Option<Self> {
        let id = entry.oid.to_owned();
        match entry.mode.kind() {
            EntryKind::Tree => Some(Self::Directory(id)),
            EntryKind::Commit => None,
            EntryKind::Blob | EntryKind::BlobExecutable | EntryKind::Link => Some(Self::File(id)),
        }
    }
}

/// A tree object.
pub(super) struct RawTree {
    bytes: Vec<u8>,
    /// Offset of each entry in `bytes`.
    starts: Vec<u32>,
}

impl RawTree {
    /// Reads a tree.
    pub(super) fn read(repository: &gix::Repository, id: ObjectId) -> Result<Self> {
        Self::parse(id, read_content(repository, id, Kind::Tree)?)
    }

    /// Parses the content of a tree. `id` is used in errors.
    pub(super) fn parse(id: ObjectId, bytes: Vec<u8>) -> Result<Self> {
        let mut starts = Vec::new();
        let mut entries = TreeRefIter::from_bytes(&bytes, gix::hash::Kind::Sha1);
        loop {
            let start = entries.offset_to_next_entry(&bytes);
            match entries.next() {
                None => break,
                Some(Ok(_)) => starts.push(u32::try_from(start).map_err(|_| malformed(id))?),
                Some(Err(_)) => return Err(malformed(id)),
            }
        }
        Ok(Self { bytes, starts })
    }

    pub(super) fn empty() -> Self {
        Self { bytes: Vec::new(), starts: Vec::new() }
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns the content of the object.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the memory that the tree takes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.len() + self.starts.len() * size_of::<u32>()
    }

    /// Returns an entry, or `None` if `index` is past the end.
    pub(super) fn entry(&self, index: usize) -> Option<EntryRef<'_>> {
        self.entry_at(*self.starts.get(index)?)
    }

    /// Returns the position of an entry in the content. Past the end, the range is empty.
    pub(super) fn range(&self, index: usize) -> std::ops::Range<usize> {
        self.offset(index)..self.offset(index + 1)
    }

    fn offset(&self, index: usize) -> usize {
        match self.starts.get(index) {
            Some(start) => *start as usize,
            None => self.bytes.len(),
        }
    }

    pub(super) fn has_directory(&self) -> bool {
        (0..self.len()).any(|index| self.entry(index).is_some_and(|entry| entry.mode.is_tree()))
    }

    /// Whether an entry of this tree is the same as one of another tree: its name, its mode and its object.
    pub(super) fn has_entry_of(&self, index: usize, other: &RawTree, other_index: usize) -> bool {
        let (own, others) = (self.range(index), other.range(other_index));
        !own.is_empty() && self.bytes.get(own) == other.bytes.get(others)
    }

    /// Returns the first index from `index` on whose entry does not sort before an entry of another tree.
    pub(super) fn first_not_below(&self, index: usize, other: &RawTree, other_index: usize) -> usize {
        let mut at = index;
        let Some(bound) = other.entry(other_index) else { return at };
        while let Some(entry) = self.entry(at)
            && entry < bound
        {
            at += 1;
        }
        at
    }

    fn entry_at(&self, start: u32) -> Option<EntryRef<'_>> {
        let rest = self.bytes.get(start as usize..)?;
        TreeRefIter::from_bytes(rest, gix::hash::Kind::Sha1).next()?.ok()
    }

    /// Returns the object of a name.
    pub(super) fn find(&self, name: &[u8]) -> Option<TreeEntry> {
        let entry = self.search(name, false).or_else(|| self.search(name, true))?;
        TreeEntry::of(entry)
    }

    fn search(&self, name: &[u8], is_directory: bool) -> Option<EntryRef<'_>> {
        let found = self.starts.binary_search_by(|start| match self.entry_at(*start) {
            Some(entry) => name_order(entry.filename, entry.mode.is_tree(), name, is_directory),
            None => Ordering::Less,
        });
        self.entry(found.ok()?)
    }
}

fn malformed(id: ObjectId) -> Error {
    Error::corrupt(format!("object {id}"), "is not a directory as git writes it")
}

/// Reads the content of an object.
///
/// # Errors
///
/// [`Error::Corrupt`] if the repository does not have the object or has it with another kind.
pub(super) fn read_content(repository: &gix::Repository, id: ObjectId, kind: Kind) -> Result<Vec<u8>> {
    let found = repository.try_find_object(id).map_err(Error::git("read an object"))?;
    let Some(object) = found else {
        return Err(Error::corrupt(format!("object {id}"), "is not in the repository"));
    };
    if object.kind != kind {
        return Err(Error::corrupt(format!("object {id}"), format!("is a {}, not a {kind}", object.kind)));
    }
    Ok(object.detach().data)
}

/// Reads a tree into a map from names to objects.
pub(super) fn read_tree(repository: &gix::Repository, id: ObjectId) -> Result<BTreeMap<Vec<u8>, TreeEntry>> {
    let tree = RawTree::read(repository, id)?;
    let mut entries = BTreeMap::new();
    for index in 0..tree.len() {
        if let Some(entry) = tree.entry(index)
            && let Some(found) = TreeEntry::of(entry)
        {
            entries.insert(entry.filename.to_vec(), found);
        }
    }
    Ok(entries)
}

/// A cache of trees. Walks along a history read the same trees many times.
pub(super) struct TreeCache<'a> {
    repository: &'a gix::Repository,
    trees: HashMap<ObjectId, RawTree>,
    held_bytes: usize,
    /// Total bytes of the trees that were read from the repository.
    pub(super) read_bytes: u64,
}

impl<'a> TreeCache<'a> {
    pub(super) fn new(repository: &'a gix::Repository) -> Self {
        Self { repository, trees: HashMap::new(), held_bytes: 0, read_bytes: 0 }
    }

    pub(super) fn get(&mut self, id: ObjectId) -> Result<&RawTree> {
        if self.held_bytes > CACHE_BYTES_MAX {
            self.trees.clear();
            self.held_bytes = 0;
        }
        match self.trees.entry(id) {
            Entry::Occupied(found) => Ok(found.into_mut()),
            Entry::Vacant(slot) => {
                let tree = RawTree::read(self.repository, id)?;
                self.held_bytes += tree.memory_bytes();
                self.read_bytes += tree.bytes().len() as u64;
                Ok(slot.insert(tree))
            }
        }
    }

    /// Takes a tree out of the cache, for a caller that needs two trees at once and then calls [`TreeCache::put_back`].
    pub(super) fn take(&mut self, id: ObjectId) -> Result<RawTree> {
        self.get(id)?;
        let Some(tree) = self.trees.remove(&id) else { return Err(malformed(id)) };
        self.held_bytes -= tree.memory_bytes();
        Ok(tree)
    }

    /// Returns a tree to the cache.
    pub(super) fn put_back(&mut self, id: ObjectId, tree: RawTree) {
        self.held_bytes += tree.memory_bytes();
        self.trees.insert(id, tree);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> ObjectId {
        ObjectId::from_bytes_or_panic(&[n; 20])
    }

    #[test]
    fn every_name_is_found_whatever_precedes_it() {
        let mut bytes = Vec::new();
        // In git's order: `a` is a directory here and therefore comes after `a-b` and `a.md`.
        for (mode, name, n) in [("100644", "a-b", 1), ("100644", "a.md", 2), ("40000", "a", 3), ("100644", "a0", 4)] {
            bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            bytes.extend_from_slice(&[n; 20]);
        }
        let tree = RawTree::parse(id(9), bytes).expect("parses");
        assert_eq!(tree.len(), 4);
        assert_eq!(tree.find(b"a"), Some(TreeEntry::Directory(id(3))));
        assert_eq!(tree.find(b"a-b"), Some(TreeEntry::File(id(1))));
        assert_eq!(tree.find(b"a.md"), Some(TreeEntry::File(id(2))));
        assert_eq!(tree.find(b"a0"), Some(TreeEntry::File(id(4))));
        assert_eq!(tree.find(b"b"), None);
        assert_eq!(tree.range(3).end, tree.bytes().len());
        assert!(RawTree::parse(id(9), b"100644 cut\0short".to_vec()).is_err());
    }
}
