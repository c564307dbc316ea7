//! The files below a folder.

use std::fs;
use std::path::Path;

use crate::error::Result;

/// Most special files that are named.
const WARNINGS_MAX: usize = 10;

/// The files below a folder, by their paths relative to the folder, in order.
#[derive(Default)]
struct Listing {
    regular: Vec<String>,
    /// Pipes, sockets and devices. A read of one could wait for ever.
    special: Vec<String>,
}

/// Lists every regular file below a folder by its path relative to the folder, in order. Names that begin with a dot, and
/// symbolic links, are left out.
pub(super) fn list_files(folder: &Path) -> Result<Vec<String>> {
    let mut listing = Listing::default();
    list_below(folder, "", &mut listing)?;
    Ok(listing.regular)
}

/// Returns a warning for each pipe, socket and device below a folder, which [`list_files`] leaves out.
pub(super) fn special_file_warnings(folder: &Path) -> Result<Vec<String>> {
    let mut listing = Listing::default();
    list_below(folder, "", &mut listing)?;
    let mut warnings = Vec::new();
    for path in listing.special.iter().take(WARNINGS_MAX) {
        warnings.push(format!("{path} was skipped: it is a pipe, a socket or a device"));
    }
    if listing.special.len() > WARNINGS_MAX {
        warnings.push(format!("{} more pipes, sockets and devices were skipped", listing.special.len() - WARNINGS_MAX));
    }
    Ok(warnings)
}

/// Checks that a path is a folder or a regular file. A link counts as its target.
pub(super) fn check_kind(from: &Path) -> Result<(), String> {
    let kind = fs::metadata(from).map_err(|error| error.to_string())?;
    if kind.is_file() || kind.is_dir() {
        return Ok(());
    }
    Err("is a pipe, a socket or a device: save its content in a file, and import that".to_owned())
}

fn list_below(folder: &Path, prefix: &str, listing: &mut Listing) -> Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (name, kind) = (entry.file_name().to_string_lossy().into_owned(), entry.file_type()?);
        if name.starts_with('.') || kind.is_symlink() {
            continue;
        }
        if kind.is_dir() {
            list_below(&entry.path(), &format!("{prefix}{name}/"), listing)?;
        } else if kind.is_file() {
            listing.regular.push(format!("{prefix}{name}"));
        } else {
            listing.special.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}
