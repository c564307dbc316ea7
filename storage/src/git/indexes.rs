//! Checking pack indexes, and rebuilding missing and damaged ones.
//!
//! Without its index the objects of a pack cannot be found, but they are not lost: an index can always be rebuilt from
//! its pack. See [`pack`](super::pack) for the layout of both.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gix_pack::data::input::{BytesToEntriesIter, EntryDataMode, Mode};

use super::limits::OBJECT_BYTES_MAX;
use super::pack::{HASH_BYTES, sha1};
use crate::error::{Error, Result};
use crate::files::replace;

/// Size of signature, version and fanout.
const INDEX_HEADER_BYTES: usize = 8 + 256 * 4;
/// Size per object: id, CRC-32 and offset.
const INDEX_ENTRY_BYTES: u64 = HASH_BYTES as u64 + 4 + 4;
/// Additional size per object after the first 2 GiB of a pack.
const LARGE_OFFSET_BYTES: u64 = 8;
/// Size of the pack's hash and the index's own hash.
const INDEX_END_BYTES: u64 = 2 * HASH_BYTES as u64;

/// How thoroughly indexes are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scrutiny {
    /// Header and length: reads a kilobyte of each index.
    Quick,
    /// Also the hash of the whole index.
    Thorough,
}

/// The result of repairing the indexes of a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IndexRepair {
    /// Indexes that were rebuilt.
    pub(super) rebuilt: usize,
    /// Packs without a usable index from which none can be built, because the pack is damaged too.
    pub(super) unusable: usize,
}

/// Rebuilds the index of every pack whose index is missing or damaged. Packs in `ignored`, named without extension, are
/// skipped: they are about to be removed.
pub(super) fn repair(folder: &Path, ignored: &HashSet<OsString>, scrutiny: Scrutiny) -> Result<IndexRepair> {
    let mut repair = IndexRepair::default();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(repair),
        entries => entries.map_err(Error::io("list", folder))?,
    };
    for entry in entries {
        let pack = entry.map_err(Error::io("list", folder))?.path();
        if pack.extension() != Some(OsStr::new("pack")) {
            continue;
        }
        let Some(name) = pack.file_stem() else { continue };
        if !name.to_string_lossy().starts_with("pack-") || ignored.contains(name) {
            continue;
        }
        let index = pack.with_extension("idx");
        if is_intact(&index, scrutiny) {
            continue;
        }
        match rebuild(&pack, &index) {
            Ok(()) => {
                tracing::warn!(pack = %pack.display(), "rebuilt the missing or damaged index of a pack");
                repair.rebuilt += 1;
            }
            Err(error) => {
                tracing::error!(pack = %pack.display(), %error, "cannot rebuild the index of a damaged pack");
                repair.unusable += 1;
            }
        }
    }
    Ok(repair)
}

/// Returns whether an index is intact, as far as `scrutiny` checks. An index that a disk failure makes unreadable
/// counts as intact, since it is not known to be damaged; the next read of an object in the pack reports the failure.
fn is_intact(index: &Path, scrutiny: Scrutiny) -> bool {
    match check_index(index, scrutiny) {
        Ok(intact) => intact,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof),
    }
}

fn check_index(index: &Path, scrutiny: Scrutiny) -> std::io::Result<bool> {
    let mut file = File::open(index)?;
    let bytes = file.metadata()?.len();
    let mut header = [0; INDEX_HEADER_BYTES];
    file.read_exact(&mut header)?;
    if !header.starts_with(b"\xfftOc\0\0\0\x02") {
        return Ok(false);
    }
    let mut count = 0;
    for word in header[8..].chunks_exact(4) {
        let total = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
        if total < count {
            return Ok(false);
        }
        count = total;
    }
    let bytes_min = INDEX_HEADER_BYTES as u64 + u64::from(count) * INDEX_ENTRY_BYTES + INDEX_END_BYTES;
    let Some(large_offset_bytes) = bytes.checked_sub(bytes_min) else { return Ok(false) };
    if !large_offset_bytes.is_multiple_of(LARGE_OFFSET_BYTES)
        || large_offset_bytes / LARGE_OFFSET_BYTES > u64::from(count)
    {
        return Ok(false);
    }
    if scrutiny == Scrutiny::Quick {
        return Ok(true);
    }
    let all = fs::read(index)?;
    let Some((content, own_hash)) = all.split_last_chunk::<HASH_BYTES>() else { return Ok(false) };
    match sha1(content) {
        Ok(hash) => Ok(hash.as_slice() == own_hash),
        Err(_) => Ok(false),
    }
}

/// A pack in memory, as gix asks for it when it resolves deltas.
struct PackBytes<'a>(&'a [u8]);

fn entry_bytes<'a>(range: gix_pack::data::EntryRange, pack: &'a PackBytes<'_>) -> Option<&'a [u8]> {
    let (start, end) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
    pack.0.get(start..end)
}

/// Builds an index from its pack, and verifies the pack's checksum.
fn rebuild(pack: &Path, index: &Path) -> Result<()> {
    let bytes = fs::read(pack).map_err(Error::io("read", pack))?;
    let sha1_ids = gix::hash::Kind::Sha1;
    let mut entries =
        BytesToEntriesIter::new_from_header(bytes.as_slice(), Mode::Verify, EntryDataMode::Crc32, sha1_ids)
            .map_err(Error::git("read a pack"))?;
    let version = entries.version();
    let mut built = Vec::new();
    gix_pack::index::write_data_iter_to_stream(
        gix_pack::index::Version::default(),
        || Ok((entry_bytes, PackBytes(&bytes))),
        &mut entries,
        None,
        &mut gix::progress::Discard,
        &mut built,
        &AtomicBool::new(false),
        sha1_ids,
        Some(OBJECT_BYTES_MAX as usize),
        version,
    )
    .map_err(Error::git("index a pack"))?;
    replace(index, &built).map_err(Error::io("write", index))
}
