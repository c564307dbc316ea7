//! Truncates the engine's manifest to its last intact record after a loss of power.
//!
//! The manifest is a log of the files that make up the database. Each record is synced before anything relies on it, so
//! a torn record at the end describes a change that never took effect. The engine ignores a last record that is cut
//! short, but rejects one with wrong bytes. Format, from RocksDB's `db/log_format.h`: blocks of 32 KiB that contain
//!
//! ```text
//! u32 masked CRC-32C of all bytes after the length | u16 length | u8 kind | [u32 log number, kinds 5 to 8] | payload
//! ```
//!
//! All numbers are little-endian. A record that crosses blocks consists of a first part, middle parts and a last part.

use std::fs::{self, File};
use std::path::Path;

use crc32c::crc32c;

use crate::error::{Error, Result};

const BLOCK_BYTES: usize = 32 << 10;
const HEADER_BYTES: usize = 7;
/// Kinds of parts that do not end a record: first and middle parts, plain or of a recycled log.
const UNFINISHED_KINDS: [u8; 4] = [2, 3, 6, 7];
const CRC_MASK: u32 = 0xa282_ead8;

/// Truncates the current manifest to its last intact record. Returns false if the manifest is already intact.
pub(super) fn cut_back(database: &Path) -> Result<bool> {
    let current = database.join("CURRENT");
    let name = fs::read_to_string(&current).map_err(Error::io("read", &current))?;
    let name = name.trim_end();
    if !name.starts_with("MANIFEST-") || name.contains('/') {
        return Ok(false);
    }
    let manifest = database.join(name);
    let bytes = fs::read(&manifest).map_err(Error::io("read", &manifest))?;
    let intact = intact_bytes(&bytes);
    if intact == bytes.len() {
        return Ok(false);
    }
    let file = File::options().write(true).open(&manifest).map_err(Error::io("open", &manifest))?;
    file.set_len(intact as u64).map_err(Error::io("truncate", &manifest))?;
    file.sync_all().map_err(Error::io("truncate", &manifest))?;
    Ok(true)
}

/// The number of bytes at the beginning that are intact records.
fn intact_bytes(bytes: &[u8]) -> usize {
    let mut at = 0;
    let mut intact = 0;
    loop {
        let left_in_block = BLOCK_BYTES - at % BLOCK_BYTES;
        if left_in_block < HEADER_BYTES {
            at += left_in_block;
        }
        let Some(header) = bytes.get(at..at + HEADER_BYTES) else { return intact };
        let checksum = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        let length = usize::from(u16::from_le_bytes([header[4], header[5]]));
        let kind = header[6];
        let number_bytes = if (5..=8).contains(&kind) { 4 } else { 0 };
        let end = at + HEADER_BYTES + number_bytes + length;
        let Some(covered) = bytes.get(at + HEADER_BYTES - 1..end) else { return intact };
        if kind == 0 || masked(crc32c(covered)) != checksum {
            return intact;
        }
        at = end;
        if !UNFINISHED_KINDS.contains(&kind) {
            intact = at;
        }
    }
}

fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(CRC_MASK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_value::{Batch, Column, Durability, Engine, RocksEngine};

    #[test]
    fn the_checksum_matches_the_check_value_of_crc_32c() {
        // From the catalogue of parametrised CRC algorithms.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn a_torn_manifest_is_cut_back_and_an_intact_one_is_unchanged() {
        let folder = tempfile::tempdir().expect("temporary directory");
        for round in 0..3u8 {
            let store = RocksEngine::open(folder.path()).expect("opens");
            let mut batch = Batch::new();
            batch.put(Column::Meta, vec![round], vec![round]);
            store.write(&batch, Durability::Synced).expect("writes");
        }
        assert!(!cut_back(folder.path()).expect("reads"));
        let name = fs::read_to_string(folder.path().join("CURRENT")).expect("reads");
        let manifest = folder.path().join(name.trim_end());
        let intact = fs::read(&manifest).expect("reads");
        // A record whose length is durable while its bytes are not.
        let torn = [&intact[..], &intact[..HEADER_BYTES], &[0; 300]].concat();
        fs::write(&manifest, torn).expect("writes");
        assert!(RocksEngine::open(folder.path()).is_err(), "without a reboot a torn manifest is damage");
        fs::remove_file(folder.path().join("BOOT")).expect("removes");
        let store = RocksEngine::open(folder.path()).expect("opens");
        for round in 0..3u8 {
            assert_eq!(store.get(Column::Meta, &[round]).expect("reads"), Some(vec![round]));
        }
    }
}
