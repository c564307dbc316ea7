//! Cutting the engine's manifest back to where it is whole, after a loss of power.
//!
//! The manifest is a log of which files make up the database. Each record is synced before anything relies on it, so a
//! torn record at the end is of a change that never took effect. The engine passes over one that is cut short, but not
//! over one whose bytes are there and wrong. Format, as of RocksDB's `db/log_format.h`: blocks of 32 KiB, in them
//!
//! ```text
//! u32 masked CRC-32C of what follows the length | u16 length | u8 kind | [u32 log number, kinds 5 to 8] | payload
//! ```
//!
//! all little-endian; a record that crosses blocks is a first part, middle ones and a last one.

use std::fs::{self, File};
use std::path::Path;

use crate::error::{Error, Result};

const BLOCK_BYTES: usize = 32 << 10;
const HEADER_BYTES: usize = 7;
/// Parts that no record ends with: first and middle ones, plain or of a recycled log.
const UNFINISHED_KINDS: [u8; 4] = [2, 3, 6, 7];
const CRC_MASK: u32 = 0xa282_ead8;

/// Cuts the current manifest back to its last whole record. False where it is whole already.
pub(super) fn cut_back(database: &Path) -> Result<bool> {
    let current = database.join("CURRENT");
    let name = fs::read_to_string(&current).map_err(Error::io("read", &current))?;
    let name = name.trim_end();
    if !name.starts_with("MANIFEST-") || name.contains('/') {
        return Ok(false);
    }
    let manifest = database.join(name);
    let bytes = fs::read(&manifest).map_err(Error::io("read", &manifest))?;
    let whole = whole_records(&bytes);
    if whole == bytes.len() {
        return Ok(false);
    }
    let file = File::options().write(true).open(&manifest).map_err(Error::io("open", &manifest))?;
    file.set_len(whole as u64).and_then(|()| file.sync_all()).map_err(Error::io("truncate", &manifest))?;
    Ok(true)
}

/// How many bytes from the beginning are whole records.
fn whole_records(bytes: &[u8]) -> usize {
    let (mut at, mut whole) = (0, 0);
    loop {
        let left = BLOCK_BYTES - at % BLOCK_BYTES;
        if left < HEADER_BYTES {
            at += left;
        }
        let Some(header) = bytes.get(at..at + HEADER_BYTES) else { return whole };
        let checksum = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        let (length, kind) = (usize::from(u16::from_le_bytes([header[4], header[5]])), header[6]);
        let number_bytes = if (5..=8).contains(&kind) { 4 } else { 0 };
        let end = at + HEADER_BYTES + number_bytes + length;
        let Some(covered) = bytes.get(at + HEADER_BYTES - 1..end) else { return whole };
        if kind == 0 || masked(crc32c(covered)) != checksum {
            return whole;
        }
        at = end;
        if !UNFINISHED_KINDS.contains(&kind) {
            whole = at;
        }
    }
}

fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(CRC_MASK)
}

/// Castagnoli's polynomial, a bit at a time: a manifest is small and this is seldom needed.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_value::{Batch, Column, Durability, KeyValueStore};

    #[test]
    fn the_checksum_is_castagnolis() {
        // The check value of CRC-32C in the catalogue of parametrised CRC algorithms.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn a_torn_manifest_is_cut_back_and_a_whole_one_is_left_alone() {
        let folder = tempfile::tempdir().expect("temporary directory");
        for round in 0..3u8 {
            let store = KeyValueStore::open(folder.path()).expect("opens");
            let mut batch = Batch::new();
            batch.put(Column::Meta, vec![round], vec![round]);
            store.write(&batch, Durability::Synced).expect("writes");
        }
        assert!(!cut_back(folder.path()).expect("reads"));
        let name = fs::read_to_string(folder.path().join("CURRENT")).expect("reads");
        let manifest = folder.path().join(name.trim_end());
        let whole = fs::read(&manifest).expect("reads");
        // A record of which the length became durable and the bytes did not.
        let torn = [&whole[..], &whole[..HEADER_BYTES], &[0; 300]].concat();
        fs::write(&manifest, torn).expect("writes");
        assert!(KeyValueStore::open(folder.path()).is_err(), "while the machine ran nothing can tear");
        fs::remove_file(folder.path().join("BOOT")).expect("removes");
        let store = KeyValueStore::open(folder.path()).expect("opens");
        for round in 0..3u8 {
            assert_eq!(store.get(Column::Meta, &[round]).expect("reads"), Some(vec![round]));
        }
    }
}
