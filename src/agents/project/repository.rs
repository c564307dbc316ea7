//! The git repository of a project, read from git's own files: starting git takes longer than a hook may.
//!
//! The files may come from somebody else. What they say is believed where it cannot lead to another folder of the user:
//! a linked working tree belongs to a main one only if that one has it in its list.

use std::fs;
use std::path::{Path, PathBuf};

use super::files::read_below;
use super::remote;

/// The repository of a project.
pub(super) struct Repository {
    /// The top folder of the working tree.
    pub(super) root: PathBuf,
    /// The top folder of the main working tree, which its linked working trees share.
    pub(super) main: PathBuf,
    /// The text of git's configuration file.
    config: Option<String>,
}

impl Repository {
    /// Returns the repository at the nearest folder at or above a folder that holds `.git`. `folder` is a real path.
    pub(super) fn containing(folder: &Path) -> Option<Self> {
        for root in folder.ancestors() {
            let git = root.join(".git");
            if git.is_dir() {
                let config = text(root, &git.join("config"));
                return Some(Self { root: root.to_path_buf(), main: root.to_path_buf(), config });
            }
            if git.exists() {
                return Some(Self::elsewhere(root, &git));
            }
        }
        None
    }

    /// Returns the repository whose folder a file `.git` names: that of a linked working tree, or of a submodule.
    fn elsewhere(root: &Path, git: &Path) -> Self {
        let repository = Self { root: root.to_path_buf(), main: root.to_path_buf(), config: None };
        let Some(folder) = text(root, git).and_then(|text| named_folder(root, text.strip_prefix("gitdir:")?)) else {
            return repository;
        };
        let Some(common) = text(&folder, &folder.join("commondir")).and_then(|text| named_folder(&folder, &text))
        else {
            return Self { config: text(&folder, &folder.join("config")), ..repository };
        };
        let config = text(&common, &common.join("config"));
        if !lists(&common, &folder, git) {
            return Self { config, ..repository };
        }
        let is_in_main = common.file_name().is_some_and(|name| name == ".git");
        let main = match common.parent() {
            Some(parent) if is_in_main => parent.to_path_buf(),
            // A repository without a main working tree.
            _ => common.clone(),
        };
        Self { main, config, ..repository }
    }

    /// Returns the identity of the remote, if there is one.
    pub(super) fn remote(&self) -> Option<String> {
        remote::identity(self.config.as_deref()?)
    }
}

/// Returns whether a repository lists the working tree of a file `.git` as one of its own.
fn lists(common: &Path, folder: &Path, git: &Path) -> bool {
    if folder.parent() != Some(common.join("worktrees").as_path()) {
        return false;
    }
    let Some(listed) = text(folder, &folder.join("gitdir")) else { return false };
    match (fs::canonicalize(folder.join(listed.trim())), fs::canonicalize(git)) {
        (Ok(listed), Ok(git)) => listed == git,
        _ => false,
    }
}

/// Returns the real path of a folder that a file names, relative to the folder of the file.
fn named_folder(folder: &Path, name: &str) -> Option<PathBuf> {
    fs::canonicalize(folder.join(name.trim())).ok()
}

/// Reads a file of git. One that cannot be read counts as missing.
fn text(folder: &Path, path: &Path) -> Option<String> {
    read_below(folder, path).ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository at `main` with a remote, and a linked working tree at `linked`.
    fn linked() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().expect("temporary directory");
        let real = folder.path().canonicalize().expect("a folder");
        let (main, linked) = (real.join("main"), real.join("linked"));
        let record = main.join(".git/worktrees/linked");
        fs::create_dir_all(&record).expect("creates");
        fs::create_dir_all(&linked).expect("creates");
        fs::write(main.join(".git/config"), "[remote \"origin\"]\n\turl = https://h/acme/x\n").expect("writes");
        fs::write(record.join("commondir"), "../..\n").expect("writes");
        fs::write(record.join("gitdir"), format!("{}\n", linked.join(".git").display())).expect("writes");
        fs::write(linked.join(".git"), format!("gitdir: {}\n", record.display())).expect("writes");
        (folder, main, linked)
    }

    #[test]
    fn a_linked_working_tree_belongs_to_its_repository() {
        let (_folder, main, linked) = linked();
        let repository = Repository::containing(&linked).expect("a repository");
        assert_eq!((&repository.root, &repository.main), (&linked, &main));
        assert_eq!(repository.remote().as_deref(), Some("h/acme/x"));
    }

    #[test]
    fn a_working_tree_that_the_repository_does_not_list_stands_alone() {
        let (folder, main, _linked) = linked();
        let forged = folder.path().canonicalize().expect("a folder").join("forged");
        let own = forged.join("records/worktrees/x");
        fs::create_dir_all(&own).expect("creates");
        fs::write(own.join("commondir"), format!("{}\n", main.join(".git").display())).expect("writes");
        fs::write(own.join("gitdir"), format!("{}\n", forged.join(".git").display())).expect("writes");
        for pointer in [main.join(".git/worktrees/linked"), main.join(".git"), own] {
            fs::write(forged.join(".git"), format!("gitdir: {}\n", pointer.display())).expect("writes");
            let repository = Repository::containing(&forged).expect("a repository");
            assert_eq!(repository.main, forged, "{}", pointer.display());
        }
    }
}
