//! What one repository has and another lacks: the objects of a clone, a fetch, a bundle, or a push on its way in.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use gix::ObjectId;
use gix::objs::Kind;

use super::pack::packed_entry;
use super::repository::{CommitId, Repository, TreeEntry, read_tree};
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

/// Comes by a tree and what is below it, leaving out what is known and making it known.
pub(super) fn below(
    repository: &gix::Repository,
    tree: ObjectId,
    known: &mut HashSet<ObjectId>,
    mut comes_by: impl FnMut(ObjectId, Kind),
) -> Result<()> {
    let mut next = vec![tree];
    while let Some(id) = next.pop() {
        if !known.insert(id) {
            continue;
        }
        comes_by(id, Kind::Tree);
        for entry in read_tree(repository, id)?.into_values() {
            match entry {
                TreeEntry::Directory(id) => next.push(id),
                TreeEntry::File(id) if known.insert(id) => comes_by(id, Kind::Blob),
                TreeEntry::File(_) => {}
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

    /// Writes all of them as one pack, whole objects alone. `told` is told how many of how many are written.
    pub fn write_pack(&self, out: impl Write, mut told: impl FnMut(u64, u64)) -> Result<()> {
        let count = u32::try_from(self.count()).map_err(|_| Error::invalid("history", "has too many objects"))?;
        let mut out = Hashed { inner: out, hasher: gix::hash::hasher(gix::hash::Kind::Sha1) };
        out.put(b"PACK")?;
        out.put(&2u32.to_be_bytes())?;
        out.put(&count.to_be_bytes())?;
        for (done, (id, kind)) in (1..).zip(&self.objects) {
            let object = self.repository.find_object(*id).map_err(Error::git("read an object"))?;
            out.put(&packed_entry(*kind, &object.data)?)?;
            told(done, u64::from(count));
        }
        let Hashed { mut inner, hasher } = out;
        let hash = hasher.try_finalize().map_err(Error::git("hash a pack"))?;
        inner.write_all(hash.as_slice()).and_then(|()| inner.flush()).map_err(written())
    }
}

/// Writes what it passes on into a hash too.
struct Hashed<W> {
    inner: W,
    hasher: gix::hash::Hasher,
}

impl<W: Write> Hashed<W> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.hasher.update(bytes);
        self.inner.write_all(bytes).map_err(written())
    }
}

fn written() -> impl FnOnce(std::io::Error) -> Error {
    Error::io("write", Path::new("a pack"))
}
