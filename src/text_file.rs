//! Reads a text file that somebody else may have written: it can be a pipe, a device, a link or of any size.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{bail, ensure};
use nix::fcntl::OFlag;

use crate::file_errors::explained;

/// Whether the last part of a path may be a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// A link is followed.
    Follow,
    /// A link is an error.
    Refuse,
}

/// Reads a text file. Returns `None` if it does not exist. Waits for nothing.
///
/// # Errors
///
/// For anything but a regular UTF-8 file of at most `bytes_max` bytes.
pub fn read(path: &Path, bytes_max: u64, links: Links) -> anyhow::Result<Option<String>> {
    let Some(file) = open(path, links)? else { return Ok(None) };
    let shown = path.display();
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(explained("read", path))?;
    ensure!(bytes.len() as u64 <= bytes_max, "{shown} has more than {bytes_max} bytes: shorten it");
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let byte = error.utf8_error().valid_up_to();
            bail!("{shown}: byte {byte} is not UTF-8: save the file as UTF-8")
        }
    }
}

/// Reads the complete lines in the first bytes of a file. Bytes that are not UTF-8 are replaced. Returns none if the file
/// does not exist.
///
/// # Errors
///
/// For anything but a regular file.
pub fn first_lines(path: &Path, bytes_max: u64) -> anyhow::Result<Vec<String>> {
    let Some(file) = open(path, Links::Follow)? else { return Ok(Vec::new()) };
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes).map_err(explained("read", path))?;
    let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else { return Ok(Vec::new()) };
    Ok(String::from_utf8_lossy(&bytes[..end]).lines().map(str::to_owned).collect())
}

/// Opens a regular file. Returns `None` if it does not exist.
fn open(path: &Path, links: Links) -> anyhow::Result<Option<File>> {
    // Without O_NONBLOCK, opening a pipe waits for a writer. A terminal must not become that of this process.
    let mut flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    if links == Links::Refuse {
        flags |= OFlag::O_NOFOLLOW;
    }
    let file = match File::options().read(true).custom_flags(flags.bits()).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(explained("read", path)(error)),
    };
    let metadata = file.metadata().map_err(explained("read", path))?;
    ensure!(metadata.is_file(), "{} is not a regular file: replace it by one", path.display());
    Ok(Some(file))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;

    use super::*;

    fn refusal(path: &Path, links: Links) -> String {
        read(path, 8, links).expect_err("refused").to_string()
    }

    #[test]
    fn only_small_regular_text_files_are_read() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let at = |name: &str| folder.path().join(name);
        nix::unistd::mkfifo(&at("pipe"), Mode::S_IRWXU).expect("creates");
        fs::create_dir(at("folder")).expect("creates");
        symlink("/dev/zero", at("endless")).expect("links");
        for name in ["pipe", "folder", "endless"] {
            assert!(refusal(&at(name), Links::Follow).contains("is not a regular file"), "{name}");
            assert!(first_lines(&at(name), 8).is_err(), "{name}");
        }
        fs::write(at("file"), "12345678").expect("writes");
        assert_eq!(read(&at("file"), 8, Links::Refuse).expect("reads").as_deref(), Some("12345678"));
        fs::write(at("file"), "123456789").expect("writes");
        assert!(refusal(&at("file"), Links::Follow).contains("has more than 8 bytes"));
        fs::write(at("file"), b"{\"\xff\"}").expect("writes");
        assert!(refusal(&at("file"), Links::Follow).contains("byte 2 is not UTF-8"));
        assert_eq!(read(&at("missing"), 8, Links::Follow).expect("reads"), None);
    }

    #[test]
    fn a_link_is_followed_only_where_that_is_allowed() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "text").expect("writes");
        symlink("file", &link).expect("links");
        assert_eq!(read(&link, 8, Links::Follow).expect("reads").as_deref(), Some("text"));
        assert!(read(&link, 8, Links::Refuse).is_err());
    }

    #[test]
    fn the_last_line_counts_only_if_it_is_complete() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let file = folder.path().join("file");
        fs::write(&file, "one\ntwo\nthree").expect("writes");
        assert_eq!(first_lines(&file, 100).expect("reads"), ["one", "two"]);
        assert_eq!(first_lines(&file, 6).expect("reads"), ["one"]);
        assert!(first_lines(&file, 3).expect("reads").is_empty());
        assert!(first_lines(&folder.path().join("missing"), 3).expect("reads").is_empty());
    }
}
