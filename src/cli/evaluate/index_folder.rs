//! The temporary folder of an index.

use std::path::{Path, PathBuf};

/// A folder for the index of one namespace, removed on drop.
pub(super) struct IndexFolder(PathBuf);

impl IndexFolder {
    /// Names the folder of a namespace. The index creates it.
    pub(super) fn new(namespace: usize) -> Self {
        Self(std::env::temp_dir().join(format!("cuebase-eval-{}-{namespace}", std::process::id())))
    }

    /// Returns the path.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for IndexFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
