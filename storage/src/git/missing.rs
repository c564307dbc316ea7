//! Objects that one repository has and another lacks: the contents of a clone, a fetch, a bundle, or a push.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use gix::ObjectId;
use gix::objs::Kind;

use super::commit::{CommitId, CommitLinks};
use super::delta::DeltaWindow;
use super::pack::{PackFile, PackStream};
use super::repository::Repository;
use super::tree::{RawTree, TreeEntry, read_content};
use crate::error::{Error, Result};

/// Objects of a repository, each once: commits first, newest first, then their trees and blobs.
pub struct MissingObjects {
    pub(super) repository: gix::Repository,
    pub(super) objects: Vec<(ObjectId, Kind)>,
}

impl Repository {
    /// Returns the objects that can be reached from `wanted` and not from `had`. All of these must be commits of this
    /// repository.
    pub fn missing(&self, wanted: &[CommitId], had: &[CommitId]) -> Result<MissingObjects> {
        let repository = self.open()?;
        let walk = repository.rev_walk(wanted.iter().map(|commit| commit.0));
        let walk = walk.with_hidden(had.iter().map(|commit| commit.0)).all().map_err(Error::git("walk a history"))?;
        let (mut objects, mut trees, mut parents) = (Vec::new(), Vec::new(), Vec::new());
        for info in walk {
            let info = info.map_err(Error::git("walk a history"))?;
            let links = CommitLinks::read(&repository, info.id)?;
            trees.push(links.tree);
            parents.extend(links.parents);
            objects.push((info.id, Kind::Commit));
        }
        let mut known: HashSet<ObjectId> = objects.iter().map(|(id, _)| *id).collect();
        // Parents outside of the walk are the other side's commits; it has everything below their trees.
        parents.retain(|parent| !known.contains(parent));
        parents.sort_unstable();
        parents.dedup();
        for parent in parents {
            let tree = CommitLinks::read(&repository, parent)?.tree;
            exclude_tree(&repository, tree, &mut known)?;
        }
        for tree in trees {
            collect_tree(&repository, tree, &mut known, &mut objects)?;
        }
        Ok(MissingObjects { repository, objects })
    }

    /// Returns those of the ids that are commits of this repository, in the same order.
    pub fn commits_among(&self, ids: &[CommitId]) -> Result<Vec<CommitId>> {
        let mut repository = self.open()?;
        // Most ids exist on the other side only, so looking for new packs after each miss would be wasted.
        repository.objects.refresh_never();
        let mut found = Vec::new();
        for id in ids {
            let header = repository.try_find_header(id.0).map_err(Error::git("find a commit"))?;
            if let Some(header) = header
                && header.kind() == Kind::Commit
            {
                found.push(*id);
            }
        }
        Ok(found)
    }
}

/// Adds a tree and everything below it to `known`.
pub(super) fn exclude_tree(repository: &gix::Repository, tree: ObjectId, known: &mut HashSet<ObjectId>) -> Result<()> {
    visit_unknown(repository, tree, known, |_, _| {})
}

/// Adds a tree and everything below it to `known`, and appends to `objects` those that were not known before.
pub(super) fn collect_tree(
    repository: &gix::Repository,
    tree: ObjectId,
    known: &mut HashSet<ObjectId>,
    objects: &mut Vec<(ObjectId, Kind)>,
) -> Result<()> {
    visit_unknown(repository, tree, known, |id, kind| objects.push((id, kind)))
}

/// Visits a tree and everything below it that is not in `known`, and adds it there. Each tree is read once and dropped
/// again; the stack holds only ids, at most one for every entry of the trees read.
fn visit_unknown(
    repository: &gix::Repository,
    tree: ObjectId,
    known: &mut HashSet<ObjectId>,
    mut visit: impl FnMut(ObjectId, Kind),
) -> Result<()> {
    if !known.insert(tree) {
        return Ok(());
    }
    visit(tree, Kind::Tree);
    let mut pending = vec![tree];
    while let Some(id) = pending.pop() {
        let entries = RawTree::read(repository, id)?;
        for index in 0..entries.len() {
            let Some(entry) = entries.entry(index) else { continue };
            match TreeEntry::of(entry) {
                Some(TreeEntry::Directory(id)) if known.insert(id) => {
                    visit(id, Kind::Tree);
                    pending.push(id);
                }
                Some(TreeEntry::File(id)) if known.insert(id) => visit(id, Kind::Blob),
                _ => {}
            }
        }
    }
    Ok(())
}

impl MissingObjects {
    /// Returns the number of objects.
    pub fn count(&self) -> u64 {
        self.objects.len() as u64
    }

    /// Writes the objects as one pack. `progress` receives the number of objects written and their total.
    pub fn write_pack(&self, out: impl Write, mut progress: impl FnMut(u64, u64)) -> Result<()> {
        let count = u32::try_from(self.count()).map_err(|_| Error::invalid("history", "has too many objects"))?;
        let mut pack = PackStream::begin(out, count)?;
        let mut window = DeltaWindow::default();
        for (done, (id, kind)) in (1..).zip(&self.objects) {
            pack.put(&self.encode_object(*id, *kind, &mut window)?)?;
            progress(done, u64::from(count));
        }
        pack.finish()?;
        Ok(())
    }

    /// Writes the objects as a pack in `folder` that is not published yet. Only the entry being written is held in
    /// memory.
    pub(super) fn write_pack_file(&self, folder: &Path) -> Result<PackFile> {
        let mut pack = PackFile::create(folder, self.objects.len())?;
        let mut window = DeltaWindow::default();
        for (id, kind) in &self.objects {
            pack.put(*id, &self.encode_object(*id, *kind, &mut window)?)?;
        }
        Ok(pack)
    }

    /// Encodes the pack entry of an object. Commits come newest first, so the versions of a large tree follow one
    /// another, and all but the first are encoded as deltas.
    fn encode_object(&self, id: ObjectId, kind: Kind, window: &mut DeltaWindow) -> Result<Vec<u8>> {
        window.encode(id, kind, read_content(&self.repository, id, kind)?)
    }
}
