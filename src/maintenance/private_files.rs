//! Files and folders that only their owner can read, and their removal.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::file_errors::explained;

/// A new file that only its owner can read.
pub(super) fn create(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// A folder that only its owner can look into, with those above it.
pub(super) fn create_folder(path: &Path) -> anyhow::Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(explained("create", path))
}

/// Removes a folder with all that is in it; one that is not there is no error.
pub(super) fn remove_if_there(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(explained("remove", folder)(error)),
        _ => Ok(()),
    }
}
