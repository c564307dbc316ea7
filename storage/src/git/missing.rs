//! What one repository has and another lacks: the objects of a clone, a fetch, a bundle, or a push on its way in.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use gix::ObjectId;
use gix::objs::Kind;

use super::delta::{LARGE_TREE_BYTES, Window};
use super::pack::{PackFile, PackStream, packed_entry};
use super::repository::{CommitId, Repository};
use super::tree::{RawTree, TreeEntry, content};
use crate::error::{Error, Result};

/// Objects of a repository, each once: commits first, newest first, then what they hold.
pub struct Missing {
    pub(super) repository: gix::Repository,
    pub(super) objects: Vec<(ObjectId, Kind)>,
}

impl Repository {
    /// The objects that `wanted` reach and `had` do not. Each of both must be a commit of this repository.
    pub fn missing(&self, wanted: &[CommitId], had: &[CommitId]) -> Result<Missing> {
        let repository = self.open()?;
        let walk = repository.rev_walk(wanted.iter().map(|commit| commit.0));
        let walk = walk.with_hidden(had.iter().map(|commit| commit.0)).all().map_err(Error::git("walk a history"))?;
        let (mut objects, mut trees, mut parents) = (Vec::new(), Vec::new(), Vec::new());
        for info in walk {
            let info = info.map_err(Error::git("walk a history"))?;
            let (tree, own) = tree_and_parents(&repository, info.id)?;
            trees.push(tree);
            parents.extend(own);
            objects.push((info.id, Kind::Commit));
        }
        let mut known: HashSet<ObjectId> = objects.iter().map(|(id, _)| *id).collect();
        // The other side has what the commits at the edge hold.
        parents.retain(|parent| !known.contains(parent));
        parents.sort_unstable();
        parents.dedup();
        for parent in parents {
            let (tree, _) = tree_and_parents(&repository, parent)?;
            below(&repository, tree, &mut known, |_, _| {})?;
        }
        for tree in trees {
            below(&repository, tree, &mut known, |id, kind| objects.push((id, kind)))?;
        }
        Ok(Missing { repository, objects })
    }

    /// Which of these ids are commits here, in the same order.
    pub fn commits_among(&self, ids: &[CommitId]) -> Result<Vec<CommitId>> {
        let mut repository = self.open()?;
        // Most are of the other side alone: no reason to look for new packs each time.
        repository.objects.refresh_never();
        let mut found = Vec::new();
        for id in ids {
            let header = repository.try_find_header(id.0).map_err(Error::git("find a commit"))?;
            found.extend(header.filter(|header| header.kind() == Kind::Commit).map(|_| *id));
        }
        Ok(found)
    }
}

/// A commit's tree and its parents.
pub(super) fn tree_and_parents(repository: &gix::Repository, id: ObjectId) -> Result<(ObjectId, Vec<ObjectId>)> {
    let commit = repository.find_commit(id).map_err(Error::git("read a commit"))?;
    let tree = commit.tree_id().map_err(Error::git("read a commit"))?.detach();
    Ok((tree, commit.parent_ids().map(gix::Id::detach).collect()))
}

/// Comes by a tree and what is below it, leaving out what is known and making it known. Each tree is read once, and none
/// is held: the stack holds ids alone, at most one for every entry of the trees that were read.
pub(super) fn below(
    repository: &gix::Repository,
    tree: ObjectId,
    known: &mut HashSet<ObjectId>,
    mut comes_by: impl FnMut(ObjectId, Kind),
) -> Result<()> {
    if !known.insert(tree) {
        return Ok(());
    }
    comes_by(tree, Kind::Tree);
    let mut next = vec![tree];
    while let Some(id) = next.pop() {
        let entries = RawTree::read(repository, id)?;
        for index in 0..entries.len() {
            match entries.entry(index).and_then(TreeEntry::of) {
                Some(TreeEntry::Directory(id)) if known.insert(id) => {
                    comes_by(id, Kind::Tree);
                    next.push(id);
                }
                Some(TreeEntry::File(id)) if known.insert(id) => comes_by(id, Kind::Blob),
                _ => {}
            }
        }
    }
    Ok(())
}

impl Missing {
    /// How many.
    pub fn count(&self) -> u64 {
        self.objects.len() as u64
    }

    /// Writes all of them as one pack. `told` is told how many of how many are written.
    pub fn write_pack(&self, out: impl Write, mut told: impl FnMut(u64, u64)) -> Result<()> {
        let count = u32::try_from(self.count()).map_err(|_| Error::invalid("history", "has too many objects"))?;
        let mut pack = PackStream::begin(out, count)?;
        let mut window = Window::default();
        for (done, (id, kind)) in (1..).zip(&self.objects) {
            pack.put(&self.packed(*id, *kind, &mut window)?)?;
            told(done, u64::from(count));
        }
        pack.finish().map(drop)
    }

    /// Writes all of them as a pack of ours, which is yet to be published. None but the entry that is being written is
    /// held in memory.
    pub(super) fn write_pack_file(&self, folder: &Path) -> Result<PackFile> {
        let mut pack = PackFile::create(folder, self.objects.len())?;
        let mut window = Window::default();
        for (id, kind) in &self.objects {
            pack.put(*id, &self.packed(*id, *kind, &mut window)?)?;
        }
        Ok(pack)
    }

    /// An object as it is to stand in a pack. Commits come newest first, so that the versions of a large tree come one
    /// after the other, and all but the first are told by their difference.
    fn packed(&self, id: ObjectId, kind: Kind, window: &mut Window) -> Result<Vec<u8>> {
        let data = content(&self.repository, id, kind)?;
        if kind == Kind::Tree && data.len() as u64 >= LARGE_TREE_BYTES {
            return window.packed(id, data);
        }
        packed_entry(kind, &data)
    }
}
