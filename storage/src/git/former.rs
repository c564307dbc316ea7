//! The files that hold a history, so that a rewritten one can take its place and the former one can be removed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::ledger::PackId;
use super::pack::sync_folder;
use super::repository::{BRANCH, Repository};
use crate::error::{Error, Result};
use crate::files::TEMPORARY_PREFIX;

/// The packs among the files of a history.
fn packs_among(files: &[String]) -> Vec<PackId> {
    let mut packs = Vec::new();
    for file in files {
        let stem = file.strip_prefix("objects/pack/").and_then(|name| name.strip_suffix(".pack"));
        packs.extend(stem.and_then(PackId::of_stem));
    }
    packs
}

/// The folders and files of a repository that refer to its history: objects, reflogs and references.
const PARTS: [&str; 4] = ["objects", "logs", "refs", "packed-refs"];

impl Repository {
    /// Lists the files that hold the history, as paths below the repository: packs and what belongs to them, single
    /// objects, reflogs, and every reference except the branch.
    pub(super) fn history_files(&self) -> Result<Vec<String>> {
        let mut files = Vec::new();
        let mut pending: Vec<PathBuf> = PARTS.iter().map(|part| self.path().join(part)).collect();
        while let Some(path) = pending.pop() {
            if path.is_dir() {
                for entry in fs::read_dir(&path).map_err(Error::io("list", &path))? {
                    pending.push(entry.map_err(Error::io("list", &path))?.path());
                }
                continue;
            }
            if let Some(file) = self.history_file(&path) {
                files.push(file);
            }
        }
        files.sort();
        Ok(files)
    }

    /// Returns a file's path below the repository; `None` if the file stays.
    fn history_file(&self, path: &Path) -> Option<String> {
        let below = path.strip_prefix(self.path()).ok()?.to_str()?;
        let name = path.file_name()?.to_str()?;
        let is_branch = below == BRANCH || name.ends_with(".lock");
        let stays = is_branch || name.starts_with(TEMPORARY_PREFIX) || !path.exists();
        if stays { None } else { Some(below.to_owned()) }
    }

    /// Removes the files of a former history. Files that do not exist are skipped, so this can be repeated.
    pub fn remove_former_files(&self, files: &[String]) -> Result<()> {
        self.erase_in_ledger(&packs_among(files))?;
        for file in files {
            // The list comes from a record and becomes a path.
            let is_below = PARTS.iter().any(|part| file.starts_with(part)) && !file.contains("..");
            if !is_below {
                return Err(Error::corrupt("the list of a former history", "it names a file outside of it"));
            }
            let path = self.path().join(file);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::io("remove", &path)(error)),
                _ => {}
            }
        }
        sync_folder(&self.pack_folder())?;
        sync_folder(&self.path().join("objects"))
    }
}
