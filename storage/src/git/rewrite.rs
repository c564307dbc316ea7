//! Rewriting a history without some memories, so that nothing in it says what they were.
//!
//! The commits are copied oldest first. Their trees lose the erased paths, the remaining files lose what they say of
//! erased memories ([`ErasedPaths::redact_file`]), and messages lose the paths. A commit that loses nothing, after
//! commits that lose nothing, keeps its id. No commit is left out: its message may carry the id of a queued write.
//!
//! Everything that the new head reaches is written to new packs. The steps of an erasure are separate, so that the
//! caller can record each: [`Repository::rewrite_without`] writes the packs, [`Writer::replace_history`] moves the
//! branch, and [`Repository::remove_former_files`] removes the former history.
//!
//! In memory are the ids of all objects, about a hundred bytes each, and the pack that is being written.

use std::collections::{HashMap, HashSet};

use gix::ObjectId;
use gix::objs::Kind;

use super::commit::{CommitId, CommitLinks};
use super::pack::HASH_BYTES;
use super::pack_sequence::PackSequence;
use super::repository::Repository;
use super::rewritten_commit::{NewLinks, rewritten};
use super::tree::{RawTree, TreeEntry, read_content};
use super::versions::{commits_oldest_first, joined_path};
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::memory_file::ErasedPaths;

/// Directories above a file. The rewriting recurs into directories.
const DEPTH_MAX: usize = 64;

/// A rewritten history, whose objects are durable. The branch has not moved yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewrittenHistory {
    /// The head of the new history.
    pub head: CommitId,
    /// The commits whose ids changed, each with its new id.
    pub commits: Vec<(CommitId, CommitId)>,
    /// The files that hold the former history, as paths below the repository.
    pub former_files: Vec<String>,
}

impl Repository {
    /// Writes the history up to `head` again, without the erased memories.
    pub fn rewrite_without(&self, head: CommitId, erased: &ErasedPaths) -> Result<RewrittenHistory> {
        let mut former_files = self.history_files()?;
        let repository = self.open()?;
        let mut rewrite = HistoryRewrite {
            repository: &repository,
            erased,
            packs: PackSequence::new(&self.pack_folder()),
            folders: HashMap::new(),
            trees: HashMap::new(),
            unchanged: HashSet::new(),
            commits: HashMap::new(),
        };
        let ordered = commits_oldest_first(&repository, head.0)?;
        let mut changed = Vec::new();
        for id in ordered {
            let new = rewrite.commit(id)?;
            if new != id {
                changed.push((CommitId(id), CommitId(new)));
            }
        }
        let new_head = rewrite.commits.get(&head.0).copied().unwrap_or(head.0);
        let written = rewrite.packs.finish()?;
        // A pack of the former history that was written again is the same file.
        former_files.retain(|file| !written.iter().any(|name| is_file_of_pack(file, name)));
        Ok(RewrittenHistory { head: CommitId(new_head), commits: changed, former_files })
    }
}

impl Writer {
    /// Moves the branch from the writer's head to the head of a rewritten history.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the branch is elsewhere or locked. It has not moved then.
    pub fn replace_history(&mut self, head: CommitId) -> Result<()> {
        self.move_to(head)
    }
}

/// Whether a file, as a path below the repository, is a pack of this name or belongs to it.
fn is_file_of_pack(file: &str, pack: &str) -> bool {
    let Some(name) = file.strip_prefix("objects/pack/") else { return false };
    name.strip_prefix(pack).is_some_and(|ending| ending.starts_with('.'))
}

/// A rewriting in progress.
struct HistoryRewrite<'a> {
    repository: &'a gix::Repository,
    erased: &'a ErasedPaths,
    packs: PackSequence,
    /// A number for each path of a directory.
    folders: HashMap<String, u32>,
    /// The new tree of each tree at a path; `None` if nothing is left of it.
    trees: HashMap<(ObjectId, u32), Option<ObjectId>>,
    /// Files that mention no erased memory wherever they are.
    unchanged: HashSet<ObjectId>,
    /// The new commit of each commit.
    commits: HashMap<ObjectId, ObjectId>,
}

impl HistoryRewrite<'_> {
    /// Writes a commit whose parents are written. Returns its new id.
    fn commit(&mut self, id: ObjectId) -> Result<ObjectId> {
        let CommitLinks { tree, parents } = CommitLinks::read(self.repository, id)?;
        let new_tree = match self.tree(tree, "", 0)? {
            Some(new) => new,
            None => self.packs.add(Kind::Tree, Vec::new())?,
        };
        let mut new_parents = Vec::with_capacity(parents.len());
        for parent in &parents {
            new_parents.push(self.commits.get(parent).copied().unwrap_or(*parent));
        }
        let is_changed = new_tree != tree || new_parents != parents;
        let links = NewLinks { tree: new_tree, parents: new_parents, is_changed };
        let content = read_content(self.repository, id, Kind::Commit)?;
        let new = self.packs.add(Kind::Commit, rewritten(&content, &links, self.erased)?)?;
        self.commits.insert(id, new);
        Ok(new)
    }

    /// Writes the tree of a directory with everything below it. Returns its new id, or `None` if nothing is left.
    fn tree(&mut self, id: ObjectId, folder: &str, depth: usize) -> Result<Option<ObjectId>> {
        if depth > DEPTH_MAX {
            return Err(Error::corrupt(format!("object {id}"), "is nested too deeply"));
        }
        let key = (id, self.folder_number(folder)?);
        if let Some(known) = self.trees.get(&key) {
            return Ok(*known);
        }
        let tree = RawTree::read(self.repository, id)?;
        let mut content = Vec::with_capacity(tree.bytes().len());
        for index in 0..tree.len() {
            let Some(entry) = tree.entry(index) else { break };
            let name = String::from_utf8_lossy(entry.filename);
            let new = match TreeEntry::of(entry) {
                Some(TreeEntry::Directory(below)) => self.tree(below, &joined_path(folder, &name), depth + 1)?,
                Some(TreeEntry::File(blob)) => self.file(blob, folder, &name)?,
                // The commit of a submodule is in another repository.
                None => Some(entry.oid.to_owned()),
            };
            let Some(new) = new else { continue };
            // An entry ends with its id.
            let range = tree.range(index);
            let Some(mode_and_name) = tree.bytes().get(range.start..range.end.saturating_sub(HASH_BYTES)) else {
                return Err(Error::corrupt(format!("object {id}"), "has an entry without an id"));
            };
            content.extend_from_slice(mode_and_name);
            content.extend_from_slice(new.as_slice());
        }
        let is_emptied = content.is_empty() && tree.len() > 0;
        let new = if is_emptied { None } else { Some(self.packs.add(Kind::Tree, content)?) };
        self.trees.insert(key, new);
        Ok(new)
    }

    /// Writes a file. Returns its new id, or `None` if its path is erased.
    fn file(&mut self, id: ObjectId, folder: &str, name: &str) -> Result<Option<ObjectId>> {
        if self.erased.has_name(name) && self.erased.contains(&joined_path(folder, name)) {
            return Ok(None);
        }
        if self.unchanged.contains(&id) {
            return Ok(Some(id));
        }
        let content = read_content(self.repository, id, Kind::Blob)?;
        match self.erased.redact_file(&joined_path(folder, name), &content)? {
            Some(redacted) => self.packs.add(Kind::Blob, redacted).map(Some),
            None => {
                // The same content at another path may have a relative link to an erased memory there. Only a file that
                // names no erased file at all has none anywhere.
                if !self.erased.may_be_in(&content) {
                    self.unchanged.insert(id);
                }
                self.packs.add(Kind::Blob, content).map(Some)
            }
        }
    }

    /// Returns the number of a directory's path.
    fn folder_number(&mut self, folder: &str) -> Result<u32> {
        if let Some(number) = self.folders.get(folder) {
            return Ok(*number);
        }
        let number = u32::try_from(self.folders.len()).map_err(Error::git("number the directories"))?;
        self.folders.insert(folder.to_owned(), number);
        Ok(number)
    }
}
