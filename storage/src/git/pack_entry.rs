//! Encoding the entries of a pack. [`pack`](super::pack) shows their format.

use flate2::{Compress, Compression, FlushCompress, Status};
use gix::ObjectId;
use gix::objs::Kind;

use crate::error::{Error, Result};

/// Kind of an entry that is a delta and gives its base as an offset within the pack.
pub(super) const OFFSET_DELTA: u8 = 6;
/// Kind of an entry that is a delta and names its base by its id.
pub(super) const REFERENCE_DELTA: u8 = 7;
/// Least room for compressed data that is made at a time.
const ROOM_BYTES: usize = 256;

/// An encoder for many entries. It keeps the tables of the compression, which take longer to make than a small object
/// takes to compress.
pub(super) struct EntryEncoder {
    compression: Compress,
}

impl Default for EntryEncoder {
    fn default() -> Self {
        // The fastest level: half of a tree is hashes, which cannot be compressed, and blobs are small.
        Self { compression: Compress::new(Compression::fast(), true) }
    }
}

impl EntryEncoder {
    /// Encodes the entry of an object: kind, size and compressed data.
    pub(super) fn encode(&mut self, kind: Kind, data: &[u8]) -> Result<Vec<u8>> {
        let kind = match kind {
            Kind::Commit => 1,
            Kind::Tree => 2,
            Kind::Blob => 3,
            Kind::Tag => 4,
        };
        let mut entry = header(kind, data.len());
        self.compress(data, &mut entry)?;
        Ok(entry)
    }

    /// Encodes the entry of a delta: kind, size, the base's id and compressed instructions.
    pub(super) fn encode_delta(&mut self, base: ObjectId, delta: &[u8]) -> Result<Vec<u8>> {
        let mut entry = header(REFERENCE_DELTA, delta.len());
        entry.extend_from_slice(base.as_slice());
        self.compress(delta, &mut entry)?;
        Ok(entry)
    }

    /// Appends the compressed data to an entry.
    fn compress(&mut self, data: &[u8], entry: &mut Vec<u8>) -> Result<()> {
        self.compression.reset();
        loop {
            entry.reserve(ROOM_BYTES + data.len() / 2);
            let done = self.compression.total_in() as usize;
            let rest = data.get(done..).unwrap_or_default();
            let status = self.compression.compress_vec(rest, entry, FlushCompress::Finish);
            if status.map_err(Error::git("compress an object"))? == Status::StreamEnd {
                return Ok(());
            }
        }
    }
}

/// Encodes the kind in bits 4 to 6 of the first byte, and the size in its low 4 bits and 7 bits of each further byte.
fn header(kind: u8, size: usize) -> Vec<u8> {
    let mut rest = size >> 4;
    let mut bytes = vec![(kind << 4) | (size & 0x0f) as u8];
    while rest > 0 {
        if let Some(last) = bytes.last_mut() {
            *last |= 0x80;
        }
        bytes.push((rest & 0x7f) as u8);
        rest >>= 7;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;

    use super::*;

    #[test]
    fn objects_of_any_length_are_encoded_one_after_another() {
        let mut encoder = EntryEncoder::default();
        let mut state = 1u32;
        for length in [0usize, 1, 15, 16, 700, 5_000, 300_000] {
            // Half of it cannot be compressed.
            let mut data = vec![7; length];
            for byte in data.iter_mut().skip(length / 2) {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (state >> 24) as u8;
            }
            let entry = encoder.encode(Kind::Blob, &data).expect("encodes");
            let header_bytes = header(3, length).len();
            let mut decoded = Vec::new();
            ZlibDecoder::new(&entry[header_bytes..]).read_to_end(&mut decoded).expect("is complete");
            assert_eq!(decoded, data, "{length} bytes");
        }
    }
}
