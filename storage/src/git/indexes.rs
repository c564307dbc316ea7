//! Pack indexes: whether each is whole, and building those again that are not.
//!
//! Without its index a pack's objects cannot be found, though nothing of them is lost. An index holds nothing that the pack
//! does not: see [`pack`](super::pack) for its layout.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gix_pack::data::input::{BytesToEntriesIter, EntryDataMode, Mode};

use super::limits::OBJECT_BYTES_MAX;
use super::pack::{HASH_BYTES, sha1, sync_folder, write_synced};
use crate::error::{Error, Result};

/// Signature, version and fanout.
const INDEX_HEADER_BYTES: usize = 8 + 256 * 4;
/// Of each object: its id, its CRC-32, its offset.
const INDEX_ENTRY_BYTES: u64 = HASH_BYTES as u64 + 4 + 4;
/// Of each object behind the first 2 GiB of a pack.
const LARGE_OFFSET_BYTES: u64 = 8;
/// The pack's hash and the index's own.
const INDEX_END_BYTES: u64 = 2 * HASH_BYTES as u64;

/// How closely indexes are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scrutiny {
    /// Header and length: a read of a kilobyte for each.
    Quick,
    /// The hash of all of it too.
    Thorough,
}

/// What became of the indexes in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Checked {
    /// Indexes that were built again.
    pub(super) rebuilt: usize,
    /// Packs that have no usable index and from which none can be built, since they are damaged too.
    pub(super) unusable: usize,
}

/// Builds the index of every pack again that has none or a damaged one. Packs in `ignored`, named without an ending, are
/// on their way out and are left alone.
pub(super) fn repair(folder: &Path, ignored: &HashSet<OsString>, scrutiny: Scrutiny) -> Result<Checked> {
    let mut checked = Checked::default();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(checked),
        entries => entries.map_err(Error::io("list", folder))?,
    };
    for entry in entries {
        let pack = entry.map_err(Error::io("list", folder))?.path();
        let Some(name) = pack.file_stem().map(OsString::from) else { continue };
        let is_pack = pack.extension().is_some_and(|extension| extension == "pack");
        if !is_pack || !name.to_string_lossy().starts_with("pack-") || ignored.contains(&name) {
            continue;
        }
        let index = pack.with_extension("idx");
        if is_whole(&index, scrutiny) {
            continue;
        }
        match rebuild(folder, &pack, &index) {
            Ok(()) => {
                tracing::warn!(pack = %pack.display(), "the pack's index was missing or damaged and was built again");
                checked.rebuilt += 1;
            }
            Err(error) => {
                tracing::error!(pack = %pack.display(), %error, "the pack has no usable index and none can be built");
                checked.unusable += 1;
            }
        }
    }
    Ok(checked)
}

/// Whether an index is what it should be, as far as that is looked at. One that cannot be read because the disk fails is
/// not known to be damaged: whoever needs it reports that.
fn is_whole(index: &Path, scrutiny: Scrutiny) -> bool {
    match looks_whole(index, scrutiny) {
        Ok(whole) => whole,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof),
    }
}

fn looks_whole(index: &Path, scrutiny: Scrutiny) -> std::io::Result<bool> {
    let mut file = File::open(index)?;
    let bytes = file.metadata()?.len();
    let mut header = [0; INDEX_HEADER_BYTES];
    file.read_exact(&mut header)?;
    if !header.starts_with(b"\xfftOc\0\0\0\x02") {
        return Ok(false);
    }
    let mut count = 0;
    for word in header[8..].chunks_exact(4) {
        let so_far = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
        if so_far < count {
            return Ok(false);
        }
        count = so_far;
    }
    let least = INDEX_HEADER_BYTES as u64 + u64::from(count) * INDEX_ENTRY_BYTES + INDEX_END_BYTES;
    let large_offsets = bytes.checked_sub(least);
    let fits = large_offsets
        .is_some_and(|more| more % LARGE_OFFSET_BYTES == 0 && more / LARGE_OFFSET_BYTES <= u64::from(count));
    if !fits || scrutiny == Scrutiny::Quick {
        return Ok(fits);
    }
    let all = fs::read(index)?;
    let Some((content, own_hash)) = all.split_last_chunk::<HASH_BYTES>() else { return Ok(false) };
    Ok(sha1(content).is_ok_and(|hash| hash.as_slice() == own_hash))
}

/// A pack in memory, in which entries are found by their place.
struct PackBytes<'a>(&'a [u8]);

fn entry_bytes<'a>(range: gix_pack::data::EntryRange, pack: &'a PackBytes<'_>) -> Option<&'a [u8]> {
    let (start, end) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
    pack.0.get(start..end)
}

/// Builds an index from its pack, whose checksum is verified on the way.
fn rebuild(folder: &Path, pack: &Path, index: &Path) -> Result<()> {
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
    let name = index.file_name().unwrap_or_default().to_string_lossy().into_owned();
    write_synced(folder, &name, &built)?;
    sync_folder(folder)
}
