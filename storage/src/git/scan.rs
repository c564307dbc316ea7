//! A look at what a pack says of itself, before anything is made of it: how many objects, how large they are when they are
//! unpacked, and how many deltas stand on one another.
//!
//! The pack is read once and none of it is kept, so that a pack of any content takes little memory and an amount of work
//! that is bounded by the limits. It is not checked for being whole: that is seen when it is taken in.

use std::collections::HashMap;
use std::io::{BufRead, ErrorKind, Read};
use std::path::Path;

use flate2::{Decompress, FlushDecompress, Status};

use super::limits::{IntakeLimits, OBJECT_BYTES_MAX};
use super::pack::{HASH_BYTES, OFFSET_DELTA, PACK_HEADER_BYTES, REFERENCE_DELTA};
use crate::error::{Error, Result};

/// Unpacked bytes that are looked at in one go.
const PIECE_BYTES: usize = 32 << 10;
/// Two sizes of at most 10 bytes each stand at the beginning of a delta.
const DELTA_HEADER_BYTES_MAX: usize = 20;

/// Checks a pack against limits. Fails with [`Error::Invalid`] where it exceeds one or is no pack.
pub fn check_pack(pack: &mut dyn BufRead, limits: &IntakeLimits) -> Result<()> {
    let mut scan = Scan {
        pack,
        offset: 0,
        inflater: Decompress::new(true),
        piece: vec![0; PIECE_BYTES],
        begin: Vec::with_capacity(DELTA_HEADER_BYTES_MAX),
    };
    let header = scan.take::<PACK_HEADER_BYTES>()?;
    if !header.starts_with(b"PACK\0\0\0\x02") {
        return Err(refused("it does not begin as a pack of version 2"));
    }
    let count = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
    if count > limits.objects_max {
        return Err(refused(format!("it has {count} objects, at most {} are taken: send less", limits.objects_max)));
    }
    let mut unpacked_bytes = 0u64;
    let mut reference_deltas = 0u32;
    // How many deltas one stands on, by its place in the pack.
    let mut chains: HashMap<u64, u32> = HashMap::new();
    for _ in 0..count {
        let offset = scan.offset;
        let entry = scan.entry(offset)?;
        unpacked_bytes = unpacked_bytes.saturating_add(entry.size);
        check_unpacked(entry.size, unpacked_bytes, limits)?;
        scan.inflate(entry.size)?;
        match entry.base {
            Base::None => continue,
            Base::Elsewhere => reference_deltas += 1,
            Base::At(base) => {
                let chain = chains.get(&base).map_or(1, |below| below + 1);
                if chain > limits.chain_max {
                    return Err(refused(format!("more than {} deltas stand on one another", limits.chain_max)));
                }
                chains.insert(offset, chain);
            }
        }
        if reference_deltas > limits.reference_deltas_max {
            let reason = format!(
                "more than {} deltas name their base by its id: send it without --thin",
                limits.reference_deltas_max
            );
            return Err(refused(reason));
        }
        let result = delta_result(&scan.begin)?;
        unpacked_bytes = unpacked_bytes.saturating_add(result);
        check_unpacked(result, unpacked_bytes, limits)?;
    }
    Ok(())
}

fn check_unpacked(object: u64, all: u64, limits: &IntakeLimits) -> Result<()> {
    if object > OBJECT_BYTES_MAX {
        return Err(refused(format!("one object has {object} bytes, at most {OBJECT_BYTES_MAX} are taken")));
    }
    if all > limits.unpacked_bytes_max {
        let reason =
            format!("unpacked it takes more than {} bytes: send fewer commits at a time", limits.unpacked_bytes_max);
        return Err(refused(reason));
    }
    Ok(())
}

fn refused(reason: impl std::fmt::Display) -> Error {
    Error::invalid("pack", reason)
}

/// What a delta stands on.
enum Base {
    /// It is no delta.
    None,
    /// An entry of this pack, by its place.
    At(u64),
    /// An object that is named by its id.
    Elsewhere,
}

/// What an entry says of itself.
struct Entry {
    /// Of the object, or of the delta's instructions.
    size: u64,
    base: Base,
}

struct Scan<'a> {
    pack: &'a mut dyn BufRead,
    /// Bytes that were read.
    offset: u64,
    inflater: Decompress,
    piece: Vec<u8>,
    /// The first bytes of the entry that was inflated last.
    begin: Vec<u8>,
}

impl Scan<'_> {
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

    /// Reads what stands before an entry's data.
    fn entry(&mut self, offset: u64) -> Result<Entry> {
        let mut byte = self.byte()?;
        let kind = (byte >> 4) & 7;
        let mut size = u64::from(byte & 0x0f);
        let mut shift = 4;
        while byte & 0x80 != 0 {
            byte = self.byte()?;
            if shift > 56 {
                return Err(refused("an entry's size is too long"));
            }
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        let base = match kind {
            1..=4 => Base::None,
            OFFSET_DELTA => Base::At(self.base_before(offset)?),
            REFERENCE_DELTA => {
                self.take::<HASH_BYTES>()?;
                Base::Elsewhere
            }
            _ => return Err(refused(format!("there is no entry of kind {kind}"))),
        };
        Ok(Entry { size, base })
    }

    /// Reads how far before an entry its base is. Each further byte also adds one to what stands before it.
    fn base_before(&mut self, offset: u64) -> Result<u64> {
        let mut byte = self.byte()?;
        let mut distance = u64::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.byte()?;
            if distance > offset {
                break;
            }
            distance = ((distance + 1) << 7) | u64::from(byte & 0x7f);
        }
        let base = offset.checked_sub(distance).filter(|_| distance > 0);
        base.ok_or_else(|| refused("a delta's base is outside of the pack"))
    }

    /// Goes through an entry's data, which must be of that size.
    fn inflate(&mut self, size: u64) -> Result<()> {
        self.inflater.reset(true);
        self.begin.clear();
        loop {
            let input = self.pack.fill_buf().map_err(unreadable)?;
            if input.is_empty() {
                return Err(refused("it is cut short"));
            }
            let (before_in, before_out) = (self.inflater.total_in(), self.inflater.total_out());
            let inflated = self.inflater.decompress(input, &mut self.piece, FlushDecompress::None);
            let status = inflated.map_err(|error| refused(format!("an entry cannot be unpacked: {error}")))?;
            let consumed = self.inflater.total_in() - before_in;
            let produced = self.inflater.total_out() - before_out;
            self.pack.consume(consumed as usize);
            self.offset += consumed;
            let wanted = DELTA_HEADER_BYTES_MAX.saturating_sub(self.begin.len()).min(produced as usize);
            self.begin.extend_from_slice(self.piece.get(..wanted).unwrap_or_default());
            if self.inflater.total_out() > size {
                return Err(refused("an entry is larger than it says"));
            }
            match status {
                Status::StreamEnd if self.inflater.total_out() == size => return Ok(()),
                Status::StreamEnd => return Err(refused("an entry is smaller than it says")),
                Status::Ok | Status::BufError if consumed == 0 && produced == 0 => {
                    return Err(refused("an entry cannot be unpacked"));
                }
                Status::Ok | Status::BufError => {}
            }
        }
    }
}

/// The size of what a delta makes, which stands behind the size of its base.
fn delta_result(begin: &[u8]) -> Result<u64> {
    let (_, rest) = delta_size(begin)?;
    let (size, _) = delta_size(rest)?;
    Ok(size)
}

fn delta_size(bytes: &[u8]) -> Result<(u64, &[u8])> {
    let (mut size, mut shift) = (0u64, 0);
    for (index, byte) in bytes.iter().enumerate() {
        if shift > 56 {
            break;
        }
        size |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return Ok((size, bytes.get(index + 1..).unwrap_or_default()));
        }
    }
    Err(refused("a delta does not say what it makes"))
}

fn unreadable(error: std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => refused("it is cut short"),
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

    fn says(pack: &[u8]) -> String {
        let limits = IntakeLimits { objects_max: 9, unpacked_bytes_max: 1 << 20, chain_max: 2, ..IntakeLimits::PUSH };
        check_pack(&mut &*pack, &limits).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_a_pack_unpacks_to_is_known_before_it_is() {
        let small = entry(&[0x35], b"hello");
        assert_eq!(says(&pack(&[small.clone(), small.clone()])), "");
        // 600 KiB of zeros each, whose size takes three bytes.
        let size = 600u32 << 10;
        let begin =
            [0xb0 | (size & 15) as u8, 0x80 | ((size >> 4) & 0x7f) as u8, 0x80 | ((size >> 11) & 0x7f) as u8, 2];
        let large = entry(&begin, &vec![0; 600 << 10]);
        assert_eq!(says(&pack(std::slice::from_ref(&large))), "");
        assert!(says(&pack(&[large.clone(), large])).contains("unpacked it takes more than"));
        // A delta of six bytes that makes a gibibyte.
        let delta = entry(&[0x66, small.len() as u8], &[5, 0x80, 0x80, 0x80, 0x80, 4]);
        assert!(says(&pack(&[small.clone(), delta])).contains("one object has 1073741824 bytes"));
        assert!(says(&pack(&vec![small.clone(); 10])).contains("at most 9"));
        assert!(says(&pack(&[entry(&[0x36], b"hello")])).contains("smaller than it says"));
        assert!(says(&pack(&[entry(&[0x34], b"hello")])).contains("larger than it says"));
    }

    #[test]
    fn long_chains_and_what_is_no_pack_are_refused() {
        let base = entry(&[0x35], b"hello");
        // Copies the five bytes of its base.
        let copy = entry(&[0x64, 0], &[5, 5, 0x90, 5]);
        let mut entries = vec![base.clone()];
        for _ in 0..2 {
            let mut next = copy.clone();
            next[1] = entries.last().expect("one").len() as u8;
            entries.push(next);
        }
        assert_eq!(says(&pack(&entries)), "");
        let mut next = copy.clone();
        next[1] = entries.last().expect("one").len() as u8;
        entries.push(next);
        assert!(says(&pack(&entries)).contains("stand on one another"));
        let whole = pack(&[base]);
        for end in 0..whole.len() - 20 {
            assert!(!says(&whole[..end]).is_empty(), "{end}");
        }
        assert!(says(b"PACK\0\0\0\x03\0\0\0\0").contains("version 2"));
        assert!(says(&pack(&[copy])).contains("outside"));
    }
}
