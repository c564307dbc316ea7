//! Every version of every memory file in a history.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use gix::ObjectId;
use gix::objs::Kind;

use super::commit::{CommitId, CommitLinks};
use super::repository::Repository;
use super::tree::{RawTree, TreeEntry, read_content};
use crate::error::Result;
use crate::memory_file::MemoryPath;

/// A version of a memory file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// Path of the memory.
    pub path: String,
    /// The content of the file.
    pub content: Vec<u8>,
}

/// The versions of all memory files in a history, each once, in no particular order. Only the objects to visit are in
/// memory, and one content at a time.
pub struct FileVersions {
    repository: gix::Repository,
    /// Commits to visit.
    commits: Vec<ObjectId>,
    /// Directories to visit, with their paths.
    trees: Vec<(ObjectId, String)>,
    /// Files to return, with their paths.
    files: Vec<(ObjectId, String)>,
    /// The objects that were visited, with a hash of their paths.
    seen: HashSet<(ObjectId, u64)>,
}

impl Repository {
    /// Returns the versions of all memory files that a commit or any commit before it has, also on merged branches.
    pub fn file_versions(&self, head: CommitId) -> Result<FileVersions> {
        let repository = self.open()?;
        let commits = commits_oldest_first(&repository, head.0)?;
        Ok(FileVersions { repository, commits, trees: Vec::new(), files: Vec::new(), seen: HashSet::new() })
    }
}

impl FileVersions {
    fn next_version(&mut self) -> Result<Option<FileVersion>> {
        loop {
            if let Some((id, path)) = self.files.pop() {
                let content = read_content(&self.repository, id, Kind::Blob)?;
                return Ok(Some(FileVersion { path, content }));
            }
            if let Some((id, folder)) = self.trees.pop() {
                self.visit_tree(id, &folder)?;
                continue;
            }
            let Some(commit) = self.commits.pop() else { return Ok(None) };
            let tree = CommitLinks::read(&self.repository, commit)?.tree;
            self.add_tree(tree, String::new());
        }
    }

    fn visit_tree(&mut self, id: ObjectId, folder: &str) -> Result<()> {
        let tree = RawTree::read(&self.repository, id)?;
        for index in 0..tree.len() {
            let Some(entry) = tree.entry(index) else { break };
            // The path of a memory is UTF-8.
            let Ok(name) = std::str::from_utf8(entry.filename) else { continue };
            let path = joined_path(folder, name);
            match TreeEntry::of(entry) {
                Some(TreeEntry::Directory(id)) => self.add_tree(id, path),
                Some(TreeEntry::File(id))
                    if MemoryPath::of_stored(&path).is_ok() && self.seen.insert((id, hash_of(&path))) =>
                {
                    self.files.push((id, path));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add_tree(&mut self, id: ObjectId, folder: String) {
        if self.seen.insert((id, hash_of(&folder))) {
            self.trees.push((id, folder));
        }
    }
}

impl Iterator for FileVersions {
    type Item = Result<FileVersion>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_version().transpose()
    }
}

/// Returns every commit that `head` reaches, each after its parents.
pub(super) fn commits_oldest_first(repository: &gix::Repository, head: ObjectId) -> Result<Vec<ObjectId>> {
    let mut ordered = Vec::new();
    let mut done = HashSet::new();
    let mut pending = vec![head];
    while let Some(id) = pending.last().copied() {
        if done.contains(&id) {
            pending.pop();
            continue;
        }
        let known = pending.len();
        for parent in CommitLinks::read(repository, id)?.parents {
            if !done.contains(&parent) {
                pending.push(parent);
            }
        }
        // Its parents are done, so this commit is next.
        if pending.len() == known {
            pending.pop();
            done.insert(id);
            ordered.push(id);
        }
    }
    Ok(ordered)
}

/// Returns the path of a name in a folder; the root is the empty path.
pub(super) fn joined_path(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn hash_of(path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}
