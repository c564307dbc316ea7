//! Writing a pack file and its index.
//!
//! The pack of one commit holds only whole objects. In joined packs and in packs of many commits, large trees are
//! stored as deltas ([`delta`](super::delta)) that name their base by its id, so that packs can be joined by copying
//! bytes. The base of a delta is always in the same pack. Formats: git's `gitformat-pack`, pack version 2 and index
//! version 2.
//!
//! ```text
//! pack   "PACK" | u32 2 | u32 count | entries | SHA-1 of all before
//! entry  kind and size, 7 bits at a time | zlib data
//! delta  kind 7 and size, 7 bits at a time | id of the base | zlib data
//! index  ff 't' 'O' 'c' | u32 2 | 256 × u32 fanout | ids, sorted | CRC-32s | u32 offsets | pack SHA-1 | SHA-1 of all before
//! ```

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use gix::ObjectId;
use gix::objs::{Kind, WriteTo};

use super::pack_entry::EntryEncoder;
use crate::error::{Error, Result};
use crate::files::{TEMPORARY_PREFIX, replace};

/// Size of a pack's header: magic, version, count.
pub(super) const PACK_HEADER_BYTES: usize = 12;
/// Size of a SHA-1.
pub(super) const HASH_BYTES: usize = 20;
/// Largest offset without the 64-bit table of the index, which is never written: joined packs are far smaller.
const OFFSET_MAX: u64 = (1 << 31) - 1;

/// The entry of one object in a pack.
struct PackEntry {
    id: ObjectId,
    /// Kind, size and compressed data.
    bytes: Vec<u8>,
}

/// A builder for the pack of one commit.
#[derive(Default)]
pub(super) struct PackBuilder {
    encoder: EntryEncoder,
    entries: Vec<PackEntry>,
}

impl PackBuilder {
    /// Adds a blob.
    pub(super) fn add_blob(&mut self, data: &[u8]) -> Result<ObjectId> {
        self.add(Kind::Blob, data)
    }

    /// Adds a tree or a commit.
    pub(super) fn add_object(&mut self, object: &impl WriteTo) -> Result<ObjectId> {
        let mut data = Vec::new();
        object.write_to(&mut data).map_err(Error::git("encode an object"))?;
        self.add(object.kind(), &data)
    }

    /// Adds an object.
    pub(super) fn add(&mut self, kind: Kind, data: &[u8]) -> Result<ObjectId> {
        let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, data).map_err(Error::git("hash an object"))?;
        self.entries.push(PackEntry { id, bytes: self.encoder.encode(kind, data)? });
        Ok(id)
    }

    /// Writes the objects as a pack in `folder` that is not published yet.
    pub(super) fn write(mut self, folder: &Path) -> Result<PackFile> {
        self.entries.sort_by_key(|entry| entry.id);
        self.entries.dedup_by_key(|entry| entry.id);
        let mut pack = PackFile::create(folder, self.entries.len())?;
        for entry in &self.entries {
            pack.put(entry.id, &entry.bytes)?;
        }
        Ok(pack)
    }
}

/// A writer for the bytes of a pack: header, entries, and the hash of both.
pub(super) struct PackStream<W> {
    out: W,
    hasher: gix::hash::Hasher,
    offset: u64,
}

impl<W: Write> PackStream<W> {
    /// Begins a pack of `count` entries.
    pub(super) fn begin(out: W, count: u32) -> Result<Self> {
        let mut stream = Self { out, hasher: gix::hash::hasher(gix::hash::Kind::Sha1), offset: 0 };
        stream.put(b"PACK")?;
        stream.put(&2u32.to_be_bytes())?;
        stream.put(&count.to_be_bytes())?;
        Ok(stream)
    }

    /// Writes an entry.
    pub(super) fn put(&mut self, entry: &[u8]) -> Result<()> {
        self.hasher.update(entry);
        self.out.write_all(entry).map_err(Error::io("write", Path::new("a pack")))?;
        self.offset += entry.len() as u64;
        Ok(())
    }

    /// Ends the pack. Returns the underlying writer and the pack's hash.
    pub(super) fn finish(mut self) -> Result<(W, ObjectId)> {
        let hash = self.hasher.try_finalize().map_err(Error::git("hash a pack"))?;
        self.out.write_all(hash.as_slice()).map_err(Error::io("write", Path::new("a pack")))?;
        self.out.flush().map_err(Error::io("write", Path::new("a pack")))?;
        Ok((self.out, hash))
    }
}

/// One object in the index of a pack.
struct IndexEntry {
    id: ObjectId,
    crc: u32,
    offset: u32,
}

/// A pack that is being written under a temporary name. Dropping it before it is published removes the file.
pub(super) struct PackFile {
    folder: PathBuf,
    temporary: PathBuf,
    /// `None` once the pack is finished.
    stream: Option<PackStream<BufWriter<File>>>,
    index: Vec<IndexEntry>,
}

impl PackFile {
    /// Begins a pack of `count` entries in `folder`.
    pub(super) fn create(folder: &Path, count: usize) -> Result<Self> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!("{TEMPORARY_PREFIX}{}-{number}.pack", std::process::id()));
        let count = u32::try_from(count).map_err(|_| too_large())?;
        let file = File::create(&temporary).map_err(Error::io("create", &temporary))?;
        // From here on, dropping `pack` removes the file.
        let mut pack = Self { folder: folder.to_path_buf(), temporary, stream: None, index: Vec::new() };
        pack.stream = Some(PackStream::begin(BufWriter::with_capacity(256 << 10, file), count)?);
        Ok(pack)
    }

    /// Writes an entry. Each id may be written only once.
    pub(super) fn put(&mut self, id: ObjectId, entry: &[u8]) -> Result<()> {
        let Some(stream) = &mut self.stream else { return Err(too_large()) };
        if stream.offset > OFFSET_MAX {
            return Err(too_large());
        }
        let offset = u32::try_from(stream.offset).map_err(|_| too_large())?;
        stream.put(entry)?;
        self.index.push(IndexEntry { id, crc: crc32fast::hash(entry), offset });
        Ok(())
    }

    /// Ends the pack and syncs it. Returns the name for [`PackFile::publish`].
    pub(super) fn finish(&mut self) -> Result<PackName> {
        let Some(stream) = self.stream.take() else { return Err(too_large()) };
        let (writer, hash) = stream.finish()?;
        writer.get_ref().sync_all().map_err(Error::io("write", &self.temporary))?;
        Ok(PackName(hash))
    }

    /// Renames the pack to its final name, writes its index, and syncs both and the folder.
    pub(super) fn publish(mut self, name: PackName) -> Result<()> {
        let index = encode_index(&mut self.index, &name.0)?;
        let pack_path = self.folder.join(format!("{name}.pack"));
        let index_path = self.folder.join(format!("{name}.idx"));
        fs::rename(&self.temporary, &pack_path).map_err(Error::io("rename into place", &pack_path))?;
        // The index makes the pack visible, so it comes second. Both names are durable once the folder is synced.
        let written = replace(&index_path, &index).map_err(Error::io("write", &index_path));
        if written.is_err() && !index_path.exists() {
            // Without an index nothing has read the pack, and the disk may be full.
            let _ = fs::remove_file(&pack_path);
        }
        written
    }
}

impl Drop for PackFile {
    fn drop(&mut self) {
        // The file no longer exists if the pack was published.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// The name of a pack without extension: `pack-` and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackName(ObjectId);

impl std::fmt::Display for PackName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pack-{}", self.0)
    }
}

/// Encodes the index of a pack. Sorts `entries` by id.
fn encode_index(entries: &mut [IndexEntry], pack_hash: &ObjectId) -> Result<Vec<u8>> {
    entries.sort_unstable_by_key(|entry| entry.id);
    let mut index = vec![0xff, b't', b'O', b'c'];
    index.extend_from_slice(&2u32.to_be_bytes());
    let mut fanout = [0u32; 256];
    for entry in &*entries {
        fanout[usize::from(entry.id.as_slice()[0])] += 1;
    }
    let mut total = 0;
    for count in fanout {
        total += count;
        index.extend_from_slice(&total.to_be_bytes());
    }
    for entry in &*entries {
        index.extend_from_slice(entry.id.as_slice());
    }
    for entry in &*entries {
        index.extend_from_slice(&entry.crc.to_be_bytes());
    }
    for entry in &*entries {
        index.extend_from_slice(&entry.offset.to_be_bytes());
    }
    index.extend_from_slice(pack_hash.as_slice());
    let own = sha1(&index)?;
    index.extend_from_slice(own.as_slice());
    Ok(index)
}

fn too_large() -> Error {
    Error::Git { action: "write a pack", trouble: None, source: "it would be larger than 2 GiB".into() }
}

/// Returns the SHA-1 of some bytes.
pub(super) fn sha1(bytes: &[u8]) -> Result<ObjectId> {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(bytes);
    hasher.try_finalize().map_err(Error::git("hash a pack"))
}

/// Syncs a directory, so that the names in it survive a loss of power.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    sync_file(folder)
}

/// Syncs an existing file.
pub(super) fn sync_file(path: &Path) -> Result<()> {
    let file = File::open(path).map_err(Error::io("sync", path))?;
    file.sync_all().map_err(Error::io("sync", path))
}

/// Removes a pack and its index, given the pack's name without extension. Files that do not exist are skipped.
pub(super) fn remove_pack_files(folder: &Path, name: &str) -> Result<()> {
    // Index first: a pack without an index is never read.
    for extension in ["idx", "pack"] {
        let path = folder.join(name).with_extension(extension);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::io("remove", &path)(error)),
            _ => {}
        }
    }
    Ok(())
}
