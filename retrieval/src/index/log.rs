//! The append-only files of an index: changes collect in memory, are flushed once per change, and bytes after the last
//! valid length are truncated at open.
//!
//! `memories.log` is a sequence of frames:
//!
//! ```text
//! u32 bytes of the entry | u32 bytes of the memory | u32 CRC-32 of both | entry | memory
//! ```
//!
//! Integers are little-endian; the entry and the memory are postcard. The memory is empty if a path was forgotten.
//! `vectors.log` is a sequence of rows. Nothing here is synced: the index is derived, and a loss of power costs a
//! rebuild.

use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entry::ChangeEntry;
use crate::error::{Error, Result};
use crate::memory::Memory;

/// Name of the file of frames in the folder of an index.
pub(crate) const MEMORIES_FILE: &str = "memories.log";
/// Name of the file of rows.
pub(crate) const VECTORS_FILE: &str = "vectors.log";

const FRAME_HEADER_BYTES: usize = 12;

/// A byte range of a log, and the CRC-32 of the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) range: Range<u64>,
    pub(crate) checksum: u32,
}

impl Extent {
    /// The empty range at an offset.
    pub(crate) fn at(offset: u64) -> Self {
        Self { range: offset..offset, checksum: 0 }
    }

    /// Adds the bytes that follow, with their checksum.
    pub(crate) fn append(&mut self, bytes: u64, checksum: u32) {
        *self = self.and(&Self { range: self.range.end..self.range.end + bytes, checksum });
    }

    /// Joins this extent and the one that follows it.
    pub(crate) fn and(&self, next: &Self) -> Self {
        let mut hasher = crc32fast::Hasher::new_with_initial_len(self.checksum, self.range.end - self.range.start);
        let other = crc32fast::Hasher::new_with_initial_len(next.checksum, next.range.end - next.range.start);
        hasher.combine(&other);
        Self { range: self.range.start..next.range.end, checksum: hasher.finalize() }
    }
}

/// An append-only file.
pub(crate) struct AppendLog {
    file: LogFile,
    /// Bytes that were flushed.
    written: u64,
    /// Bytes that were appended since.
    pending: Vec<u8>,
}

/// A handle for readers of the flushed part of a log.
#[derive(Clone)]
pub(crate) struct LogFile {
    path: Arc<PathBuf>,
    file: Arc<File>,
}

impl AppendLog {
    /// Opens a file and truncates it to `bytes`. A shorter file is damaged.
    pub(crate) fn open(path: &Path, bytes: u64) -> Result<Self> {
        let options = OpenOptions::new().create(true).truncate(false).read(true).write(true).to_owned();
        let file = options.open(path).map_err(Error::io("open", path))?;
        let found = file.metadata().map_err(Error::io("read", path))?.len();
        if found < bytes {
            return Err(Error::Damaged(format!("{} has {found} bytes, expected at least {bytes}", path.display())));
        }
        file.set_len(bytes).map_err(Error::io("truncate", path))?;
        let file = LogFile { path: Arc::new(path.to_path_buf()), file: Arc::new(file) };
        Ok(Self { file, written: bytes, pending: Vec::new() })
    }

    /// Returns the length of the file after the next flush.
    pub(crate) fn bytes(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Writes everything that was appended to the file, without a sync.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.file.file.write_all_at(&self.pending, self.written).map_err(Error::io("append to", &self.file.path))?;
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Returns the handle for readers.
    pub(crate) fn file(&self) -> &LogFile {
        &self.file
    }
}

impl LogFile {
    /// Reads the bytes of a range.
    pub(crate) fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_into(range, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads the bytes of a range into a buffer, in place of its content.
    pub(crate) fn read_into(&self, range: Range<u64>, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.resize((range.end - range.start) as usize, 0);
        self.file.read_exact_at(bytes, range.start).map_err(Error::io("read", &self.path))
    }

    /// Reads the memory of the frame at a range.
    pub(crate) fn memory(&self, range: Range<u64>) -> Result<Memory> {
        let bytes = self.read(range.clone())?;
        let memory = Frame::read(&bytes).and_then(|(frame, _)| frame.memory());
        memory.ok_or_else(|| self.invalid_frame(range.start))
    }

    /// Reads the path of the memory of the frame at a range.
    pub(crate) fn memory_path(&self, range: Range<u64>) -> Result<String> {
        let bytes = self.read(range.clone())?;
        let path = Frame::read(&bytes).and_then(|(frame, _)| frame.memory_path());
        path.ok_or_else(|| self.invalid_frame(range.start))
    }

    fn invalid_frame(&self, start: u64) -> Error {
        Error::Damaged(format!("{}: invalid frame at byte {start}", self.path.display()))
    }
}

/// A frame of `memories.log`.
pub(crate) struct Frame<'a> {
    entry: &'a [u8],
    memory: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Encodes a frame.
    pub(crate) fn write(entry: &ChangeEntry, memory: Option<&Memory>) -> Result<Vec<u8>> {
        let entry = postcard::to_stdvec(entry).map_err(|error| not_encodable(&error))?;
        let memory = match memory {
            Some(memory) => postcard::to_stdvec(memory).map_err(|error| not_encodable(&error))?,
            None => Vec::new(),
        };
        let mut frame = Vec::with_capacity(FRAME_HEADER_BYTES + entry.len() + memory.len());
        frame.extend_from_slice(&length_field(&entry)?);
        frame.extend_from_slice(&length_field(&memory)?);
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(&entry);
        frame.extend_from_slice(&memory);
        let checksum = crc32fast::hash(&frame[FRAME_HEADER_BYTES..]);
        frame[8..FRAME_HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
        Ok(frame)
    }

    /// Reads the frame at the start of the bytes, and returns it with the bytes after it. Returns `None` if the frame
    /// is incomplete or does not match its checksum.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (header, rest) = bytes.split_at_checked(FRAME_HEADER_BYTES)?;
        let (numbers, _) = header.as_chunks::<4>();
        let [entry, memory, checksum] = [numbers[0], numbers[1], numbers[2]].map(u32::from_le_bytes);
        let (payload, rest) = rest.split_at_checked((entry as usize).checked_add(memory as usize)?)?;
        if crc32fast::hash(payload) != checksum {
            return None;
        }
        let (entry, memory) = payload.split_at(entry as usize);
        Some((Self { entry, memory }, rest))
    }

    pub(crate) fn entry(&self) -> Option<ChangeEntry> {
        postcard::from_bytes(self.entry).ok()
    }

    fn memory(&self) -> Option<Memory> {
        postcard::from_bytes(self.memory).ok()
    }

    /// Decodes the path alone: it is the first field of [`Memory`].
    fn memory_path(&self) -> Option<String> {
        let (path, _) = postcard::take_from_bytes(self.memory).ok()?;
        Some(path)
    }
}

fn not_encodable(error: &postcard::Error) -> Error {
    Error::Damaged(format!("a memory cannot be encoded: {error}"))
}

fn length_field(bytes: &[u8]) -> Result<[u8; 4]> {
    match u32::try_from(bytes.len()) {
        Ok(length) => Ok(length.to_le_bytes()),
        Err(_) => Err(Error::Damaged("a memory takes more than 4 GiB".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_back_a_torn_tail_is_truncated_and_damage_is_detected() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("memories.log");
        let memory = Memory { path: "p".into(), content: "said".into(), ..Memory::default() };
        let mut log = AppendLog::open(&path, 0).expect("opens");
        log.append(&Frame::write(&ChangeEntry::forget("a"), None).expect("writes"));
        let begin = log.bytes();
        log.append(&Frame::write(&ChangeEntry::forget("p"), Some(&memory)).expect("writes"));
        let end = log.bytes();
        log.flush().expect("flushes");
        log.append(b"torn");
        log.flush().expect("flushes");

        let again = AppendLog::open(&path, end).expect("opens");
        assert_eq!(again.file().memory(begin..end).expect("reads"), memory);
        assert_eq!(again.file().memory_path(begin..end).expect("reads"), "p");
        let bytes = again.file().read(0..end).expect("reads");
        let (first, rest) = Frame::read(&bytes).expect("complete");
        assert_eq!((first.entry(), rest.len() as u64), (Some(ChangeEntry::forget("a")), end - begin));
        assert!(first.memory().is_none() && Frame::read(&rest[..rest.len() - 1]).is_none());
        assert!(AppendLog::open(&path, end + 1).is_err());
        let mut bytes = bytes;
        bytes[end as usize - 1] ^= 1;
        std::fs::write(&path, bytes).expect("writes");
        assert!(AppendLog::open(&path, end).expect("opens").file().memory(begin..end).is_err());
    }
}
