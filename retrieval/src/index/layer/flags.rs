//! The flags of a document: what is either true of it or not, in one byte.

use crate::index::entry::{IndexedMemory, NEVER, UNKNOWN};

const ASKS: u8 = 1;
const FORGOTTEN: u8 = 2;
const WAITING: u8 = 4;
const DATED: u8 = 8;

/// The flags of a document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Flags(u8);

impl Flags {
    /// The flags of a tombstone.
    pub(super) const FORGOTTEN: Self = Self(FORGOTTEN);

    /// Returns the flags of a memory.
    pub(super) fn of(memory: &IndexedMemory) -> Self {
        let is_dated = !memory.claims.is_empty() || memory.valid_from != UNKNOWN || memory.valid_until != NEVER;
        let waiting = u8::from(memory.waiting) * WAITING;
        Self((u8::from(memory.asks) * ASKS) | waiting | (u8::from(is_dated) * DATED))
    }

    /// Whether the content contains a question.
    #[inline]
    pub(super) const fn asks(self) -> bool {
        self.0 & ASKS != 0
    }

    /// Whether this is a tombstone: the path was forgotten.
    #[inline]
    pub(super) const fn forgotten(self) -> bool {
        self.0 & FORGOTTEN != 0
    }

    /// Whether some cues await vectors.
    #[inline]
    pub(super) const fn waiting(self) -> bool {
        self.0 & WAITING != 0
    }

    /// Whether the memory has claims, or somebody set when it holds.
    #[inline]
    pub(super) const fn dated(self) -> bool {
        self.0 & DATED != 0
    }

    /// Returns the form on disk.
    #[inline]
    pub(super) const fn to_le_bytes(self) -> [u8; 1] {
        [self.0]
    }

    /// Reads the form on disk.
    #[inline]
    pub(super) const fn from_le_bytes([bits]: [u8; 1]) -> Self {
        Self(bits)
    }
}
