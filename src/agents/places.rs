//! The user's folders: those of the agents, and the one in which hooks and installations keep their state.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cuebase_storage::files::replace;
use data_encoding::HEXLOWER;

use crate::file_errors::explained;
use crate::sha256::sha256;
use crate::text_file::{self, Links};

/// Bytes of a file, at most. Agents keep histories of projects in their settings.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Bytes of the hash in the name of a record.
const NAME_BYTES: usize = 16;
/// The format of the records of installations and transcripts. Records from before folders were bound have none.
pub(super) const RECORD_FORMAT: u32 = 1;

/// Folders of the user.
#[derive(Clone, Debug)]
pub struct Places {
    /// The home folder.
    pub home: PathBuf,
    /// Configuration of programs: `XDG_CONFIG_HOME`, by default `~/.config`.
    pub config: PathBuf,
    /// State of hooks and installations: `cuebase` in `XDG_STATE_HOME`, by default `~/.local/state/cuebase`.
    pub state: PathBuf,
    /// Claude Code's folder, if `CLAUDE_CONFIG_DIR` sets it.
    pub claude: Option<PathBuf>,
    /// Codex's folder: `CODEX_HOME`, by default `~/.codex`.
    pub codex: PathBuf,
}

impl Places {
    /// Returns the folders that the environment names.
    ///
    /// # Errors
    ///
    /// When `HOME` is not an absolute path.
    pub fn resolve(environment: impl Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        let home = folder(&environment, "HOME").context("HOME must be an absolute path: set it to your home folder")?;
        let config = folder(&environment, "XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let state = folder(&environment, "XDG_STATE_HOME").unwrap_or_else(|| home.join(".local/state"));
        let claude = folder(&environment, "CLAUDE_CONFIG_DIR");
        let codex = folder(&environment, "CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
        Ok(Self { home, config, state: state.join("cuebase"), claude, codex })
    }

    /// Returns the folder with the records of installations.
    pub(super) fn installations(&self) -> PathBuf {
        self.state.join("installed")
    }

    /// Returns the folder with the records of transcripts.
    pub(super) fn transcript_records(&self) -> PathBuf {
        self.state.join("transcripts")
    }

    /// Returns the path of the record of a session's transcript.
    pub(super) fn transcript_record(&self, session: &str) -> PathBuf {
        let name = HEXLOWER.encode(&sha256(&[session.as_bytes()])[..NAME_BYTES]);
        self.transcript_records().join(format!("{name}.json"))
    }
}

/// Returns the folder that a variable names. A relative path counts as not set, as the XDG specification says.
fn folder(environment: &impl Fn(&str) -> Option<String>, variable: &str) -> Option<PathBuf> {
    let path = PathBuf::from(environment(variable)?);
    if path.is_absolute() { Some(path) } else { None }
}

/// Reads a text file. Returns `None` if it does not exist. Does not wait for anything but a regular file.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    text_file::read(path, FILE_BYTES_MAX, Links::Follow)
}

/// Writes a file completely or not at all, and creates its folder.
pub(super) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(explained("create", folder))?;
    }
    replace(path, text.as_bytes()).map_err(explained("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_move_the_folders_and_relative_ones_are_ignored() {
        let places = Places::resolve(|name| match name {
            "HOME" => Some("/home/ada".into()),
            "XDG_STATE_HOME" => Some("/var/ada".into()),
            "CODEX_HOME" => Some("codex".into()),
            _ => None,
        });
        let places = places.expect("resolves");
        assert_eq!(places.config, Path::new("/home/ada/.config"));
        assert_eq!(places.state, Path::new("/var/ada/cuebase"));
        assert_eq!(places.codex, Path::new("/home/ada/.codex"));
        assert_eq!(places.claude, None);
        let error = Places::resolve(|_| None).expect_err("there is none").to_string();
        assert!(error.contains("HOME"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_text_is_named_with_the_byte() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("deep/settings.json");
        assert_eq!(read(&path).expect("reads"), None);
        write(&path, "{}").expect("writes");
        assert_eq!(read(&path).expect("reads").as_deref(), Some("{}"));
        fs::write(&path, b"{\"a\": \"\xff\"}").expect("writes");
        let error = read(&path).expect_err("refused").to_string();
        assert!(error.contains("settings.json: byte 7 is not UTF-8"), "{error}");
    }
}
