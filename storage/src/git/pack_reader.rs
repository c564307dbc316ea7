//! Reading where the objects of an existing pack are, so that packs can be joined by copying bytes.
//!
//! [`pack`](super::pack) describes the layout of a pack and of its index.

use std::collections::HashSet;
use std::fs;
use std::ops::Range;
use std::path::Path;

use gix::ObjectId;

use super::pack::{HASH_BYTES, PACK_HEADER_BYTES, sha1};
use super::pack_entry::{OFFSET_DELTA, REFERENCE_DELTA};
use crate::error::{Error, Result};

/// Signature and version of an index.
const INDEX_SIGNATURE_BYTES: usize = 8;
/// One count for each first byte of an id.
const FANOUT_BYTES: usize = 256 * 4;

/// An object of a pack and where its entry is.
pub(super) struct PackedObject {
    pub(super) id: ObjectId,
    /// Number of the pack among the packs that are joined.
    pub(super) pack: usize,
    /// Position of the entry in that pack, in bytes.
    pub(super) range: Range<usize>,
    /// Kind of the entry, as stored in the pack.
    pub(super) kind: u8,
    /// Unpacked size.
    pub(super) bytes: u64,
    /// Base of a delta, an object of the same pack.
    pub(super) base: Option<ObjectId>,
}

/// An object as the index lists it. The order of the fields sorts objects by offset.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct IndexedObject {
    offset: usize,
    id: ObjectId,
}

/// Reads every object of a pack and verifies the pack's checksum. Returns `None` for a pack that cannot be joined: it
/// has an index of another version, or a delta whose base is given by an offset or is not in the pack.
pub(super) fn read_objects(path: &Path, pack: usize) -> Result<Option<Vec<PackedObject>>> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    let index_path = path.with_extension("idx");
    let index = fs::read(&index_path).map_err(Error::io("read", &index_path))?;
    let data_end = verified_data_end(path, &bytes)?;
    let Some(indexed) = read_index(path, &index)? else { return Ok(None) };

    let ids: HashSet<ObjectId> = indexed.iter().map(|object| object.id).collect();
    let mut objects = Vec::with_capacity(indexed.len());
    for (number, object) in indexed.iter().enumerate() {
        let end = match indexed.get(number + 1) {
            Some(next) => next.offset,
            None => data_end,
        };
        let range = object.offset..end;
        let Some(entry) = bytes.get(range.clone()) else { return Err(corrupt(path, "its index points outside")) };
        if entry.is_empty() || object.offset < PACK_HEADER_BYTES {
            return Err(corrupt(path, "its index points outside"));
        }
        let Some((kind, size, rest)) = entry_header(entry) else {
            return Err(corrupt(path, "an entry is cut short"));
        };
        let base = match kind {
            OFFSET_DELTA => return Ok(None),
            REFERENCE_DELTA => {
                let Some(id) = rest.get(..HASH_BYTES) else { return Err(corrupt(path, "an entry is cut short")) };
                let base = ObjectId::from_bytes_or_panic(id);
                if !ids.contains(&base) {
                    return Ok(None);
                }
                Some(base)
            }
            _ => None,
        };
        objects.push(PackedObject { id: object.id, pack, range, kind, bytes: size, base });
    }
    Ok(Some(objects))
}

/// Returns where the entries of a pack end, after comparing the pack with its checksum.
fn verified_data_end(path: &Path, pack: &[u8]) -> Result<usize> {
    let Some(end) = pack.len().checked_sub(HASH_BYTES) else { return Err(corrupt(path, "too short")) };
    if sha1(&pack[..end])?.as_slice() != &pack[end..] {
        return Err(corrupt(path, "checksum does not match"));
    }
    Ok(end)
}

/// Reads the objects of an index, sorted by offset. Returns `None` for an index of another version.
fn read_index(path: &Path, index: &[u8]) -> Result<Option<Vec<IndexedObject>>> {
    if index_word(path, index, 0)? != 0xff74_4f63 || index_word(path, index, 4)? != 2 {
        return Ok(None);
    }
    let count = index_word(path, index, INDEX_SIGNATURE_BYTES + 255 * 4)? as usize;
    let ids = INDEX_SIGNATURE_BYTES + FANOUT_BYTES;
    // A CRC-32 of four bytes for each object comes before the offsets.
    let offsets = ids + count * (HASH_BYTES + 4);
    let mut objects = Vec::with_capacity(count);
    for number in 0..count {
        let Some(id) = index.get(ids + number * HASH_BYTES..ids + (number + 1) * HASH_BYTES) else {
            return Err(corrupt(path, "its index is cut short"));
        };
        let offset = index_word(path, index, offsets + number * 4)? as usize;
        objects.push(IndexedObject { offset, id: ObjectId::from_bytes_or_panic(id) });
    }
    objects.sort_unstable();
    Ok(Some(objects))
}

fn index_word(path: &Path, index: &[u8], at: usize) -> Result<u32> {
    match index.get(at..at + 4) {
        Some(&[a, b, c, d]) => Ok(u32::from_be_bytes([a, b, c, d])),
        _ => Err(corrupt(path, "its index is too short")),
    }
}

/// Reads the header of an entry: its kind, its unpacked size, and the bytes after both.
fn entry_header(entry: &[u8]) -> Option<(u8, u64, &[u8])> {
    let (first, mut rest) = entry.split_first()?;
    let kind = (first >> 4) & 7;
    let mut size = u64::from(first & 0x0f);
    let mut has_more = first & 0x80 != 0;
    let mut shift = 4;
    while has_more {
        let (byte, after) = rest.split_first()?;
        size |= u64::from(byte & 0x7f).checked_shl(shift)?;
        has_more = byte & 0x80 != 0;
        shift += 7;
        rest = after;
    }
    Some((kind, size, rest))
}

fn corrupt(path: &Path, reason: &str) -> Error {
    Error::corrupt(path.display().to_string(), reason)
}
