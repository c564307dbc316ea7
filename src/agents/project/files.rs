//! Reads files of a project, which somebody else may have written: a file can be a pipe, a device or a link.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::ensure;

use crate::file_errors::explained;
use crate::text_file::{self, Links};

/// Bytes of a file, at most. Settings of a project and of git have some hundred.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Reads a text file below a folder. Returns `None` if it does not exist.
///
/// # Errors
///
/// For a link that leads out of the folder, and for anything but a regular UTF-8 file of at most 64 KiB.
pub(super) fn read_below(folder: &Path, path: &Path) -> anyhow::Result<Option<String>> {
    let shown = path.display();
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(explained("read", path)(error)),
    };
    let folder = fs::canonicalize(folder).map_err(explained("read", folder))?;
    ensure!(
        target.starts_with(&folder),
        "{shown} is a link to a file outside of {}: replace the link by a file",
        folder.display()
    );
    text_file::read(&target, FILE_BYTES_MAX, Links::Refuse)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;

    use super::*;

    fn refusal(folder: &Path, name: &str) -> String {
        read_below(folder, &folder.join(name)).expect_err("refused").to_string()
    }

    #[test]
    fn only_small_regular_files_are_read() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let folder = folder.path();
        nix::unistd::mkfifo(&folder.join("pipe"), Mode::S_IRWXU).expect("creates");
        fs::create_dir(folder.join("folder")).expect("creates");
        for name in ["pipe", "folder"] {
            assert!(refusal(folder, name).contains("is not a regular file"), "{name}");
        }
        let largest = "x".repeat(64 << 10);
        fs::write(folder.join("file"), &largest).expect("writes");
        assert_eq!(read_below(folder, &folder.join("file")).expect("reads"), Some(largest.clone()));
        fs::write(folder.join("file"), largest + "x").expect("writes");
        assert!(refusal(folder, "file").contains("has more than 65536 bytes"));
        assert_eq!(read_below(folder, &folder.join("missing")).expect("reads"), None);
    }

    #[test]
    fn a_link_is_followed_inside_of_the_folder_only() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let (outside, inside) = (folder.path().join("secret"), folder.path().join("project"));
        fs::create_dir(&inside).expect("creates");
        fs::write(&outside, "mine").expect("writes");
        fs::write(inside.join("file"), "theirs").expect("writes");
        symlink("file", inside.join("near")).expect("links");
        symlink(&outside, inside.join("far")).expect("links");
        symlink("/dev/zero", inside.join("endless")).expect("links");
        assert_eq!(read_below(&inside, &inside.join("near")).expect("reads").as_deref(), Some("theirs"));
        for name in ["far", "endless"] {
            assert!(refusal(&inside, name).contains("is a link to a file outside of"), "{name}");
        }
    }
}
