//! A layer's file, so that opening an index need not process the log again. Its content depends only on the two logs:
//!
//! ```text
//! "CBLAYER3" | u32 CRC-32 of what follows | u32 0 | numbers | arrays, each a u64 of bytes and little-endian elements
//! ```

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use super::Layer;
use super::inverted::InvertedIndex;
use super::lists::Lists;
use crate::error::{Error, Result};
use crate::index::log::Extent;

const MAGIC: &[u8; 8] = b"CBLAYER3";
/// Bytes before the checksummed part.
const HEADER_BYTES: usize = 16;
/// Bytes that are read in one piece, so that memory never holds a whole file in addition to its layer.
const READ_BYTES: usize = 64 << 10;

impl Layer {
    /// Writes the layer's file and removes those of the layers that it was merged from.
    pub(crate) fn persist(&self, folder: &Path) -> Result<()> {
        let path = folder.join(self.file_name());
        let new = folder.join("layer.new");
        if let Err(error) = std::fs::write(&new, self.to_bytes()) {
            // An incomplete file is useless, and the disk may be full.
            let _ = std::fs::remove_file(&new);
            return Err(Error::io("write", &new)(error));
        }
        std::fs::rename(&new, &path).map_err(Error::io("replace", &path))?;
        for (first, count) in files(folder)? {
            let is_own = (first, count) == (self.first, self.len());
            let is_inside = first >= self.first && first as usize + count <= self.range().end as usize;
            if is_inside && !is_own {
                let old = folder.join(file_name(first, count));
                std::fs::remove_file(&old).map_err(Error::io("remove", &old))?;
            }
        }
        Ok(())
    }

    /// Reads the layers in a folder that continue each other from the first document on and for which `is_valid` holds;
    /// where several files begin at one document, the longest layer. Any other file is removed: it can be rebuilt.
    pub(crate) fn read_all(folder: &Path, is_valid: impl Fn(&Self) -> bool) -> Result<Vec<Self>> {
        let mut layers: Vec<Self> = Vec::new();
        let mut found = files(folder)?;
        found.sort_by_key(|(first, count)| (*first, std::cmp::Reverse(*count)));
        for (first, count) in found {
            let path = folder.join(file_name(first, count));
            if layers.last().map_or(0, |last| last.range().end) == first {
                let file = File::open(&path).map_err(Error::io("open", &path))?;
                let bytes = file.metadata().map_err(Error::io("read", &path))?.len();
                match Self::from_reader(file, bytes) {
                    Ok(layer) if (layer.first, layer.len()) == (first, count) && is_valid(&layer) => {
                        layers.push(layer);
                        continue;
                    }
                    _ => {}
                }
            }
            std::fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        Ok(layers)
    }

    fn file_name(&self) -> String {
        file_name(self.first, self.len())
    }

    /// Encodes the file.
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer(Vec::with_capacity(HEADER_BYTES + self.inverted.documents.len() * 8 + self.len() * 200));
        out.0.extend_from_slice(MAGIC);
        out.0.extend_from_slice(&[0; HEADER_BYTES - MAGIC.len()]);
        for number in
            [u64::from(self.first), self.vectors.range.start, self.vectors.range.end, u64::from(self.vectors.checksum)]
        {
            out.0.extend_from_slice(&number.to_le_bytes());
        }
        out.array(&self.path, u64::to_le_bytes);
        out.array(&self.session, u64::to_le_bytes);
        for column in &self.times {
            out.array(column, i64::to_le_bytes);
        }
        out.array(&self.hidden_from, i64::to_le_bytes);
        out.array(&self.frames, u64::to_le_bytes);
        out.array(&self.rows, u32::to_le_bytes);
        out.array(&self.words, u32::to_le_bytes);
        out.array(&self.length, u32::to_le_bytes);
        out.array(&self.flags, |v| [v]);
        for lists in [&self.speaker, &self.entities, &self.links] {
            out.array(&lists.starts, u32::to_le_bytes);
            out.array(&lists.values, u64::to_le_bytes);
        }
        out.array(&self.tokens.starts, u32::to_le_bytes);
        out.array(&self.tokens.values, u16::to_le_bytes);
        out.array(&self.inverted.terms, u64::to_le_bytes);
        out.array(&self.inverted.starts, u32::to_le_bytes);
        out.array(&self.inverted.documents, u32::to_le_bytes);
        out.array(&self.inverted.counts, |v| [v]);
        out.array(&self.inverted.lengths, u16::to_le_bytes);
        let checksum = crc32fast::hash(&out.0[HEADER_BYTES..]);
        out.0[MAGIC.len()..MAGIC.len() + 4].copy_from_slice(&checksum.to_le_bytes());
        out.0
    }

    /// Decodes `bytes` bytes that [`Layer::to_bytes`] wrote. A checksum can match by chance, so the columns must also
    /// be consistent: a layer that is returned can be searched.
    fn from_reader(mut file: impl Read, bytes: u64) -> Result<Self> {
        let mut header = [0; HEADER_BYTES];
        if file.read_exact(&mut header).is_err() {
            return Err(truncated());
        }
        let Some([a, b, c, d, ..]) = header.strip_prefix(MAGIC) else {
            return Err(Error::Damaged("a layer's file has an unknown format".into()));
        };
        let checksum = u32::from_le_bytes([*a, *b, *c, *d]);
        let mut from = Reader::new(file, bytes.saturating_sub(HEADER_BYTES as u64));
        let layer = Self {
            first: from.number()? as u32,
            vectors: Extent { range: from.number()?..from.number()?, checksum: from.number()? as u32 },
            path: from.array(u64::from_le_bytes)?,
            session: from.array(u64::from_le_bytes)?,
            times: [from.array(i64::from_le_bytes)?, from.array(i64::from_le_bytes)?, from.array(i64::from_le_bytes)?],
            occurred_between: OnceLock::new(),
            hidden_from: from.array(i64::from_le_bytes)?,
            frames: from.array(u64::from_le_bytes)?,
            rows: from.array(u32::from_le_bytes)?,
            words: from.array(u32::from_le_bytes)?,
            length: from.array(u32::from_le_bytes)?,
            flags: from.array(|[byte]| byte)?,
            speaker: from.lists(u64::from_le_bytes)?,
            entities: from.lists(u64::from_le_bytes)?,
            links: from.lists(u64::from_le_bytes)?,
            tokens: from.lists(u16::from_le_bytes)?,
            inverted: InvertedIndex {
                terms: from.array(u64::from_le_bytes)?,
                starts: from.array(u32::from_le_bytes)?,
                documents: from.array(u32::from_le_bytes)?,
                counts: from.array(|[byte]| byte)?,
                lengths: from.array(u16::from_le_bytes)?,
            },
        };
        if from.finish() == Some(checksum) && layer.is_consistent() {
            Ok(layer)
        } else {
            Err(Error::Damaged("a layer's file does not match its checksum, or its columns are inconsistent".into()))
        }
    }

    /// Whether every column has one element per document, and every index into an array lies inside it.
    fn is_consistent(&self) -> bool {
        let count = self.len();
        let [occurred, created, updated] = self.times.each_ref().map(Vec::len);
        let columns = [self.session.len(), occurred, created, updated, self.hidden_from.len(), self.words.len()];
        let columns = columns.iter().chain(&[self.length.len(), self.flags.len()]).all(|length| *length == count);
        columns
            && self.first as usize + count <= u32::MAX as usize
            && self.frames.len() == count + 1
            && self.frames.is_sorted()
            && are_starts(&self.rows, count, usize::MAX)
            && self.speaker.is_consistent(count)
            && self.entities.is_consistent(count)
            && self.links.is_consistent(count)
            && self.tokens.is_consistent(count)
            && self.inverted.is_consistent(self.first..self.first + count as u32)
    }
}

impl<T> Lists<T> {
    fn is_consistent(&self, count: usize) -> bool {
        are_starts(&self.starts, count, self.values.len())
    }
}

impl InvertedIndex {
    /// Whether the arrays fit together, and every posting is of one of these documents.
    fn is_consistent(&self, documents: Range<u32>) -> bool {
        self.terms.is_sorted()
            && self.counts.len() == self.documents.len()
            && self.lengths.len() == self.documents.len()
            && are_starts(&self.starts, self.terms.len(), self.documents.len())
            && self.documents.iter().all(|document| documents.contains(document))
    }
}

/// Whether these are the starts of `lists` consecutive lists in an array of `values` elements.
fn are_starts(starts: &[u32], lists: usize, values: usize) -> bool {
    starts.len() == lists + 1 && starts.is_sorted() && starts.last().is_some_and(|end| *end as usize <= values)
}

fn truncated() -> Error {
    Error::Damaged("a layer's file is truncated".into())
}

fn file_name(first: u32, count: usize) -> String {
    format!("layer-{first}-{count}")
}

/// Returns the first document and the number of documents of every layer's file in a folder.
fn files(folder: &Path) -> Result<Vec<(u32, usize)>> {
    let mut files = Vec::new();
    for file in std::fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let name = file.map_err(Error::io("list", folder))?.file_name();
        if let Some(name) = name.to_str() {
            files.extend(parse_file_name(name));
        }
    }
    Ok(files)
}

/// The inverse of [`file_name`].
fn parse_file_name(name: &str) -> Option<(u32, usize)> {
    let (first, count) = name.strip_prefix("layer-")?.split_once('-')?;
    Some((first.parse().ok()?, count.parse().ok()?))
}

/// The content of a file.
struct Writer(Vec<u8>);

impl Writer {
    fn array<T: Copy, const N: usize>(&mut self, values: &[T], bytes: impl Fn(T) -> [u8; N]) {
        self.0.extend_from_slice(&((values.len() * N) as u64).to_le_bytes());
        self.0.reserve(values.len() * N);
        for value in values {
            self.0.extend_from_slice(&bytes(*value));
        }
    }
}

/// Reads numbers and arrays from a file, piece by piece, and computes the checksum of what was read.
struct Reader<R> {
    file: R,
    /// Bytes that were not read yet.
    left: u64,
    checksum: crc32fast::Hasher,
    piece: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// Creates a reader of the next `left` bytes.
    fn new(file: R, left: u64) -> Self {
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

    fn number(&mut self) -> Result<u64> {
        let mut number = [0; 8];
        number.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(number))
    }

    fn array<T, const N: usize>(&mut self, value: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        let bytes = self.number()?;
        if bytes > self.left {
            return Err(truncated());
        }
        let mut bytes = bytes as usize;
        let mut values = Vec::with_capacity(bytes / N);
        while bytes > 0 {
            let piece = bytes.min(READ_BYTES);
            let (elements, _) = self.take(piece)?.as_chunks::<N>();
            values.extend(elements.iter().map(|element| value(*element)));
            bytes -= piece;
        }
        Ok(values)
    }

    fn lists<T, const N: usize>(&mut self, value: impl Fn([u8; N]) -> T) -> Result<Lists<T>> {
        Ok(Lists { starts: self.array(u32::from_le_bytes)?, values: self.array(value)? })
    }

    /// Returns the checksum of all bytes; `None` if some were not read.
    fn finish(self) -> Option<u32> {
        (self.left == 0).then(|| self.checksum.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::layer::tests::two;

    #[test]
    fn a_file_is_read_back_and_a_flipped_bit_is_detected() {
        let layer = two();
        let mut bytes = layer.to_bytes();
        assert_eq!(Layer::from_reader(&bytes[..], bytes.len() as u64).expect("reads"), layer);
        for at in [0, 9, 40, bytes.len() - 1] {
            bytes[at] ^= 4;
            assert!(Layer::from_reader(&bytes[..], bytes.len() as u64).is_err(), "{at}");
            bytes[at] ^= 4;
        }
        assert!(Layer::from_reader(&bytes[..bytes.len() - 1], bytes.len() as u64 - 1).is_err());
    }
}
