//! Files that a commit replaced by a directory, or that were in a directory which it replaced by a file.
//!
//! Earlier versions wrote such commits without an error. The files are complete in the history.

use std::collections::{BTreeSet, HashSet};

use super::commit::{CommitId, DescribedCommit};
use super::compare::{Difference, Walk, WalkLimits};
use super::repository::Repository;
use crate::error::Result;

/// A file that was lost when a file and a directory had one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedFile {
    /// Path from the root.
    pub path: String,
    /// The last commit that has the file.
    pub commit: CommitId,
}

impl Repository {
    /// Returns the replaced files in the first-parent history of a commit, each path once with its latest loss, latest
    /// losses first. The search ends at a commit with the trailer `until`.
    pub fn replaced_files(&self, head: CommitId, until: &str) -> Result<Vec<ReplacedFile>> {
        let repository = self.open()?;
        let mut found = Vec::new();
        let mut known = HashSet::new();
        let mut commit = DescribedCommit::read(&repository, head.0)?;
        while let Some(parent) = commit.first_parent {
            if commit.info.trailer(until).is_some() {
                break;
            }
            let parent = DescribedCommit::read(&repository, parent)?;
            // The limits of a walk are for one comparison.
            let mut walk = Walk::new(&repository, WalkLimits::OWN);
            let differences = walk.compare(Some(parent.tree), Some(commit.tree), "")?;
            for path in replaced_among(&differences) {
                if known.insert(path.clone()) {
                    found.push(ReplacedFile { path, commit: parent.info.id });
                }
            }
            commit = parent;
        }
        Ok(found)
    }
}

/// Returns the paths of removed files that share a name with an added one.
fn replaced_among(differences: &[Difference]) -> Vec<String> {
    let mut added_files = BTreeSet::new();
    let mut added_directories = BTreeSet::new();
    for difference in differences {
        if difference.old.is_none() {
            added_files.insert(difference.path.as_slice());
            added_directories.extend(directories_above(&difference.path));
        }
    }
    let mut replaced = Vec::new();
    for difference in differences {
        if difference.new.is_some() {
            continue;
        }
        let is_replaced = added_directories.contains(difference.path.as_slice())
            || directories_above(&difference.path).iter().any(|directory| added_files.contains(directory));
        if is_replaced && let Ok(path) = String::from_utf8(difference.path.clone()) {
            replaced.push(path);
        }
    }
    replaced
}

/// Returns the paths of the directories above a file.
fn directories_above(path: &[u8]) -> Vec<&[u8]> {
    let mut directories = Vec::new();
    for (index, byte) in path.iter().enumerate() {
        if *byte == b'/' {
            directories.push(&path[..index]);
        }
    }
    directories
}

#[cfg(test)]
mod tests {
    use gix::ObjectId;

    use super::*;

    fn difference(path: &str, is_added: bool) -> Difference {
        let id = Some(ObjectId::null(gix::hash::Kind::Sha1));
        let (old, new) = if is_added { (None, id) } else { (id, None) };
        Difference { path: path.into(), old, new }
    }

    fn replaced(removed: &[&str], added: &[&str]) -> Vec<String> {
        let mut differences = Vec::new();
        for path in removed {
            differences.push(difference(path, false));
        }
        for path in added {
            differences.push(difference(path, true));
        }
        replaced_among(&differences)
    }

    #[test]
    fn only_files_whose_name_was_taken_are_replaced() {
        assert_eq!(replaced(&["facts/a.md"], &["facts/a.md/b.md"]), ["facts/a.md"]);
        assert_eq!(replaced(&["facts/a/b.md", "facts/a/c/d.md"], &["facts/a"]), ["facts/a/b.md", "facts/a/c/d.md"]);
        assert!(replaced(&["facts/a.md", "facts/b/c.md"], &["facts/a.md2", "facts/b/d.md"]).is_empty());
        assert!(replaced(&["facts/a.md"], &[]).is_empty());
    }
}
