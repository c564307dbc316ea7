//! A layer's file, so that opening an index does not work through the log again.
//!
//! It is a function of the two logs alone:
//!
//! ```text
//! "CBLAYER3" | u32 CRC-32 of what follows | u32 0 | numbers | arrays, each a u64 of bytes and little-endian elements
//! ```

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

use super::Layer;
use super::inverted::Inverted;
use super::lists::Lists;
use crate::error::{Error, Result};
use crate::index::log::Extent;

const MAGIC: &[u8; 8] = b"CBLAYER3";
/// Bytes before the checksummed part.
const HEADER_BYTES: usize = 16;
/// Bytes that are read at once: a file is never in memory beside the layer that is made of it.
const READ_BYTES: usize = 64 << 10;

impl Layer {
    /// Writes its file and removes those of the layers that it was merged from.
    pub(crate) fn persist(&self, folder: &Path) -> Result<()> {
        let path = folder.join(self.file_name());
        let new = folder.join("layer.new");
        if let Err(error) = std::fs::write(&new, self.to_bytes()) {
            // Half a file is of no use, and the disk may be full.
            let _ = std::fs::remove_file(&new);
            return Err(Error::io("write", &new)(error));
        }
        std::fs::rename(&new, &path).map_err(Error::io("replace", &path))?;
        let inside = |(first, count): &(u32, usize)| {
            (*first, *count) != (self.first, self.len())
                && *first >= self.first
                && *first as usize + count <= self.range().end as usize
        };
        for (first, count) in files(folder)?.into_iter().filter(inside) {
            let old = folder.join(file_name(first, count));
            std::fs::remove_file(&old).map_err(Error::io("remove", &old))?;
        }
        Ok(())
    }

    /// The layers in a folder's files that follow one another from the first document on and that `fits` approves of,
    /// the longest where there is a choice. Any other file is removed: it can be made again.
    pub(crate) fn read_all(folder: &Path, fits: impl Fn(&Self) -> bool) -> Result<Vec<Self>> {
        let mut layers: Vec<Self> = Vec::new();
        let mut found = files(folder)?;
        found.sort_by_key(|(first, count)| (*first, std::cmp::Reverse(*count)));
        for (first, count) in found {
            let path = folder.join(file_name(first, count));
            if layers.last().map_or(0, |last| last.range().end) == first {
                let file = File::open(&path).map_err(Error::io("open", &path))?;
                let bytes = file.metadata().map_err(Error::io("read", &path))?.len();
                match Self::from_reader(file, bytes) {
                    Ok(layer) if (layer.first, layer.len()) == (first, count) && fits(&layer) => {
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

    /// The file's bytes.
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
        self.times.iter().for_each(|column| out.array(column, i64::to_le_bytes));
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

    /// Reads so many bytes that [`Layer::to_bytes`] wrote. A checksum can fit by chance, so what is read must fit together
    /// too: whatever this returns can be searched.
    fn from_reader(mut file: impl Read, bytes: u64) -> Result<Self> {
        let damaged = || Error::Damaged("a layer's file is not whole".into());
        let mut header = [0; HEADER_BYTES];
        file.read_exact(&mut header).map_err(|_| damaged())?;
        let checksum = header.strip_prefix(MAGIC).and_then(|rest| rest.first_chunk()).ok_or_else(damaged)?;
        let checksum = u32::from_le_bytes(*checksum);
        let mut from = Reader::new(file, bytes.saturating_sub(HEADER_BYTES as u64));
        let lists = |from: &mut Reader<_>| -> Result<Lists<u64>> {
            Ok(Lists { starts: from.array(u32::from_le_bytes)?, values: from.array(u64::from_le_bytes)? })
        };
        let first = from.number()? as u32;
        let extent = |from: &mut Reader<_>| -> Result<Extent> {
            Ok(Extent { range: from.number()?..from.number()?, checksum: from.number()? as u32 })
        };
        let layer = Self {
            first,
            vectors: extent(&mut from)?,
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
            speaker: lists(&mut from)?,
            entities: lists(&mut from)?,
            links: lists(&mut from)?,
            tokens: Lists { starts: from.array(u32::from_le_bytes)?, values: from.array(u16::from_le_bytes)? },
            inverted: Inverted {
                terms: from.array(u64::from_le_bytes)?,
                starts: from.array(u32::from_le_bytes)?,
                documents: from.array(u32::from_le_bytes)?,
                counts: from.array(|[byte]| byte)?,
                lengths: from.array(u16::from_le_bytes)?,
            },
        };
        if from.finish() == Some(checksum) && layer.fits_together() { Ok(layer) } else { Err(damaged()) }
    }

    /// Whether every column has an element a document, and whatever points into an array points inside it.
    fn fits_together(&self) -> bool {
        let count = self.len();
        let [occurred, created, updated] = self.times.each_ref().map(Vec::len);
        let columns = [self.session.len(), occurred, created, updated, self.hidden_from.len(), self.words.len()];
        let columns = columns.iter().chain(&[self.length.len(), self.flags.len()]).all(|length| *length == count);
        let borders = |starts: &[u32], lists: usize, values: usize| {
            starts.len() == lists + 1 && starts.is_sorted() && starts.last().is_some_and(|end| *end as usize <= values)
        };
        let lists = [&self.speaker, &self.entities, &self.links];
        let inverted = &self.inverted;
        let end = self.first as usize + count;
        columns
            && end <= u32::MAX as usize
            && self.frames.len() == count + 1
            && self.frames.is_sorted()
            && borders(&self.rows, count, usize::MAX)
            && lists.iter().all(|lists| borders(&lists.starts, count, lists.values.len()))
            && borders(&self.tokens.starts, count, self.tokens.values.len())
            && inverted.terms.is_sorted()
            && inverted.counts.len() == inverted.documents.len()
            && inverted.lengths.len() == inverted.documents.len()
            && borders(&inverted.starts, inverted.terms.len(), inverted.documents.len())
            && inverted.documents.iter().all(|document| (self.first as usize..end).contains(&(*document as usize)))
    }
}

fn file_name(first: u32, count: usize) -> String {
    format!("layer-{first}-{count}")
}

/// First document and count of every layer's file in a folder.
fn files(folder: &Path) -> Result<Vec<(u32, usize)>> {
    let mut files = Vec::new();
    for file in std::fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let name = file.map_err(Error::io("list", folder))?.file_name();
        let numbers = name.to_str().and_then(|name| name.strip_prefix("layer-")?.split_once('-'));
        let numbers = numbers.and_then(|(first, count)| Some((first.parse().ok()?, count.parse().ok()?)));
        files.extend(numbers);
    }
    Ok(files)
}

struct Writer(Vec<u8>);

impl Writer {
    fn array<T: Copy, const N: usize>(&mut self, values: &[T], bytes: impl Fn(T) -> [u8; N]) {
        self.0.extend_from_slice(&((values.len() * N) as u64).to_le_bytes());
        self.0.reserve(values.len() * N);
        values.iter().for_each(|value| self.0.extend_from_slice(&bytes(*value)));
    }
}

/// Numbers and arrays from a file, a piece at a time, and the checksum of what was read.
struct Reader<R> {
    file: R,
    left: u64,
    checksum: crc32fast::Hasher,
    piece: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// Reads up to so many bytes.
    fn new(file: R, left: u64) -> Self {
        Self { file, left, checksum: crc32fast::Hasher::new(), piece: vec![0; READ_BYTES] }
    }

    /// The next bytes, as many as are read at once at most.
    fn take(&mut self, bytes: usize) -> Result<&[u8]> {
        let short = || Error::Damaged("a layer's file is cut short".into());
        self.left = self.left.checked_sub(bytes as u64).ok_or_else(short)?;
        let piece = &mut self.piece[..bytes];
        self.file.read_exact(piece).map_err(|_| short())?;
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
            return Err(Error::Damaged("a layer's file is cut short".into()));
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

    /// The checksum of everything read; none where something is left.
    fn finish(self) -> Option<u32> {
        (self.left == 0).then(|| self.checksum.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::layer::tests::two;

    #[test]
    fn a_file_is_read_back_and_a_flipped_bit_is_seen() {
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
