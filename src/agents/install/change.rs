//! A change to one file: shown as a diff, then carried out completely or not at all.

use std::fs;
use std::path::PathBuf;

use anyhow::ensure;

use super::super::places::{Places, read, write};
use super::receipt::ReceiptFiles;
use crate::file_errors::explained;

/// The name of a missing file in a diff.
const NOTHING: &str = "/dev/null";

/// A change to one file.
#[derive(Debug)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// Its content; `None` if it does not exist.
    pub before: Option<String>,
    /// Its new content; `None` if it is removed.
    pub after: Option<String>,
    /// What is kept of the former content.
    pub(super) backup: Backup,
}

/// What is kept of the former content.
#[derive(Debug)]
pub(super) enum Backup {
    /// The content without Cuebase, `None` for a missing file.
    Keep(Option<String>),
    /// Nothing: Cuebase is removed.
    Drop,
}

impl Change {
    /// Returns whether the file stays as it is.
    pub fn is_empty(&self) -> bool {
        self.before == self.after
    }

    /// Returns the change as a unified diff.
    pub fn diff(&self) -> String {
        let path = self.path.display().to_string();
        let old_path = if self.before.is_some() { path.as_str() } else { NOTHING };
        let new_path = if self.after.is_some() { path.as_str() } else { NOTHING };
        let (before, after) = (self.before.as_deref().unwrap_or(""), self.after.as_deref().unwrap_or(""));
        let diff = similar::TextDiff::from_lines(before, after);
        diff.unified_diff().header(old_path, new_path).to_string()
    }

    /// Carries out the change. The mode of an existing file stays; a new one can be read by its owner only.
    ///
    /// # Errors
    ///
    /// When the file has changed since it was read, or cannot be written. It has its former content then.
    pub fn apply(&self, places: &Places) -> anyhow::Result<()> {
        let shown = self.path.display();
        ensure!(read(&self.path)? == self.before, "{shown} has changed in the meantime: run the command again");
        let receipt = ReceiptFiles::of(&self.path, places);
        if let (Backup::Keep(original), Some(after)) = (&self.backup, &self.after) {
            receipt.write(&self.path, original.as_deref(), after)?;
        }
        match &self.after {
            Some(text) => self.replace(text)?,
            None => fs::remove_file(&self.path).map_err(explained("remove", &self.path))?,
        }
        if matches!(self.backup, Backup::Drop) {
            receipt.remove();
        }
        Ok(())
    }

    /// Replaces the content. A symbolic link stays one: the file that it points to is replaced.
    fn replace(&self, text: &str) -> anyhow::Result<()> {
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let permissions = match fs::metadata(&target) {
            Ok(metadata) => Some(metadata.permissions()),
            Err(_) => None,
        };
        write(&target, text)?;
        match permissions {
            Some(permissions) => {
                fs::set_permissions(&target, permissions).map_err(explained("change the mode of", &target))
            }
            None => Ok(()),
        }
    }
}
