//! A pack file and its index, written whole.
//!
//! Every object is stored as itself, never as a delta, so that packs can be joined by copying bytes. Formats: git's
//! `gitformat-pack`, pack version 2 and index version 2.
//!
//! ```text
//! pack   "PACK" | u32 2 | u32 count | entries | SHA-1 of all before
//! entry  kind and size, 7 bits at a time | zlib data
//! index  ff 't' 'O' 'c' | u32 2 | 256 × u32 fanout | ids, sorted | CRC-32s | u32 offsets | pack SHA-1 | SHA-1 of all before
//! ```

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

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
/// Offsets above this need the index's 64-bit table, which is never written: packs are joined only up to far less.
const OFFSET_MAX: u64 = (1 << 31) - 1;

/// One object's bytes as they stand in a pack.
pub(super) struct PackEntry {
    pub(super) id: ObjectId,
    /// Kind, size and compressed data.
    pub(super) bytes: Vec<u8>,
}

/// Objects on their way into one pack.
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

    /// Adds an object copied from another pack.
    pub(super) fn add_entry(&mut self, entry: PackEntry) {
        self.entries.push(entry);
    }

    /// Writes pack and index into `folder` and syncs both and the folder. Returns the pack's name, which is told to
    /// `before` ahead of anything being written.
    pub(super) fn write(mut self, folder: &Path, before: impl FnOnce(&str) -> Result<()>) -> Result<String> {
        self.entries.sort_by_key(|entry| entry.id);
        self.entries.dedup_by_key(|entry| entry.id);

        let mut pack = Vec::with_capacity(64 + self.entries.iter().map(|e| e.bytes.len()).sum::<usize>());
        pack.extend_from_slice(b"PACK");
        pack.extend_from_slice(&2u32.to_be_bytes());
        pack.extend_from_slice(&to_u32(self.entries.len())?.to_be_bytes());
        let mut offsets = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            offsets.push(to_u32(pack.len())?);
            pack.extend_from_slice(&entry.bytes);
        }
        let pack_hash = sha1(&pack)?;
        pack.extend_from_slice(pack_hash.as_slice());

        let index = self.index(&offsets, &pack_hash)?;
        let name = format!("pack-{pack_hash}");
        before(&name)?;
        write_synced(folder, &format!("{name}.pack"), &pack)?;
        // The index makes the pack visible, so it comes second.
        write_synced(folder, &format!("{name}.idx"), &index)?;
        sync_folder(folder)?;
        Ok(name)
    }

    fn index(&self, offsets: &[u32], pack_hash: &ObjectId) -> Result<Vec<u8>> {
        let mut index = vec![0xff, b't', b'O', b'c'];
        index.extend_from_slice(&2u32.to_be_bytes());
        let mut fanout = [0u32; 256];
        for entry in &self.entries {
            fanout[usize::from(entry.id.as_slice()[0])] += 1;
        }
        let mut total = 0;
        for count in fanout {
            total += count;
            index.extend_from_slice(&total.to_be_bytes());
        }
        for entry in &self.entries {
            index.extend_from_slice(entry.id.as_slice());
        }
        for entry in &self.entries {
            index.extend_from_slice(&crc32fast::hash(&entry.bytes).to_be_bytes());
        }
        for offset in offsets {
            index.extend_from_slice(&offset.to_be_bytes());
        }
        index.extend_from_slice(pack_hash.as_slice());
        let own = sha1(&index)?;
        index.extend_from_slice(own.as_slice());
        Ok(index)
    }
}

/// An object as it stands in a pack: kind, size and compressed data.
pub(super) fn packed_entry(kind: Kind, data: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = entry_header(kind, data.len());
    let mut encoder = ZlibEncoder::new(&mut bytes, Compression::fast());
    encoder.write_all(data).and_then(|()| encoder.finish().map(drop)).map_err(Error::git("compress an object"))?;
    Ok(bytes)
}

/// Kind in bits 4 to 6 of the first byte, size in its low 4 bits and then 7 bits a byte.
fn entry_header(kind: Kind, size: usize) -> Vec<u8> {
    let kind: u8 = match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
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

fn to_u32(value: usize) -> Result<u32> {
    let bounded = u32::try_from(value).ok().filter(|value| u64::from(*value) <= OFFSET_MAX);
    bounded.ok_or_else(|| Error::Git { action: "write a pack", reason: "it would be larger than 2 GiB".into() })
}

pub(super) fn sha1(bytes: &[u8]) -> Result<ObjectId> {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(bytes);
    hasher.try_finalize().map_err(Error::git("hash a pack"))
}

/// Writes a file under a temporary name, syncs it and gives it its name.
fn write_synced(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = folder.join(name);
    let temporary = folder.join(format!("{TEMPORARY_PREFIX}{name}"));
    let mut file = File::create(&temporary).map_err(Error::io("create", &temporary))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(Error::io("write", &temporary))?;
    fs::rename(&temporary, &path).map_err(Error::io("rename into place", &path))
}

/// Syncs a directory, so that the names in it survive a loss of power.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(Error::io("sync", folder))
}
