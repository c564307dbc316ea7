//! The `state` file: the settings that an index is built for, its head, and the valid length of its two logs.
//!
//! Lines of text: the format, the dimensions, the vocabulary and the model; the bytes of both logs and the head in
//! hexadecimal; the CRC-32 of the lines before.

use std::io::ErrorKind;
use std::path::Path;

use super::settings::IndexSettings;
use crate::error::{Error, Result};
use crate::head::Head;
use crate::tokens::TokenVectors;

/// The format of the folder. An index of another format is rebuilt.
const FORMAT: usize = 8;
/// Name of the file in the folder of an index.
pub const STATE_FILE: &str = "state";

/// The content of the `state` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexState {
    settings: String,
    pub(super) log_bytes: u64,
    pub(super) vector_bytes: u64,
    pub(super) head: Head,
}

impl IndexState {
    pub(super) fn new(settings: &IndexSettings, head: Head, log_bytes: u64, vector_bytes: u64) -> Self {
        Self { settings: describe(settings), log_bytes, vector_bytes, head }
    }

    /// Whether the index has this version's format and these settings.
    pub(super) fn is_built_for(&self, settings: &IndexSettings) -> bool {
        self.settings == describe(settings)
    }

    /// Returns the dimensions and the identity of the model. Returns `None` if the index has another format or
    /// vocabulary.
    pub(super) fn model(&self, tokens: &dyn TokenVectors) -> Option<(usize, &str)> {
        let rest = self.settings.strip_prefix(&format!("{FORMAT} "))?;
        let (dimensions, rest) = rest.split_once(' ')?;
        let model = rest.strip_prefix(tokens.identity())?.strip_prefix(' ')?;
        Some((dimensions.parse().ok()?, model))
    }

    /// Reads the state of the index in a folder. Returns `None` if nothing was ever applied.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(STATE_FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(Error::Damaged("the state file is not UTF-8".into()));
            }
            Err(error) => return Err(Error::io("read", &path)(error)),
        };
        match Self::parse(&text) {
            Some(state) => Ok(Some(state)),
            None => Err(Error::Damaged("the state file is incomplete or does not match its checksum".into())),
        }
    }

    /// Replaces the state file atomically.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let (path, new) = (folder.join(STATE_FILE), folder.join("state.new"));
        std::fs::write(&new, self.text()).map_err(Error::io("write", &new))?;
        std::fs::rename(&new, &path).map_err(Error::io("replace", &path))
    }

    /// Returns the content of the file.
    pub(super) fn text(&self) -> String {
        let Self { settings, log_bytes, vector_bytes, head } = self;
        let text = format!("{settings}\n{log_bytes} {vector_bytes} {head}\n");
        format!("{text}{:08x}\n", crc32fast::hash(text.as_bytes()))
    }

    fn parse(text: &str) -> Option<Self> {
        let (body, checksum) = text.strip_suffix('\n')?.rsplit_once('\n')?;
        if u32::from_str_radix(checksum, 16).ok()? != crc32fast::hash(format!("{body}\n").as_bytes()) {
            return None;
        }
        let (settings, numbers) = body.rsplit_once('\n')?;
        let mut numbers = numbers.splitn(3, ' ');
        Some(Self {
            settings: settings.to_owned(),
            log_bytes: numbers.next()?.parse().ok()?,
            vector_bytes: numbers.next()?.parse().ok()?,
            head: Head::parse(numbers.next()?)?,
        })
    }
}

/// Returns the settings as the first line of the file.
fn describe(settings: &IndexSettings) -> String {
    let IndexSettings { dimensions, model, tokens } = settings;
    format!("{FORMAT} {dimensions} {} {model}", tokens.identity())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_read_back_and_damage_is_seen() {
        let head = Head::from([0xab; 20]);
        let state = IndexState { settings: "2 256 t a b".into(), log_bytes: 9, vector_bytes: 3, head };
        let text = state.text();
        assert!(text.starts_with(&format!("2 256 t a b\n9 3 {}\n", "ab".repeat(20))), "{text}");
        assert_eq!(IndexState::parse(&text), Some(state));
        assert_eq!(IndexState::parse(&text.replace("ab", "ad")), None);
        assert_eq!(IndexState::parse(""), None);
        assert_eq!(IndexState::parse(&text[..text.len() - 2]), None);
    }
}
