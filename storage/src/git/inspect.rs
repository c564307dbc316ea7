//! Looking at everything that a commit reaches, as an audit does: is it all there, and is it what its name says?

use std::collections::HashSet;

use gix::ObjectId;
use gix::objs::Kind;

use super::repository::{CommitId, Repository};
use crate::error::{Error, Result};

/// What was found in a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Objects that were looked at.
    pub objects: u64,
    /// Commits among them.
    pub commits: u64,
    /// What is wrong, in words; empty for a sound repository.
    pub wrong: Vec<String>,
}

/// No more than so many problems are told of one repository.
const WRONG_MAX: usize = 20;

impl Repository {
    /// Reads every object that a commit reaches, and compares its bytes with its name. `seen` is told how many it has
    /// been so far, now and then.
    pub fn inspect(&self, head: CommitId, mut seen: impl FnMut(u64)) -> Result<Inspection> {
        let repository = self.open()?;
        let mut found = Inspection::default();
        let mut known = HashSet::from([head.0]);
        let mut next = vec![(head.0, Kind::Commit)];
        while let Some((id, kind)) = next.pop() {
            if found.wrong.len() >= WRONG_MAX {
                break;
            }
            found.objects += 1;
            if found.objects.is_multiple_of(1024) {
                seen(found.objects);
            }
            match read(&repository, id, kind) {
                Ok(reached) => {
                    found.commits += u64::from(kind == Kind::Commit);
                    next.extend(reached.into_iter().filter(|(id, _)| known.insert(*id)));
                }
                Err(error) => found.wrong.push(format!("{kind} {id}: {error}")),
            }
        }
        Ok(found)
    }

    /// Whether a commit is another one or before it, by first parents.
    pub fn is_ancestor(&self, commit: CommitId, of: CommitId) -> Result<bool> {
        let repository = self.open()?;
        let mut next = Some(of.0);
        while let Some(id) = next {
            if id == commit.0 {
                return Ok(true);
            }
            let found = repository.find_commit(id).map_err(Error::git("read a commit"))?;
            next = found.parent_ids().next().map(gix::Id::detach);
        }
        Ok(false)
    }
}

/// What an object that must be of a kind refers to. Fails where it is not there, or is not what its id says.
fn read(repository: &gix::Repository, id: ObjectId, kind: Kind) -> Result<Vec<(ObjectId, Kind)>> {
    let object = repository.find_object(id).map_err(Error::git("read an object"))?;
    let corrupt = |reason: &str| Error::corrupt(format!("object {id}"), reason);
    if object.kind != kind {
        return Err(corrupt("is of another kind"));
    }
    let hash =
        gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, &object.data).map_err(Error::git("hash an object"))?;
    if hash != id {
        return Err(corrupt("does not hold what its name says"));
    }
    match kind {
        Kind::Commit => {
            let commit = object.try_into_commit().map_err(Error::git("read a commit"))?;
            let tree = commit.tree_id().map_err(Error::git("read a commit"))?.detach();
            let parents = commit.parent_ids().map(|parent| (parent.detach(), Kind::Commit));
            Ok(parents.chain([(tree, Kind::Tree)]).collect())
        }
        Kind::Tree => {
            let tree = object.try_into_tree().map_err(Error::git("read a directory"))?;
            let decoded = tree.decode().map_err(Error::git("read a directory"))?;
            let entries = decoded.entries.iter().filter(|entry| !entry.mode.is_commit());
            Ok(entries
                .map(|entry| (entry.oid.to_owned(), if entry.mode.is_tree() { Kind::Tree } else { Kind::Blob }))
                .collect())
        }
        Kind::Blob | Kind::Tag => Ok(Vec::new()),
    }
}
