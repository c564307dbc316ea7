//! Looking at everything that a commit reaches, as an audit does: is it all there, and is it what its name says?

use std::collections::HashSet;

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::objs::Kind;
use gix::validate::path::component;

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
/// After so many objects it is told how many there were.
const TOLD_EVERY: u64 = 1024;

impl Repository {
    /// Reads every object that a commit reaches, and compares its bytes with its name. `seen` is told how many it has
    /// been so far, now and then.
    pub fn inspect(&self, head: CommitId, mut seen: impl FnMut(u64)) -> Result<Inspection> {
        let repository = self.open()?;
        let mut found = Inspection::default();
        reach(&repository, head.0, |id, kind, read| {
            found.objects += 1;
            found.commits += u64::from(kind == Kind::Commit && read.is_ok());
            if found.objects.is_multiple_of(TOLD_EVERY) {
                seen(found.objects);
            }
            if let Err(error) = read {
                found.wrong.push(format!("{kind} {id}: {error}"));
            }
            if found.wrong.len() < WRONG_MAX { Ok(()) } else { Err(Error::corrupt("repository", "much is wrong")) }
        })
        // So much is wrong that the rest was not looked at.
        .or_else(|error| if found.wrong.is_empty() { Err(error) } else { Ok(()) })?;
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

/// Comes by every object that a commit reaches, once each, and says whether it could be read and is what its name says.
/// Ends where it is told to by an error.
fn reach(
    repository: &gix::Repository,
    head: ObjectId,
    mut comes_by: impl FnMut(ObjectId, Kind, Result<()>) -> Result<()>,
) -> Result<()> {
    let mut known = HashSet::from([head]);
    let mut next = vec![(head, Kind::Commit)];
    while let Some((id, kind)) = next.pop() {
        let read = read(repository, id, kind);
        let reached = read.map(|reached| next.extend(reached.into_iter().filter(|(id, _)| known.insert(*id))));
        comes_by(id, kind, reached)?;
    }
    Ok(())
}

/// Whether a name in a directory is one that git would put into a working copy, on whatever file system that is: NTFS
/// takes `git~1` and `.git ` for `.git`, HFS+ leaves out characters that are not seen, and a backslash may separate names.
fn is_harmless(name: &BStr) -> bool {
    // Links are refused where they come in, so none is named here: `.gitmodules` is a file like any other.
    let options = component::Options { protect_windows: false, protect_hfs: true, protect_ntfs: true };
    if gix::validate::path::component(name, None, options).is_err() {
        return false;
    }
    for part in name.split_str(b"\\") {
        if !part.is_empty() && gix::validate::path::component(part.as_bstr(), None, options).is_err() {
            return false;
        }
    }
    true
}

/// What an object that must be of a kind refers to. Fails where it is not there, or is not what its id says.
pub(super) fn read(repository: &gix::Repository, id: ObjectId, kind: Kind) -> Result<Vec<(ObjectId, Kind)>> {
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
            if let Some(entry) = decoded.entries.iter().find(|entry| !is_harmless(entry.filename)) {
                return Err(corrupt(&format!("has an entry named {:?}", entry.filename)));
            }
            let entries = decoded.entries.iter().filter(|entry| !entry.mode.is_commit());
            Ok(entries
                .map(|entry| (entry.oid.to_owned(), if entry.mode.is_tree() { Kind::Tree } else { Kind::Blob }))
                .collect())
        }
        Kind::Blob | Kind::Tag => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_some_file_system_takes_for_gits_own_are_not_harmless() {
        for name in [
            "",
            ".",
            "..",
            "a/b",
            ".git",
            ".GIT",
            ".Git",
            "git~1",
            "GIT~1",
            ".git ",
            ".git.",
            ".git . .",
            ".git:x",
            "git~1 ",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".gi\u{200d}t",
            "a\\.git",
            "..\\a",
            "a\\git~1",
        ] {
            assert!(!is_harmless(BStr::new(name)), "{name:?}");
        }
        for name in [
            "a.md",
            ".gitmodules",
            ".gitignore",
            "git",
            "git~2",
            ".git-notes",
            "a b",
            "a\\b",
            "caf\u{e9}.md",
            "con",
            ".github",
            "a.git",
            "..a",
            "a\\",
        ] {
            assert!(is_harmless(BStr::new(name)), "{name:?}");
        }
        assert!(is_harmless(BStr::new(b"\xff\xfe")));
    }
}
