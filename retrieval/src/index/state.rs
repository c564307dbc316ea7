//! The file that says what the others are worth.
//!
//! Lines of text: the format, the model and the vocabulary that the index is made for; the bytes of both logs and the
//! head; and the CRC-32 of all that.

use std::path::Path;

use super::IndexSettings;
use crate::error::{Error, Result};
use crate::tokens::TokenVectors;

/// The format of the folder; another one is rebuilt.
const FORMAT: usize = 6;

/// What an index stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    settings: String,
    pub(super) log_bytes: u64,
    pub(super) vector_bytes: u64,
    pub(super) head: String,
}

impl State {
    pub(super) fn new(settings: &IndexSettings, head: &str, log_bytes: u64, vector_bytes: u64) -> Self {
        Self { settings: describe(settings), log_bytes, vector_bytes, head: head.to_owned() }
    }

    /// Whether an index of these settings may use what is there.
    pub(super) fn is_made_for(&self, settings: &IndexSettings) -> bool {
        self.settings == describe(settings)
    }

    /// The dimensions and the identity of the model that it was made by, where format and vocabulary are these.
    pub(super) fn model(&self, tokens: &dyn TokenVectors) -> Option<(usize, &str)> {
        let rest = self.settings.strip_prefix(&format!("{FORMAT} "))?;
        let (dimensions, rest) = rest.split_once(' ')?;
        let model = rest.strip_prefix(tokens.identity())?.strip_prefix(' ')?;
        Some((dimensions.parse().ok()?, model))
    }

    /// The folder's state; none when nothing was ever applied.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join("state");
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text).map(Some).ok_or_else(|| Error::Damaged("the state cannot be read".into())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                Err(Error::Damaged("the state is no text".into()))
            }
            Err(error) => Err(Error::io("read", &path)(error)),
        }
    }

    /// Puts this state in the place of the one before, at once.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let (path, new) = (folder.join("state"), folder.join("state.new"));
        std::fs::write(&new, self.text()).map_err(Error::io("write", &new))?;
        std::fs::rename(&new, &path).map_err(Error::io("replace", &path))
    }

    fn text(&self) -> String {
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
            head: numbers.next()?.to_owned(),
        })
    }
}

fn describe(settings: &IndexSettings) -> String {
    let IndexSettings { dimensions, model, tokens } = settings;
    format!("{FORMAT} {dimensions} {} {model}", tokens.identity())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_read_back_and_damage_is_seen() {
        let state = State { settings: "2 256 t a b".into(), log_bytes: 9, vector_bytes: 3, head: "abc".into() };
        let text = state.text();
        assert_eq!(State::parse(&text), Some(state));
        assert_eq!(State::parse(&text.replace("abc", "abd")), None);
        assert_eq!(State::parse(""), None);
        assert_eq!(State::parse(&text[..text.len() - 2]), None);
    }
}
