//! Arrays in a file: a `u64` with the number of bytes, then the elements, little-endian.

use std::io::Read;

use super::flags::Flags;
use crate::error::{Error, Result};
use crate::hash::{Link, NameHash, PathHash, PostingKey, SessionHash, StatementHash};
use crate::ids::{ClaimId, DocumentId, RowId};
use crate::index::claim_entry::ClaimEntry;
use crate::index::number_entry::NumberEntry;

/// Bytes that are read in one piece, so that memory never holds a whole file in addition to its layer.
const READ_BYTES: usize = 64 << 10;

/// An element of an array. It takes as many bytes on disk as in memory.
pub(super) trait Element: Copy + 'static {
    /// Appends the form on disk of some elements.
    fn write(elements: &[Self], out: &mut Vec<u8>);

    /// Appends the elements in some bytes. Bytes after the last whole element are ignored.
    fn read(bytes: &[u8], elements: &mut Vec<Self>);
}

macro_rules! elements {
    ($($element:ty),*) => {$(
        impl Element for $element {
            fn write(elements: &[Self], out: &mut Vec<u8>) {
                out.reserve(size_of_val(elements));
                for element in elements {
                    out.extend_from_slice(&element.to_le_bytes());
                }
            }

            fn read(bytes: &[u8], elements: &mut Vec<Self>) {
                let (whole, _) = bytes.as_chunks::<{ size_of::<$element>() }>();
                elements.extend(whole.iter().map(|bytes| Self::from_le_bytes(*bytes)));
            }
        }
    )*};
}

elements!(
    u8,
    u16,
    u32,
    u64,
    i64,
    Flags,
    DocumentId,
    RowId,
    ClaimId,
    PathHash,
    SessionHash,
    NameHash,
    StatementHash,
    PostingKey,
    Link,
    ClaimEntry,
    NumberEntry
);

/// The content of a file that is written.
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
}

impl Writer {
    pub(super) fn number(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn array<T: Element>(&mut self, elements: &[T]) {
        self.number(size_of_val(elements) as u64);
        T::write(elements, &mut self.bytes);
    }
}

/// Reads numbers and arrays from a file, piece by piece, and computes the checksum of what was read.
pub(super) struct Reader<R> {
    file: R,
    /// Bytes that were not read yet.
    left: u64,
    checksum: crc32fast::Hasher,
    piece: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// Creates a reader of the next `left` bytes.
    pub(super) fn new(file: R, left: u64) -> Self {
        Self { file, left, checksum: crc32fast::Hasher::new(), piece: vec![0; READ_BYTES] }
    }

    /// Reads the next bytes, at most [`READ_BYTES`].
    fn take(&mut self, bytes: usize) -> Result<&[u8]> {
        let Some(left) = self.left.checked_sub(bytes as u64) else { return Err(truncated()) };
        self.left = left;
        let piece = &mut self.piece[..bytes];
        if self.file.read_exact(piece).is_err() {
            return Err(truncated());
        }
        self.checksum.update(piece);
        Ok(piece)
    }

    pub(super) fn number(&mut self) -> Result<u64> {
        let mut number = [0; 8];
        number.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(number))
    }

    pub(super) fn array<T: Element>(&mut self) -> Result<Vec<T>> {
        let bytes = self.number()?;
        if bytes > self.left {
            return Err(truncated());
        }
        let mut bytes = bytes as usize;
        let mut elements = Vec::with_capacity(bytes / size_of::<T>());
        // No element is cut in two.
        let whole_elements = READ_BYTES - READ_BYTES % size_of::<T>();
        while bytes > 0 {
            let piece = bytes.min(whole_elements);
            T::read(self.take(piece)?, &mut elements);
            bytes -= piece;
        }
        Ok(elements)
    }

    /// Returns the checksum of all bytes; `None` if some were not read.
    pub(super) fn finish(self) -> Option<u32> {
        if self.left == 0 { Some(self.checksum.finalize()) } else { None }
    }
}

/// The error of a file that ends too early.
pub(super) fn truncated() -> Error {
    Error::Damaged("a layer's file is truncated".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SubjectHash;

    #[test]
    fn arrays_longer_than_a_piece_are_read_back() {
        let mut out = Writer { bytes: Vec::new() };
        let numbers: Vec<u32> = (0..50_000).collect();
        // A piece does not hold a whole number of claims.
        let claims: Vec<ClaimEntry> = (0..5_000)
            .map(|n| ClaimEntry { subject: SubjectHash::of(&format!("person {n}")), from: n, ..ClaimEntry::default() })
            .collect();
        out.array(&numbers);
        out.array(&claims);
        let mut from = Reader::new(out.bytes.as_slice(), out.bytes.len() as u64);
        assert_eq!(from.array::<u32>().expect("reads"), numbers);
        assert_eq!(from.array::<ClaimEntry>().expect("reads"), claims);
        assert_eq!(from.finish(), Some(crc32fast::hash(&out.bytes)));
    }
}
