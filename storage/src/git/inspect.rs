//! Inspecting every object that a commit reaches: each must exist and match its id.

use std::collections::HashSet;

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::objs::Kind;
use gix::validate::path::component;

use super::commit::CommitId;
use super::repository::Repository;
use crate::error::{Error, Result};

/// The result of inspecting a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Objects that were read.
    pub objects: u64,
    /// Commits among them.
    pub commits: u64,
    /// Descriptions of damaged and missing objects; empty for an intact repository.
    pub problems: Vec<String>,
}

/// Problems after which an inspection ends.
const PROBLEMS_MAX: usize = 20;
/// Objects between two reports of progress.
const PROGRESS_INTERVAL: u64 = 1024;

impl Repository {
    /// Reads every object that a commit reaches and compares its content with its id. Ends early after 20 problems.
    /// `progress` receives the number of objects read so far, once for every 1024 objects.
    pub fn inspect(&self, head: CommitId, mut progress: impl FnMut(u64)) -> Result<Inspection> {
        let repository = self.open()?;
        let mut inspection = Inspection::default();
        let mut known = HashSet::from([head.0]);
        let mut pending = vec![(head.0, Kind::Commit)];
        while let Some((id, kind)) = pending.pop() {
            inspection.objects += 1;
            match read_references(&repository, id, kind) {
                Ok(references) => {
                    inspection.commits += u64::from(kind == Kind::Commit);
                    pending.extend(references.into_iter().filter(|(id, _)| known.insert(*id)));
                }
                Err(error) => inspection.problems.push(format!("{kind} {id}: {error}")),
            }
            if inspection.objects.is_multiple_of(PROGRESS_INTERVAL) {
                progress(inspection.objects);
            }
            if inspection.problems.len() == PROBLEMS_MAX {
                break;
            }
        }
        Ok(inspection)
    }

    /// Returns whether a commit equals `of` or precedes it along first parents.
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

/// Returns whether git would write a name into a working copy on every file system. NTFS treats `git~1` and `.git ` as
/// `.git`, HFS+ ignores invisible characters, and a backslash may separate names.
fn is_harmless(name: &BStr) -> bool {
    // Pushes and imports with symbolic links are rejected, so no mode is given: `.gitmodules` counts as an ordinary
    // file.
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

/// Returns the objects that an object refers to.
///
/// # Errors
///
/// [`Error::Corrupt`] if the object is of another kind, does not match its id, or has an entry with a harmful name.
pub(super) fn read_references(repository: &gix::Repository, id: ObjectId, kind: Kind) -> Result<Vec<(ObjectId, Kind)>> {
    let object = repository.find_object(id).map_err(Error::git("read an object"))?;
    if object.kind != kind {
        return Err(Error::corrupt(format!("object {id}"), "is of another kind"));
    }
    let hash =
        gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, &object.data).map_err(Error::git("hash an object"))?;
    if hash != id {
        return Err(Error::corrupt(format!("object {id}"), "its content does not match its id"));
    }
    let mut references = Vec::new();
    match kind {
        Kind::Commit => {
            let commit = object.try_into_commit().map_err(Error::git("read a commit"))?;
            for parent in commit.parent_ids() {
                references.push((parent.detach(), Kind::Commit));
            }
            let tree = commit.tree_id().map_err(Error::git("read a commit"))?.detach();
            references.push((tree, Kind::Tree));
        }
        Kind::Tree => {
            let tree = object.try_into_tree().map_err(Error::git("read a directory"))?;
            let decoded = tree.decode().map_err(Error::git("read a directory"))?;
            for entry in &decoded.entries {
                if !is_harmless(entry.filename) {
                    let reason = format!("has an entry named {:?}", entry.filename);
                    return Err(Error::corrupt(format!("object {id}"), reason));
                }
                // The commit of a submodule is in another repository.
                if entry.mode.is_commit() {
                    continue;
                }
                let kind = if entry.mode.is_tree() { Kind::Tree } else { Kind::Blob };
                references.push((entry.oid.to_owned(), kind));
            }
        }
        Kind::Blob | Kind::Tag => {}
    }
    Ok(references)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_file_system_may_treat_as_dot_git_are_not_harmless() {
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
