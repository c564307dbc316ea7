//! Folding small packs into larger ones, so that their number stays logarithmic in the number of commits.
//!
//! Packs fall into size classes, each four times the one before. Once a class holds [`PACKS_PER_CLASS_MAX`], all packs
//! of it and of the classes below become one. An object is copied a few times in its life, as in a log-structured
//! merge tree. Packs that hold deltas (pushed by another git) are left alone, since a delta's base may be elsewhere.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use gix::ObjectId;

use super::pack::{HASH_BYTES, PACK_HEADER_BYTES, PackBuilder, PackEntry, sha1};
use crate::error::{Error, Result};

/// So many packs of one size class become one.
const PACKS_PER_CLASS_MAX: usize = 16;
/// Packs up to this size are class 0.
const CLASS_BYTES: u64 = 32 << 10;
/// A replaced pack is kept for a minute.
const REPLACED_KEPT_SECONDS: u64 = 60;
/// At most so many are kept for that long: under heavy writing they must not pile up.
const REPLACED_PACKS_MAX: usize = 128;
/// All are kept for so long: what has listed them a moment ago opens them next.
const REPLACED_KEPT_SECONDS_MIN: u64 = 2;
/// Packs above this size are final.
const PACK_BYTES_MAX: u64 = 256 << 20;

struct Pack {
    path: PathBuf,
    class: u32,
}

/// Joins packs where a size class is full. Returns how many were replaced.
///
/// What was replaced stays for a while, so that a clone or fsck that has already listed it can go on; the file
/// `cuebase-replaced` names it.
pub(super) fn consolidate(repository: &Path, folder: &Path) -> Result<usize> {
    let mut replaced = Replaced::read(repository)?;
    replaced.remove(folder)?;
    let packs = list(folder, &replaced)?;
    let classes = packs.iter().map(|pack| pack.class).max().map_or(0, |class| class + 1);
    let full = (0..classes)
        .rev()
        .find(|class| packs.iter().filter(|pack| pack.class == *class).count() >= PACKS_PER_CLASS_MAX);
    let Some(full) = full else { return Ok(0) };

    let mut builder = PackBuilder::default();
    let mut joined = Vec::new();
    for pack in packs.iter().filter(|pack| pack.class <= full) {
        if let Some(entries) = read(&pack.path)? {
            entries.into_iter().for_each(|entry| builder.add_entry(entry));
            joined.extend(pack.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    if joined.len() < 2 {
        return Ok(0);
    }
    let written = builder.write(folder, |_| Ok(()))?;
    joined.retain(|name| *name != written);
    let count = joined.len();
    replaced.add(joined)?;
    Ok(count)
}

/// Removes the packs that were replaced long enough ago.
pub(super) fn remove_replaced(repository: &Path, folder: &Path) -> Result<()> {
    Replaced::read(repository)?.remove(folder)
}

/// The packs that a joined one has replaced, each with when, in seconds since the epoch, oldest first.
struct Replaced {
    file: PathBuf,
    packs: Vec<(String, u64)>,
}

impl Replaced {
    fn read(repository: &Path) -> Result<Self> {
        let file = repository.join("cuebase-replaced");
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            text => text.map_err(Error::io("read", &file))?,
        };
        let packs = text.lines().filter_map(|line| {
            let (name, at) = line.split_once(' ')?;
            // The name becomes part of a path, so it may be nothing but a pack's.
            let plain = name.strip_prefix("pack-").is_some_and(|hash| hash.bytes().all(|b| b.is_ascii_hexdigit()));
            Some((name.to_owned(), at.parse().ok()?)).filter(|_| plain)
        });
        Ok(Self { packs: packs.collect(), file })
    }

    fn add(&mut self, names: Vec<String>) -> Result<()> {
        let now = now_seconds();
        self.packs.extend(names.into_iter().map(|name| (name, now)));
        self.write()
    }

    /// Removes the packs that were replaced long enough ago, earlier where there are many.
    fn remove(&mut self, folder: &Path) -> Result<()> {
        let surplus = self.packs.len().saturating_sub(REPLACED_PACKS_MAX);
        let (now, count) = (now_seconds(), self.packs.len());
        let mut kept = Vec::new();
        for (place, (name, at)) in self.packs.drain(..).enumerate() {
            let kept_for = if place < surplus { REPLACED_KEPT_SECONDS_MIN } else { REPLACED_KEPT_SECONDS };
            // Whole seconds: a difference of one may be next to nothing.
            if now.saturating_sub(at) <= kept_for {
                kept.push((name, at));
                continue;
            }
            // Index first: a pack without one is never looked into.
            for extension in ["idx", "pack"] {
                let path = folder.join(&name).with_extension(extension);
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(Error::io("remove", &path)(error));
                    }
                    _ => {}
                }
            }
        }
        let changed = kept.len() < count;
        self.packs = kept;
        if changed { self.write() } else { Ok(()) }
    }

    fn write(&self) -> Result<()> {
        let lines: String = self.packs.iter().map(|(name, at)| format!("{name} {at}\n")).collect();
        let temporary = self.file.with_extension("new");
        fs::write(&temporary, lines).map_err(Error::io("write", &temporary))?;
        fs::rename(&temporary, &self.file).map_err(Error::io("rename into place", &self.file))
    }
}

fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

/// The packs that were not replaced; of the others nothing is asked, for there may be hundreds.
fn list(folder: &Path, replaced: &Replaced) -> Result<Vec<Pack>> {
    let replaced: HashSet<&OsStr> = replaced.packs.iter().map(|(name, _)| OsStr::new(name)).collect();
    let mut packs = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let entry = entry.map_err(Error::io("list", folder))?;
        let path = entry.path();
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with("pack-") && name.ends_with(".pack"));
        let ours = ours && path.file_stem().is_some_and(|stem| !replaced.contains(stem));
        if !ours || !path.with_extension("idx").exists() || path.with_extension("keep").exists() {
            continue;
        }
        let bytes = entry.metadata().map_err(Error::io("read", &path))?.len();
        if bytes <= PACK_BYTES_MAX {
            packs.push(Pack { path, class: (bytes / CLASS_BYTES).max(1).ilog(4) });
        }
    }
    Ok(packs)
}

/// Every entry of a pack, or none when it holds a delta. The pack's checksum is verified on the way.
fn read(path: &Path) -> Result<Option<Vec<PackEntry>>> {
    let corrupt = |reason: &str| Error::corrupt(path.display().to_string(), reason);
    let pack = fs::read(path).map_err(Error::io("read", path))?;
    let index_path = path.with_extension("idx");
    let index = fs::read(&index_path).map_err(Error::io("read", &index_path))?;
    let data_end = pack.len().checked_sub(HASH_BYTES).ok_or_else(|| corrupt("too short"))?;
    if sha1(&pack[..data_end])?.as_slice() != &pack[data_end..] {
        return Err(corrupt("checksum does not match"));
    }

    let word = |at: usize| -> Result<u32> {
        let bytes = index.get(at..at + 4).ok_or_else(|| corrupt("its index is too short"))?;
        Ok(u32::from_be_bytes(bytes.try_into().map_err(|_| corrupt("its index is too short"))?))
    };
    if word(0)? != 0xff74_4f63 || word(4)? != 2 {
        return Ok(None);
    }
    let fanout = 8;
    let count = word(fanout + 255 * 4)? as usize;
    let ids = fanout + 256 * 4;
    let offsets = ids + count * (HASH_BYTES + 4);
    let mut positions = Vec::with_capacity(count);
    for n in 0..count {
        let id =
            index.get(ids + n * HASH_BYTES..ids + (n + 1) * HASH_BYTES).ok_or_else(|| corrupt("index cut short"))?;
        positions.push((word(offsets + n * 4)? as usize, ObjectId::from_bytes_or_panic(id)));
    }
    positions.sort_unstable();

    let mut entries = Vec::with_capacity(count);
    for (n, (start, id)) in positions.iter().enumerate() {
        let end = positions.get(n + 1).map_or(data_end, |next| next.0);
        let bytes = pack.get(*start..end).filter(|bytes| !bytes.is_empty() && *start >= PACK_HEADER_BYTES);
        let bytes = bytes.ok_or_else(|| corrupt("its index points outside"))?;
        if matches!((bytes[0] >> 4) & 7, 6 | 7) {
            return Ok(None);
        }
        entries.push(PackEntry { id: *id, bytes: bytes.to_vec() });
    }
    Ok(Some(entries))
}
