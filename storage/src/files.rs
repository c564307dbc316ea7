//! Replacing a file completely or not at all.
//!
//! Files that may be lost after a crash, because they are derived from others, are not written with this: they need no
//! sync.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use tempfile::Builder;

/// Prefix of the names of temporary files. Git's own temporary files have another prefix.
pub(crate) const TEMPORARY_PREFIX: &str = "tmp_cuebase-";

/// Writes a file durably, in place of the one that has the path now, if there is one. A crash or a full disk leaves
/// either the former file or the new one.
///
/// # Errors
///
/// The error of the operating system. The temporary file was removed then, unless the process ended.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Err(ErrorKind::InvalidInput.into()) };
    // The standard library opens the file, because the errors of `tempfile_in` carry no code of the system, and its
    // files can only be read by their owner.
    let temporary = Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .make_in(folder, |name| File::options().write(true).create_new(true).open(name))?;
    let (mut file, temporary) = temporary.into_parts();
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    // Not `persist`, which calls the kernel directly: tests make the rename of the C library fail.
    fs::rename(&temporary, path)?;
    temporary.keep()?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).expect("a folder") {
            names.push(entry.expect("an entry").file_name().to_string_lossy().into_owned());
        }
        names
    }

    #[test]
    fn a_file_is_replaced_and_no_other_file_stays() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("file");
        replace(&path, b"first").expect("writes");
        replace(&path, b"second").expect("replaces");
        assert_eq!(fs::read(&path).expect("reads"), b"second");
        assert_eq!(names(folder.path()), ["file"]);
        fs::write(folder.path().join("other"), b"").expect("writes");
        let (own, other) = (fs::metadata(&path), fs::metadata(folder.path().join("other")));
        let (own, other) = (own.expect("a file").permissions(), other.expect("a file").permissions());
        assert_eq!(own.mode(), other.mode());
    }

    #[test]
    fn a_failed_replacement_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("folder");
        fs::create_dir(&path).expect("creates");
        let error = replace(&path, b"bytes").expect_err("a folder cannot be replaced by a file");
        assert!(error.raw_os_error().is_some());
        assert_eq!(names(folder.path()), ["folder"]);
        let error = replace(&folder.path().join("missing/file"), b"bytes").expect_err("the folder is missing");
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.raw_os_error().is_some());
    }
}
