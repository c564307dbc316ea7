//! Files that only grow: appended in memory, flushed once a change, cut back at open to what is known to be whole.
//!
//! `memories.log` is a run of frames: length u32, CRC-32 of the payload u32 (both little-endian), payload (postcard of
//! [`LogRecord`]). Nothing here is synced: the index is derived, and a loss of power costs a rebuild.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::memory::Memory;

const FRAME_HEADER_BYTES: usize = 8;

/// One change as it is logged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LogRecord {
    /// Where the memory stands in the tables.
    pub(super) slot: u32,
    /// How many of the rows that follow in `vectors.log` are its own.
    pub(super) rows: u32,
    /// CRC-32 of those rows' bytes.
    pub(super) rows_checksum: u32,
    /// The memory; none when it was forgotten.
    pub(super) memory: Option<Memory>,
}

/// An append-only file.
pub(super) struct AppendLog {
    path: PathBuf,
    file: File,
    written: usize,
    pending: Vec<u8>,
}

impl AppendLog {
    /// Opens the file and cuts it back to `bytes`; one that is shorter is damaged.
    pub(super) fn open(path: &Path, bytes: usize) -> Result<Self> {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(Error::io("open", path))?;
        let found = file.metadata().map_err(Error::io("read", path))?.len();
        if found < bytes as u64 {
            return Err(Error::Damaged(format!("{} has {found} bytes, {bytes} were written", path.display())));
        }
        file.set_len(bytes as u64).map_err(Error::io("truncate", path))?;
        file.seek(SeekFrom::End(0)).map_err(Error::io("seek in", path))?;
        Ok(Self { path: path.to_path_buf(), file, written: bytes, pending: Vec::new() })
    }

    /// The file's length once flushed.
    pub(super) fn bytes(&self) -> usize {
        self.written + self.pending.len()
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    pub(super) fn append_record(&mut self, record: &LogRecord) -> Result<()> {
        let payload = postcard::to_stdvec(record).map_err(|e| Error::Damaged(format!("record to be written: {e}")))?;
        let length = u32::try_from(payload.len()).map_err(|_| Error::Damaged("a memory above 4 GiB".into()))?;
        self.append(&length.to_le_bytes());
        self.append(&crc32fast::hash(&payload).to_le_bytes());
        self.append(&payload);
        Ok(())
    }

    /// Hands everything appended to the system.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.file.write_all(&self.pending).map_err(Error::io("append to", &self.path))?;
        self.written += self.pending.len();
        self.pending.clear();
        Ok(())
    }

    /// The whole file.
    pub(super) fn read_all(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.written);
        self.file.seek(SeekFrom::Start(0)).map_err(Error::io("seek in", &self.path))?;
        self.file.read_to_end(&mut bytes).map_err(Error::io("read", &self.path))?;
        Ok(bytes)
    }

    /// Every record, checked.
    pub(super) fn read_records(&mut self) -> Result<Vec<LogRecord>> {
        let bytes = self.read_all()?;
        let mut records = Vec::new();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let (record, after) = record(rest).ok_or_else(|| {
                Error::Damaged(format!("{} at byte {}", self.path.display(), bytes.len() - rest.len()))
            })?;
            records.push(record);
            rest = after;
        }
        Ok(records)
    }
}

/// The record at the start of the bytes, and what follows it; none when it is not whole.
fn record(bytes: &[u8]) -> Option<(LogRecord, &[u8])> {
    let (header, rest) = bytes.split_at_checked(FRAME_HEADER_BYTES)?;
    let (length, checksum) = header.split_at_checked(4)?;
    let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
    let checksum = u32::from_le_bytes(checksum.try_into().ok()?);
    let (payload, rest) = rest.split_at_checked(length)?;
    if crc32fast::hash(payload) != checksum {
        return None;
    }
    Some((postcard::from_bytes(payload).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_back_a_tail_is_cut_and_damage_is_seen() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("memories.log");
        let make = |slot| LogRecord {
            slot,
            rows: 2,
            rows_checksum: 7,
            memory: (slot > 0).then(|| Memory { path: "p".into(), ..Memory::default() }),
        };
        let mut log = AppendLog::open(&path, 0).expect("opens");
        log.append_record(&make(0)).expect("appends");
        log.append_record(&make(1)).expect("appends");
        log.flush().expect("flushes");
        let whole = log.bytes();
        log.append(b"torn");
        log.flush().expect("flushes");

        let mut again = AppendLog::open(&path, whole).expect("opens");
        assert_eq!(again.read_records().expect("reads"), [make(0), make(1)]);
        assert!(AppendLog::open(&path, whole + 1).is_err());
        let mut bytes = std::fs::read(&path).expect("reads");
        bytes[whole - 1] ^= 1;
        std::fs::write(&path, bytes).expect("writes");
        assert!(AppendLog::open(&path, whole).expect("opens").read_records().is_err());
    }
}
