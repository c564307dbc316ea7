//! Error messages for refused files and folders: the path, the reason and the remedy.
//!
//! A permission error of the system names neither the folder that denied access nor its owner. [`explain`] finds both.

use std::fmt::Display;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::{AccessFlags, eaccess, geteuid};

/// The permission bits of a mode.
const PERMISSION_BITS: u32 = 0o7777;

/// Returns one line with the failed action, the path, the reason and the remedy. `action` is a verb, such as "create".
pub fn explain(action: &str, path: &Path, error: &io::Error) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let shown = path.display();
    match error.kind() {
        ErrorKind::PermissionDenied => format!("cannot {action} {shown}: {}", refusal(&path)),
        ErrorKind::NotADirectory => match file_above(&path) {
            Some(file) => {
                format!("cannot {action} {shown}: {} is a file, not a directory: name another path", file.display())
            }
            None => format!("cannot {action} {shown}: {error}"),
        },
        _ => format!("cannot {action} {shown}: {error}"),
    }
}

/// Returns a function for `map_err` that turns an error of the system into [`explain`]'s message.
pub fn explained<'a>(action: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> anyhow::Error + 'a {
    move |error| anyhow::Error::msg(explain(action, path, &error))
}

/// Returns whether [`explain`] adds something to an error of the system: a missing permission, or a file where a folder
/// is needed.
pub fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotADirectory)
}

/// Returns one line about the first of a folder and its entries that this process may not read and write. `None` if it
/// may read and write all of them.
pub fn inaccessible_part(folder: &Path) -> Option<String> {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let mut parts = vec![folder.clone()];
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        parts.push(entry.path());
    }
    for part in parts {
        let Ok(metadata) = fs::metadata(&part) else { continue };
        if !is_accessible(&part, &metadata) {
            return Some(format!("cannot use {}: {}", part.display(), refusal_of(&part, &metadata, &geteuid())));
        }
    }
    None
}

/// Returns the reason of a denied access to a path, and the remedy.
fn refusal(path: &Path) -> String {
    let user = geteuid();
    let Some((denied, metadata)) = inaccessible_ancestor(path) else {
        return format!("permission denied for user id {user}: use a user that has permission, or name another path");
    };
    refusal_of(&denied, &metadata, &user)
}

fn refusal_of(denied: &Path, metadata: &Metadata, user: &impl Display) -> String {
    format!(
        "user id {user} has no permission for {} (owner: user id {}, mode {:o}): use its owner, change its owner or mode, \
         or name another path",
        denied.display(),
        metadata.uid(),
        metadata.mode() & PERMISSION_BITS
    )
}

/// Returns the part of a path that denies access: the path itself if it exists and is not accessible, otherwise the
/// folder above the first part that exists.
fn inaccessible_ancestor(path: &Path) -> Option<(PathBuf, Metadata)> {
    let mut first = None;
    for part in path.ancestors() {
        // This also fails for an entry of a folder that may not be searched.
        let Ok(metadata) = fs::metadata(part) else { continue };
        if !is_accessible(part, &metadata) {
            return Some((part.to_path_buf(), metadata));
        }
        if first.is_some() {
            break;
        }
        first = Some((part.to_path_buf(), metadata));
    }
    first
}

fn is_accessible(path: &Path, metadata: &Metadata) -> bool {
    let mut needed = AccessFlags::R_OK | AccessFlags::W_OK;
    if metadata.is_dir() {
        needed |= AccessFlags::X_OK;
    }
    eaccess(path, needed) != Err(Errno::EACCES)
}

/// Returns the file that a path uses as a folder.
fn file_above(path: &Path) -> Option<PathBuf> {
    for part in path.ancestors() {
        if let Ok(metadata) = fs::metadata(part) {
            return if metadata.is_dir() { None } else { Some(part.to_path_buf()) };
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_path_below_a_file_names_the_file() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let file = folder.path().join("note.txt");
        fs::write(&file, "text").expect("writes");
        let below = file.join("data");
        let error = fs::create_dir_all(&below).expect_err("refused");
        let said = explain("create", &below, &error);
        assert!(is_refusal(&error), "{error}");
        assert!(said.contains(&format!("{} is a file, not a directory", file.display())), "{said}");
    }

    #[test]
    fn a_refusal_names_the_path_its_owner_and_its_mode() {
        let folder = tempfile::tempdir().expect("temporary directory");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("changes the mode");
        let metadata = fs::metadata(folder.path()).expect("there");
        let said = refusal_of(folder.path(), &metadata, &1234);
        let named = format!("user id 1234 has no permission for {}", folder.path().display());
        assert!(said.contains(&named), "{said}");
        assert!(said.contains(&format!("owner: user id {}, mode 700", metadata.uid())), "{said}");
    }
}
