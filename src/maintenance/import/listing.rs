//! The files below a folder.

use std::fs;
use std::path::Path;

use crate::error::Result;

/// Lists every file below a folder by its path relative to the folder, in order. Names that begin with a dot, and
/// symbolic links, are left out.
pub(super) fn list_files(folder: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    list_below(folder, "", &mut paths)?;
    Ok(paths)
}

fn list_below(folder: &Path, prefix: &str, paths: &mut Vec<String>) -> Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (name, kind) = (entry.file_name().to_string_lossy().into_owned(), entry.file_type()?);
        if name.starts_with('.') || kind.is_symlink() {
            continue;
        }
        if kind.is_dir() {
            list_below(&entry.path(), &format!("{prefix}{name}/"), paths)?;
        } else {
            paths.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}
