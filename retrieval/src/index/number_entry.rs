//! Numbers of the metadata, for conditions with a bound.

use serde::{Deserialize, Serialize};

use crate::hash::MetadataKeyHash;
use crate::metadata::MetadataValue;

/// Bytes of an entry in a layer's file.
const BYTES: usize = 16;

/// A key of the metadata whose value is a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NumberEntry {
    pub(crate) key: MetadataKeyHash,
    /// The number, rounded to a 64-bit float.
    pub(crate) number: f64,
}

impl NumberEntry {
    /// Returns the entry of a value; `None` if it is not a number.
    pub(crate) fn new(key: &str, value: &MetadataValue) -> Option<Self> {
        let number = value.number()?;
        Some(Self { key: MetadataKeyHash::of(key), number })
    }

    /// Returns the form on disk: the key, then the number.
    pub(crate) fn to_le_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&self.key.to_le_bytes());
        bytes[8..].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    /// Reads the form on disk.
    pub(crate) fn from_le_bytes(bytes: [u8; BYTES]) -> Self {
        let (words, _) = bytes.as_chunks::<8>();
        Self { key: MetadataKeyHash::from_le_bytes(words[0]), number: f64::from_le_bytes(words[1]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_back_from_its_bytes() {
        for value in [MetadataValue::Integer(-7), MetadataValue::Float(2.5)] {
            let entry = NumberEntry::new("priority", &value).expect("a number");
            assert_eq!(NumberEntry::from_le_bytes(entry.to_le_bytes()), entry);
        }
        assert_eq!(NumberEntry::new("priority", &MetadataValue::Text("7".into())), None);
    }
}
