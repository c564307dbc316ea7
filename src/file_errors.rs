//! Messages for files and folders that the system refuses: which path, why, and what to do.
//!
//! A permission error of the system names neither the folder that refused nor its owner. [`explain`] finds both.

use std::fmt::Display;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::{AccessFlags, eaccess, geteuid};

/// The permission bits of a mode.
const PERMISSION_BITS: u32 = 0o7777;

/// Returns one line that says what could not be done, with which path, and what to do about it. `action` is a verb, such
/// as "create".
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

/// The same as an error, for `map_err`.
pub fn explained<'a>(action: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> anyhow::Error + 'a {
    move |error| anyhow::Error::msg(explain(action, path, &error))
}

/// Returns whether an error of the system is about permissions or about a file in the place of a folder: what
/// [`explain`] says more about than the system.
pub fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotADirectory)
}

/// Looks for a folder, or an entry of it, that this process may not read and write, and returns one line about the first
/// one. None where this process may read and write all of them.
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

/// Who may not do what, and the remedy.
fn refusal(path: &Path) -> String {
    let user = geteuid();
    let Some((refusing, metadata)) = refusing_part(path) else {
        return format!("permission denied for user id {user}: use a user that has permission, or name another path");
    };
    refusal_of(&refusing, &metadata, &user)
}

fn refusal_of(refusing: &Path, metadata: &Metadata, user: &impl Display) -> String {
    format!(
        "user id {user} has no permission for {} (owner: user id {}, mode {:o}): use its owner, change its owner or mode, \
         or name another path",
        refusing.display(),
        metadata.uid(),
        metadata.mode() & PERMISSION_BITS
    )
}

/// The part of a path that refuses: the path itself where it exists and is not accessible, else the folder above the
/// first part that exists.
fn refusing_part(path: &Path) -> Option<(PathBuf, Metadata)> {
    let mut first = None;
    for part in path.ancestors() {
        // Also fails for what is in a folder that may not be searched.
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

/// The file that a path takes for a folder.
fn file_above(path: &Path) -> Option<PathBuf> {
    for part in path.ancestors() {
        if let Ok(metadata) = fs::metadata(part) {
            return (!metadata.is_dir()).then(|| part.to_path_buf());
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
