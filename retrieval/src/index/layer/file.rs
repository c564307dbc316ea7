//! A layer's file, so that opening an index need not process the log again. Its content depends only on the two logs:
//!
//! ```text
//! "CBLAYER4" | u32 CRC-32 of what follows | u32 0 | numbers | arrays, each a u64 of bytes and little-endian elements
//! ```
//!
//! The numbers are `u64`: the first document, then begin, end and checksum of the rows in the log of vectors. The
//! arrays are the columns in the order of their declaration, then those of the inverted index.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

use super::Layer;
use super::columns::Columns;
use super::encoding::{Reader, Writer, truncated};
use super::inverted::InvertedIndex;
use crate::error::{Error, Result};
use crate::ids::DocumentId;
use crate::index::log::Extent;

const MAGIC: &[u8; 8] = b"CBLAYER4";
/// Bytes before the checksummed part.
const HEADER_BYTES: usize = 16;

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
            let is_inside = first >= self.first && first.index() + count <= self.end().index();
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
            if layers.last().map_or(DocumentId::new(0), Self::end) == first {
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

    /// Returns the names of the layers' files in a folder.
    pub(crate) fn file_names(folder: &Path) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for (first, count) in files(folder)? {
            names.push(file_name(first, count));
        }
        Ok(names)
    }

    fn file_name(&self) -> String {
        file_name(self.first, self.len())
    }

    /// Encodes the file.
    fn to_bytes(&self) -> Vec<u8> {
        let capacity = HEADER_BYTES + self.inverted.posting_count() * 8 + self.len() * 200;
        let mut out = Writer { bytes: Vec::with_capacity(capacity) };
        out.bytes.extend_from_slice(MAGIC);
        out.bytes.extend_from_slice(&[0; HEADER_BYTES - MAGIC.len()]);
        out.number(u64::from(self.first.get()));
        out.number(self.vectors.range.start);
        out.number(self.vectors.range.end);
        out.number(u64::from(self.vectors.checksum));
        self.columns.write(&mut out);
        self.inverted.write(&mut out);
        let mut bytes = out.bytes;
        let checksum = crc32fast::hash(&bytes[HEADER_BYTES..]);
        bytes[MAGIC.len()..MAGIC.len() + 4].copy_from_slice(&checksum.to_le_bytes());
        bytes
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
            first: DocumentId::new(from.number()? as u32),
            vectors: Extent { range: from.number()?..from.number()?, checksum: from.number()? as u32 },
            columns: Columns::read(&mut from)?,
            inverted: InvertedIndex::read(&mut from)?,
            occurred_between: OnceLock::new(),
        };
        if from.finish() == Some(checksum) && layer.is_consistent() {
            Ok(layer)
        } else {
            Err(Error::Damaged("a layer's file does not match its checksum, or its columns are inconsistent".into()))
        }
    }

    /// Whether every column is one of all documents, and every index into an array lies inside it.
    fn is_consistent(&self) -> bool {
        let count = self.len();
        self.first.index() + count <= u32::MAX as usize
            && self.columns.fit(count)
            && self.inverted.is_consistent(&(self.first..self.end()))
    }
}

fn file_name(first: DocumentId, count: usize) -> String {
    format!("layer-{}-{count}", first.get())
}

/// Returns the first document and the number of documents of every layer's file in a folder.
fn files(folder: &Path) -> Result<Vec<(DocumentId, usize)>> {
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
fn parse_file_name(name: &str) -> Option<(DocumentId, usize)> {
    let (first, count) = name.strip_prefix("layer-")?.split_once('-')?;
    Some((DocumentId::new(first.parse().ok()?), count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::layer::tests::two;

    #[test]
    fn the_format_never_changes() {
        // A file of another layout would need another mark at its begin.
        let bytes = two().to_bytes();
        assert_eq!((bytes.len(), &bytes[8..12]), (706, &1_339_643_068_u32.to_le_bytes()[..]));
    }

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
