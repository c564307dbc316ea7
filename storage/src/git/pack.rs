//! A pack file and its index.
//!
//! A pack of one commit holds whole objects alone; where packs are joined and where many commits are sent, large trees
//! stand as deltas ([`delta`](super::delta)) that name their base by its id, so that packs can be joined by copying bytes.
//! A delta's base is always in the same pack. Formats: git's `gitformat-pack`, pack version 2 and index version 2.
//!
//! ```text
//! pack   "PACK" | u32 2 | u32 count | entries | SHA-1 of all before
//! entry  kind and size, 7 bits at a time | zlib data
//! delta  kind 7 and size, 7 bits at a time | id of the base | zlib data
//! index  ff 't' 'O' 'c' | u32 2 | 256 × u32 fanout | ids, sorted | CRC-32s | u32 offsets | pack SHA-1 | SHA-1 of all before
//! ```

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use gix::ObjectId;
use gix::objs::{Kind, WriteTo};

use crate::error::{Error, Result};

/// Header of a pack: magic, version, count.
pub(super) const PACK_HEADER_BYTES: usize = 12;
/// A SHA-1.
pub(super) const HASH_BYTES: usize = 20;
/// Before the name of a file that is being written. Git's own temporary files begin differently.
pub(super) const TEMPORARY_PREFIX: &str = "tmp_cuebase-";
/// Kind of an entry that is a delta and tells how far before it its base is.
pub(super) const OFFSET_DELTA: u8 = 6;
/// Kind of an entry that is a delta and names its base by its id.
pub(super) const REFERENCE_DELTA: u8 = 7;
/// Offsets above this need the index's 64-bit table, which is never written: packs are joined only up to far less.
const OFFSET_MAX: u64 = (1 << 31) - 1;

/// One object's bytes as they stand in a pack.
struct PackEntry {
    id: ObjectId,
    /// Kind, size and compressed data.
    bytes: Vec<u8>,
}

/// The objects of a commit on their way into one pack.
#[derive(Default)]
pub(super) struct PackBuilder {
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

    /// Adds an object of a kind.
    pub(super) fn add(&mut self, kind: Kind, data: &[u8]) -> Result<ObjectId> {
        let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, data).map_err(Error::git("hash an object"))?;
        self.entries.push(PackEntry { id, bytes: packed_entry(kind, data)? });
        Ok(id)
    }

    /// The objects as a pack in `folder` that is yet to be published.
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

/// A pack's bytes as they are written: header, entries, and the hash of all of it.
pub(super) struct PackStream<W> {
    out: W,
    hasher: gix::hash::Hasher,
    offset: u64,
}

impl<W: Write> PackStream<W> {
    /// Begins a pack of that many entries.
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

    /// Ends the pack. Returns where it was written to and its hash.
    pub(super) fn finish(mut self) -> Result<(W, ObjectId)> {
        let hash = self.hasher.try_finalize().map_err(Error::git("hash a pack"))?;
        let written = self.out.write_all(hash.as_slice()).and_then(|()| self.out.flush());
        written.map_err(Error::io("write", Path::new("a pack")))?;
        Ok((self.out, hash))
    }
}

/// What the index says of an entry.
struct Placed {
    id: ObjectId,
    crc: u32,
    offset: u32,
}

/// A pack on its way into a folder, under a temporary name. Dropped before it is published, it leaves nothing.
pub(super) struct PackFile {
    folder: PathBuf,
    temporary: PathBuf,
    /// None once the pack has its end.
    stream: Option<PackStream<BufWriter<File>>>,
    placed: Vec<Placed>,
}

impl PackFile {
    /// Begins a pack of that many entries.
    pub(super) fn create(folder: &Path, count: usize) -> Result<Self> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!("{TEMPORARY_PREFIX}{}-{number}.pack", std::process::id()));
        let count = u32::try_from(count).map_err(|_| too_large())?;
        let file = File::create(&temporary).map_err(Error::io("create", &temporary))?;
        // From here on the file is removed where anything fails.
        let mut pack = Self { folder: folder.to_path_buf(), temporary, stream: None, placed: Vec::new() };
        pack.stream = Some(PackStream::begin(BufWriter::with_capacity(256 << 10, file), count)?);
        Ok(pack)
    }

    /// Writes an entry. No id comes twice.
    pub(super) fn put(&mut self, id: ObjectId, entry: &[u8]) -> Result<()> {
        let Some(stream) = &mut self.stream else { return Err(too_large()) };
        let offset = u32::try_from(stream.offset).ok().filter(|offset| u64::from(*offset) <= OFFSET_MAX);
        let offset = offset.ok_or_else(too_large)?;
        stream.put(entry)?;
        self.placed.push(Placed { id, crc: crc32fast::hash(entry), offset });
        Ok(())
    }

    /// Ends the pack and syncs it. Returns the name that it is to have.
    pub(super) fn finish(&mut self) -> Result<PackName> {
        let Some(stream) = self.stream.take() else { return Err(too_large()) };
        let (writer, hash) = stream.finish()?;
        writer.get_ref().sync_all().map_err(Error::io("write", &self.temporary))?;
        Ok(PackName(hash))
    }

    /// Gives the pack its name, writes its index, and syncs both and the folder.
    pub(super) fn publish(mut self, name: PackName) -> Result<()> {
        let index = index(&mut self.placed, &name.0)?;
        let (pack_path, index_path) =
            (self.folder.join(format!("{name}.pack")), self.folder.join(format!("{name}.idx")));
        fs::rename(&self.temporary, &pack_path).map_err(Error::io("rename into place", &pack_path))?;
        // The index makes the pack visible, so it comes second.
        let written = write_synced(&self.folder, &format!("{name}.idx"), &index);
        if written.is_err() && !index_path.exists() {
            // Nobody has seen it, and the disk may be full.
            let _ = fs::remove_file(&pack_path);
        }
        written?;
        sync_folder(&self.folder)
    }
}

impl Drop for PackFile {
    fn drop(&mut self) {
        // Not there any more once it was published.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// The name of a pack, without an ending: `pack-` and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackName(ObjectId);

impl std::fmt::Display for PackName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pack-{}", self.0)
    }
}

/// The index of a pack; `placed` is sorted by id.
fn index(placed: &mut [Placed], pack_hash: &ObjectId) -> Result<Vec<u8>> {
    placed.sort_unstable_by_key(|entry| entry.id);
    let mut index = vec![0xff, b't', b'O', b'c'];
    index.extend_from_slice(&2u32.to_be_bytes());
    let mut fanout = [0u32; 256];
    for entry in &*placed {
        fanout[usize::from(entry.id.as_slice()[0])] += 1;
    }
    let mut total = 0;
    for count in fanout {
        total += count;
        index.extend_from_slice(&total.to_be_bytes());
    }
    for entry in &*placed {
        index.extend_from_slice(entry.id.as_slice());
    }
    for entry in &*placed {
        index.extend_from_slice(&entry.crc.to_be_bytes());
    }
    for entry in &*placed {
        index.extend_from_slice(&entry.offset.to_be_bytes());
    }
    index.extend_from_slice(pack_hash.as_slice());
    let own = sha1(&index)?;
    index.extend_from_slice(own.as_slice());
    Ok(index)
}

/// An object as it stands in a pack: kind, size and compressed data.
pub(super) fn packed_entry(kind: Kind, data: &[u8]) -> Result<Vec<u8>> {
    let kind = match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    let mut bytes = entry_header(kind, data.len());
    compress(data, &mut bytes)?;
    Ok(bytes)
}

/// A delta as it stands in a pack: kind, size, the base's id and compressed instructions.
pub(super) fn packed_delta(base: ObjectId, delta: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = entry_header(REFERENCE_DELTA, delta.len());
    bytes.extend_from_slice(base.as_slice());
    compress(delta, &mut bytes)?;
    Ok(bytes)
}

fn compress(data: &[u8], bytes: &mut Vec<u8>) -> Result<()> {
    // The lowest level: half of a tree is hashes, which no level makes shorter, and blobs are small.
    let mut encoder = ZlibEncoder::new(bytes, Compression::fast());
    encoder.write_all(data).and_then(|()| encoder.finish().map(drop)).map_err(Error::git("compress an object"))
}

/// Kind in bits 4 to 6 of the first byte, size in its low 4 bits and then 7 bits a byte.
fn entry_header(kind: u8, size: usize) -> Vec<u8> {
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

fn too_large() -> Error {
    Error::Git { action: "write a pack", reason: "it would be larger than 2 GiB".into() }
}

pub(super) fn sha1(bytes: &[u8]) -> Result<ObjectId> {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(bytes);
    hasher.try_finalize().map_err(Error::git("hash a pack"))
}

/// Writes a file under a temporary name, syncs it and gives it its name.
pub(super) fn write_synced(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = folder.join(name);
    let temporary = folder.join(format!("{TEMPORARY_PREFIX}{name}"));
    let mut file = File::create(&temporary).map_err(Error::io("create", &temporary))?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if written.is_err() {
        // The disk may be full: half of a file must not make it fuller.
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(Error::io("write", &temporary))?;
    fs::rename(&temporary, &path).map_err(Error::io("rename into place", &path))
}

/// Syncs a directory, so that the names in it survive a loss of power.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(Error::io("sync", folder))
}
