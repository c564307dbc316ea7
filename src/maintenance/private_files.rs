//! Files and folders that only their owner can read, and their removal.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::file_errors::explained;

/// Creates an empty file that only its owner can read.
pub(super) fn create(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Creates a folder that only its owner can read, and its missing parents.
pub(super) fn create_folder(path: &Path) -> anyhow::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path).map_err(explained("create", path))
}

/// Removes a folder and its contents, if it exists.
pub(super) fn remove_if_exists(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(explained("remove", folder)(error)),
        _ => Ok(()),
    }
}
