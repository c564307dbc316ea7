//! Checking a pack against limits before it is unpacked: the number of objects, their unpacked sizes, and the lengths
//! of delta chains.
//!
//! The pack is read once and not kept, so any pack takes little memory and a bounded amount of work. Its checksum is
//! not verified here; [`Repository::store_pack`](super::Repository::store_pack) does that.

use std::collections::HashMap;
use std::io::{BufRead, ErrorKind, Read};
use std::path::Path;

use flate2::{Decompress, FlushDecompress, Status};

use super::limits::{IntakeLimits, OBJECT_BYTES_MAX};
use super::pack::{HASH_BYTES, PACK_HEADER_BYTES};
use super::pack_entry::{OFFSET_DELTA, REFERENCE_DELTA};
use crate::error::{Error, Result};

/// Bytes that are unpacked at a time.
const BUFFER_BYTES: usize = 32 << 10;
/// Size of a delta's header: two sizes of at most 10 bytes each.
const DELTA_HEADER_BYTES_MAX: usize = 20;

/// Checks a pack against limits.
///
/// # Errors
///
/// [`Error::Invalid`] if the pack exceeds a limit or is malformed.
pub fn check_pack(pack: &mut dyn BufRead, limits: &IntakeLimits) -> Result<()> {
    let mut scan = PackScan {
        pack,
        offset: 0,
        inflater: Decompress::new(true),
        buffer: vec![0; BUFFER_BYTES],
        first_bytes: Vec::with_capacity(DELTA_HEADER_BYTES_MAX),
    };
    let header = scan.take::<PACK_HEADER_BYTES>()?;
    if !header.starts_with(b"PACK\0\0\0\x02") {
        return Err(rejected("it does not begin like a pack of version 2"));
    }
    let count = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
    if count > limits.objects_max {
        return Err(rejected(format!(
            "it has {count} objects, at most {} are accepted: send fewer",
            limits.objects_max
        )));
    }
    let mut unpacked_bytes = 0u64;
    let mut reference_deltas = 0u32;
    // Length of the chain that ends at each delta, by the delta's offset in the pack.
    let mut chains: HashMap<u64, u32> = HashMap::new();
    for _ in 0..count {
        let offset = scan.offset;
        let entry = scan.entry_header(offset)?;
        unpacked_bytes = unpacked_bytes.saturating_add(entry.size);
        check_unpacked(entry.size, unpacked_bytes, limits)?;
        scan.inflate(entry.size)?;
        match entry.base {
            DeltaBase::None => continue,
            DeltaBase::Reference => reference_deltas += 1,
            DeltaBase::Offset(base) => {
                let chain = match chains.get(&base) {
                    Some(length) => length + 1,
                    None => 1,
                };
                if chain > limits.chain_max {
                    return Err(rejected(format!("a chain of deltas is longer than {}", limits.chain_max)));
                }
                chains.insert(offset, chain);
            }
        }
        if reference_deltas > limits.reference_deltas_max {
            let reason = format!(
                "more than {} deltas name their base by its id: send it without --thin",
                limits.reference_deltas_max
            );
            return Err(rejected(reason));
        }
        let result = delta_result_size(&scan.first_bytes)?;
        unpacked_bytes = unpacked_bytes.saturating_add(result);
        check_unpacked(result, unpacked_bytes, limits)?;
    }
    Ok(())
}

fn check_unpacked(object: u64, total: u64, limits: &IntakeLimits) -> Result<()> {
    if object > OBJECT_BYTES_MAX {
        return Err(rejected(format!("one object has {object} bytes, at most {OBJECT_BYTES_MAX} are accepted")));
    }
    if total > limits.unpacked_bytes_max {
        let reason =
            format!("unpacked it takes more than {} bytes: send fewer commits at a time", limits.unpacked_bytes_max);
        return Err(rejected(reason));
    }
    Ok(())
}

fn rejected(reason: impl std::fmt::Display) -> Error {
    Error::invalid("pack", reason)
}

/// The base of an entry that may be a delta.
enum DeltaBase {
    /// The entry is a whole object.
    None,
    /// An entry of this pack, by its offset.
    Offset(u64),
    /// An object, by its id.
    Reference,
}

/// The header of a pack entry.
struct EntryHeader {
    /// Unpacked size of the object, or of the delta's instructions.
    size: u64,
    base: DeltaBase,
}

struct PackScan<'a> {
    pack: &'a mut dyn BufRead,
    /// Bytes read so far.
    offset: u64,
    inflater: Decompress,
    buffer: Vec<u8>,
    /// The first bytes of the last unpacked entry.
    first_bytes: Vec<u8>,
}

impl PackScan<'_> {
    fn take<const COUNT: usize>(&mut self) -> Result<[u8; COUNT]> {
        let mut bytes = [0; COUNT];
        Read::read_exact(&mut self.pack, &mut bytes).map_err(unreadable)?;
        self.offset += COUNT as u64;
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8> {
        let [byte] = self.take::<1>()?;
        Ok(byte)
    }

    /// Reads the header of the entry at `offset`.
    fn entry_header(&mut self, offset: u64) -> Result<EntryHeader> {
        let mut byte = self.byte()?;
        let kind = (byte >> 4) & 7;
        let mut size = u64::from(byte & 0x0f);
        let mut shift = 4;
        while byte & 0x80 != 0 {
            byte = self.byte()?;
            if shift > 56 {
                return Err(rejected("an entry's size is too long"));
            }
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        let base = match kind {
            1..=4 => DeltaBase::None,
            OFFSET_DELTA => DeltaBase::Offset(self.base_offset(offset)?),
            REFERENCE_DELTA => {
                self.take::<HASH_BYTES>()?;
                DeltaBase::Reference
            }
            _ => return Err(rejected(format!("an entry has the unknown kind {kind}"))),
        };
        Ok(EntryHeader { size, base })
    }

    /// Reads the distance from an entry to its base, and returns the offset of the base. Each byte after the first also
    /// adds one to the value read so far.
    fn base_offset(&mut self, offset: u64) -> Result<u64> {
        let mut byte = self.byte()?;
        let mut distance = u64::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.byte()?;
            if distance > offset {
                break;
            }
            distance = ((distance + 1) << 7) | u64::from(byte & 0x7f);
        }
        match offset.checked_sub(distance) {
            Some(base) if distance > 0 => Ok(base),
            _ => Err(rejected("a delta's base is outside of the pack")),
        }
    }

    /// Unpacks the data of an entry, which must have this size, and keeps only its first bytes.
    fn inflate(&mut self, size: u64) -> Result<()> {
        self.inflater.reset(true);
        self.first_bytes.clear();
        loop {
            let input = self.pack.fill_buf().map_err(unreadable)?;
            if input.is_empty() {
                return Err(rejected("it is cut short"));
            }
            let (before_in, before_out) = (self.inflater.total_in(), self.inflater.total_out());
            let inflated = self.inflater.decompress(input, &mut self.buffer, FlushDecompress::None);
            let status = inflated.map_err(|error| rejected(format!("an entry cannot be unpacked: {error}")))?;
            let consumed = self.inflater.total_in() - before_in;
            let produced = self.inflater.total_out() - before_out;
            self.pack.consume(consumed as usize);
            self.offset += consumed;
            let wanted = DELTA_HEADER_BYTES_MAX.saturating_sub(self.first_bytes.len()).min(produced as usize);
            self.first_bytes.extend_from_slice(&self.buffer[..wanted]);
            if self.inflater.total_out() > size {
                return Err(rejected("an entry is larger than its header states"));
            }
            match status {
                Status::StreamEnd if self.inflater.total_out() == size => return Ok(()),
                Status::StreamEnd => return Err(rejected("an entry is smaller than its header states")),
                Status::Ok | Status::BufError if consumed == 0 && produced == 0 => {
                    return Err(rejected("an entry cannot be unpacked"));
                }
                Status::Ok | Status::BufError => {}
            }
        }
    }
}

/// Returns the size of the object that a delta produces. It follows the size of the base.
fn delta_result_size(begin: &[u8]) -> Result<u64> {
    let (_, rest) = read_size(begin)?;
    let (size, _) = read_size(rest)?;
    Ok(size)
}

/// Reads a size of a delta's header. Returns it with the bytes after it.
fn read_size(bytes: &[u8]) -> Result<(u64, &[u8])> {
    let (mut size, mut shift) = (0u64, 0);
    for (index, byte) in bytes.iter().enumerate() {
        if shift > 56 {
            break;
        }
        size |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return Ok((size, &bytes[index + 1..]));
        }
    }
    Err(rejected("the header of a delta is malformed"))
}

fn unreadable(error: std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => rejected("it is cut short"),
        _ => Error::io("read", Path::new("a pack"))(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn entry(begin: &[u8], data: &[u8]) -> Vec<u8> {
        let mut bytes = begin.to_vec();
        let mut encoder = ZlibEncoder::new(&mut bytes, Compression::best());
        encoder.write_all(data).expect("compresses");
        encoder.finish().expect("compresses");
        bytes
    }

    fn pack(entries: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = b"PACK\0\0\0\x02".to_vec();
        bytes.extend_from_slice(&(entries.len() as u32).to_be_bytes());
        bytes.extend(entries.concat());
        bytes.extend_from_slice(&[0; 20]);
        bytes
    }

    fn error_text(pack: &[u8]) -> String {
        let limits = IntakeLimits { objects_max: 9, unpacked_bytes_max: 1 << 20, chain_max: 2, ..IntakeLimits::PUSH };
        match check_pack(&mut &*pack, &limits) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn unpacked_sizes_are_checked_before_unpacking() {
        let small = entry(&[0x35], b"hello");
        assert_eq!(error_text(&pack(&[small.clone(), small.clone()])), "");
        // 600 KiB of zeros; their size takes three bytes.
        let size = 600u32 << 10;
        let begin =
            [0xb0 | (size & 15) as u8, 0x80 | ((size >> 4) & 0x7f) as u8, 0x80 | ((size >> 11) & 0x7f) as u8, 2];
        let large = entry(&begin, &vec![0; 600 << 10]);
        assert_eq!(error_text(&pack(std::slice::from_ref(&large))), "");
        assert!(error_text(&pack(&[large.clone(), large])).contains("unpacked it takes more than"));
        // A delta of six bytes that produces a gibibyte.
        let delta = entry(&[0x66, small.len() as u8], &[5, 0x80, 0x80, 0x80, 0x80, 4]);
        assert!(error_text(&pack(&[small.clone(), delta])).contains("one object has 1073741824 bytes"));
        assert!(error_text(&pack(&vec![small.clone(); 10])).contains("at most 9"));
        assert!(error_text(&pack(&[entry(&[0x36], b"hello")])).contains("smaller than its header states"));
        assert!(error_text(&pack(&[entry(&[0x34], b"hello")])).contains("larger than its header states"));
    }

    #[test]
    fn long_chains_and_malformed_packs_are_rejected() {
        let base = entry(&[0x35], b"hello");
        // Copies the five bytes of its base.
        let copy = entry(&[0x64, 0], &[5, 5, 0x90, 5]);
        let mut entries = vec![base.clone()];
        for _ in 0..2 {
            let mut next = copy.clone();
            next[1] = entries.last().expect("one").len() as u8;
            entries.push(next);
        }
        assert_eq!(error_text(&pack(&entries)), "");
        let mut next = copy.clone();
        next[1] = entries.last().expect("one").len() as u8;
        entries.push(next);
        assert!(error_text(&pack(&entries)).contains("chain of deltas"));
        let whole = pack(&[base]);
        for end in 0..whole.len() - 20 {
            assert!(!error_text(&whole[..end]).is_empty(), "{end}");
        }
        assert!(error_text(b"PACK\0\0\0\x03\0\0\0\0").contains("version 2"));
        assert!(error_text(&pack(&[copy])).contains("outside"));
    }
}
