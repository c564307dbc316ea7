//! Folding small packs into larger ones, so that their number stays logarithmic in the number of commits.
//!
//! Packs fall into size classes, each four times the one before. Once a class holds [`PACKS_PER_CLASS_MAX`], all packs
//! of it and of the classes below become one. An object is copied a few times in its life, as in a log-structured
//! merge tree. Packs in which a delta tells how far before it its base is (made by another git) are left alone.
//!
//! Large trees, which a commit writes whole, become deltas here: the commits in the packs are followed, and a tree is told
//! by its difference from the one at the same path in the commit before. Chains of such deltas have a bound; the tree
//! behind it stays whole.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use gix::ObjectId;

use super::delta::{self, CHAIN_MAX, LARGE_TREE_BYTES};
use super::missing::tree_and_parents;
use super::pack::{HASH_BYTES, OFFSET_DELTA, PACK_HEADER_BYTES, PackFile, REFERENCE_DELTA, packed_delta, sha1};
use super::repository::Repository;
use super::tree::{TreeCache, TreeEntry};
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
/// Packs that become one take no more than this together: half of what an index without 64-bit offsets reaches.
const JOINED_BYTES_MAX: u64 = 1 << 30;
/// Commits that are followed to find versions of trees, which takes some 50 µs each while nobody can write. Packs of
/// more commits come from others in which this was done.
const COMMITS_FOLLOWED_MAX: usize = 10_000;
/// Kinds of entries in a pack that are no deltas.
const COMMIT: u8 = 1;
const TREE: u8 = 2;

struct Pack {
    path: PathBuf,
    class: u32,
    bytes: u64,
}

/// Joins packs where a size class is full. Returns how many were replaced.
///
/// What was replaced stays for a while, so that a clone or fsck that has already listed it can go on; the file
/// `cuebase-replaced` names it.
pub(super) fn consolidate(repository: &Repository) -> Result<usize> {
    let folder = repository.pack_folder();
    let mut replaced = Replaced::read(repository.path())?;
    replaced.remove(&folder)?;
    let chosen = fullest(list(&folder, &replaced)?);
    let joined = Joined::read(chosen)?;
    if joined.packs.len() < 2 {
        return Ok(0);
    }
    let deltas = joined.deltas(repository)?;
    let mut pack = PackFile::create(&folder, joined.entries.len())?;
    joined.write(&deltas, &mut pack)?;
    let name = pack.finish()?;
    pack.publish(name)?;
    let written = name.to_string();
    let mut names: Vec<String> = Vec::new();
    for path in &joined.packs {
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.retain(|name| *name != written);
    let count = names.len();
    replaced.add(names)?;
    Ok(count)
}

/// The packs of the largest class that is full and of those below it, smallest first; none where no class is full.
fn fullest(mut packs: Vec<Pack>) -> Vec<PathBuf> {
    let mut counts: HashMap<u32, usize> = HashMap::new();
    for pack in &packs {
        *counts.entry(pack.class).or_default() += 1;
    }
    let full = counts.into_iter().filter(|(_, count)| *count >= PACKS_PER_CLASS_MAX).map(|(class, _)| class).max();
    let Some(full) = full else { return Vec::new() };
    packs.retain(|pack| pack.class <= full);
    packs.sort_by_key(|pack| pack.bytes);
    let mut chosen = Vec::new();
    let mut bytes = 0;
    for pack in packs {
        bytes += pack.bytes;
        if bytes > JOINED_BYTES_MAX {
            break;
        }
        chosen.push(pack.path);
    }
    chosen
}

/// An object in one of the packs that become one.
struct Packed {
    id: ObjectId,
    /// Which pack, by its place among them.
    pack: usize,
    /// Where in that pack the entry is.
    range: Range<usize>,
    /// As the entry says: [`COMMIT`], [`TREE`], [`REFERENCE_DELTA`] or another.
    kind: u8,
    /// Unpacked.
    bytes: u64,
    /// What a delta stands on, an object of the same pack.
    base: Option<ObjectId>,
}

/// The packs that become one, and every object in them once.
struct Joined {
    packs: Vec<PathBuf>,
    entries: Vec<Packed>,
    places: HashMap<ObjectId, usize>,
}

impl Joined {
    /// Reads where in the packs everything is. Packs that cannot be joined are left out.
    fn read(chosen: Vec<PathBuf>) -> Result<Self> {
        let mut joined = Self { packs: Vec::new(), entries: Vec::new(), places: HashMap::new() };
        for path in chosen {
            let number = joined.packs.len();
            if let Some(found) = read(&path, number)? {
                joined.packs.push(path);
                for entry in found {
                    joined.add(entry);
                }
            }
        }
        Ok(joined)
    }

    /// Adds an entry. Of an object that is in several packs a whole one is taken, else the first: so no chain of deltas
    /// leads to a later pack, and none back to itself.
    fn add(&mut self, entry: Packed) {
        match self.places.entry(entry.id) {
            Entry::Vacant(slot) => {
                slot.insert(self.entries.len());
                self.entries.push(entry);
            }
            Entry::Occupied(slot) => {
                let known = &mut self.entries[*slot.get()];
                if known.base.is_some() && entry.base.is_none() {
                    *known = entry;
                }
            }
        }
    }

    /// Entries that take the place of large trees that stand whole in the packs, by the tree's place.
    fn deltas(&self, repository: &Repository) -> Result<HashMap<usize, Vec<u8>>> {
        let mut deltas = HashMap::new();
        let commits = self.entries.iter().filter(|entry| entry.kind == COMMIT).count();
        if commits > COMMITS_FOLLOWED_MAX || !self.entries.iter().any(is_large_tree) {
            return Ok(deltas);
        }
        let repository = repository.open()?;
        let mut trees = TreeCache::new(&repository);
        let mut chains = Chains::of(self);
        let mut next = self.roots(&repository)?;
        let mut seen = HashSet::new();
        while let Some((old, new)) = next.pop() {
            let (Some(before), Some(after)) = (self.places.get(&old), self.places.get(&new)) else { continue };
            let entry = &self.entries[*after];
            let is_large = is_large_tree(entry);
            // A delta was looked at when it became one, with what is below it.
            let is_open = entry.kind == TREE && (!is_large || chains.can_stand(*after, *before));
            if old == new || !is_open || !seen.insert((old, new)) {
                continue;
            }
            next.extend(changed_folders(&mut trees, old, new)?);
            if is_large && let Some(delta) = delta_between(&mut trees, old, new)? {
                deltas.insert(*after, delta);
                chains.stand(*after, *before);
            }
        }
        Ok(deltas)
    }

    /// The root of each commit in the packs, behind that of its first parent.
    fn roots(&self, repository: &gix::Repository) -> Result<Vec<(ObjectId, ObjectId)>> {
        let mut roots = HashMap::new();
        for entry in self.entries.iter().filter(|entry| entry.kind == COMMIT) {
            roots.insert(entry.id, tree_and_parents(repository, entry.id)?);
        }
        let mut pairs = Vec::new();
        for (root, parents) in roots.values() {
            let before = parents.first().and_then(|parent| roots.get(parent));
            if let Some((root_before, _)) = before {
                pairs.push((*root_before, *root));
            }
        }
        Ok(pairs)
    }

    /// Writes every object, copied as it stands where it is no delta now.
    fn write(&self, deltas: &HashMap<usize, Vec<u8>>, out: &mut PackFile) -> Result<()> {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_unstable_by_key(|place| (self.entries[*place].pack, self.entries[*place].range.start));
        let mut held: Option<(usize, Vec<u8>)> = None;
        for place in order {
            let entry = &self.entries[place];
            if let Some(delta) = deltas.get(&place) {
                out.put(entry.id, delta)?;
                continue;
            }
            let path = &self.packs[entry.pack];
            let pack = match held.take() {
                Some((number, bytes)) if number == entry.pack => bytes,
                _ => fs::read(path).map_err(Error::io("read", path))?,
            };
            let bytes = pack.get(entry.range.clone());
            let bytes = bytes.ok_or_else(|| Error::corrupt(path.display().to_string(), "it has become shorter"))?;
            out.put(entry.id, bytes)?;
            held = Some((entry.pack, pack));
        }
        Ok(())
    }
}

fn is_large_tree(entry: &Packed) -> bool {
    entry.kind == TREE && entry.bytes >= LARGE_TREE_BYTES
}

/// The directories that two versions of one have both and that differ.
fn changed_folders(trees: &mut TreeCache<'_>, old: ObjectId, new: ObjectId) -> Result<Vec<(ObjectId, ObjectId)>> {
    let mut folders = Vec::new();
    let after = trees.get(new)?;
    for index in 0..after.len() {
        let Some(entry) = after.entry(index) else { break };
        if let Some(TreeEntry::Directory(id)) = TreeEntry::of(entry) {
            folders.push((entry.filename.to_vec(), id));
        }
    }
    let mut pairs = Vec::new();
    if folders.is_empty() {
        return Ok(pairs);
    }
    let before = trees.get(old)?;
    for (name, id) in folders {
        if let Some(TreeEntry::Directory(earlier)) = before.find(&name)
            && earlier != id
        {
            pairs.push((earlier, id));
        }
    }
    Ok(pairs)
}

/// A tree as a delta from another one; none where that is not shorter by half.
fn delta_between(trees: &mut TreeCache<'_>, old: ObjectId, new: ObjectId) -> Result<Option<Vec<u8>>> {
    let before = trees.take(old)?;
    let after = trees.get(new)?;
    let delta = delta::encode(&before, after);
    let is_short = delta.len() < after.bytes().len() / 2;
    trees.put_back(old, before);
    if is_short { packed_delta(old, &delta).map(Some) } else { Ok(None) }
}

/// What stands on what.
struct Chains {
    /// By place: the place of the base.
    bases: Vec<Option<usize>>,
    /// By place: the longest chain of deltas that ends there.
    above: Vec<u32>,
}

impl Chains {
    fn of(joined: &Joined) -> Self {
        let count = joined.entries.len();
        let mut chains = Self { bases: vec![None; count], above: vec![0; count] };
        for (place, entry) in joined.entries.iter().enumerate() {
            chains.bases[place] = entry.base.and_then(|base| joined.places.get(&base).copied());
        }
        for place in 0..count {
            chains.lengthen(place);
        }
        chains
    }

    /// Whether a whole tree can become a delta from another: not one that stands on it, and no chain becomes too long.
    fn can_stand(&self, tree: usize, base: usize) -> bool {
        if self.bases[tree].is_some() {
            return false;
        }
        let (mut at, mut length) = (base, 1);
        loop {
            if at == tree {
                return false;
            }
            match self.bases[at] {
                Some(below) => (at, length) = (below, length + 1),
                None => return length + self.above[tree] <= CHAIN_MAX,
            }
        }
    }

    fn stand(&mut self, tree: usize, base: usize) {
        self.bases[tree] = Some(base);
        self.lengthen(tree);
    }

    /// Makes known to what a delta stands on how long the chain above it is.
    fn lengthen(&mut self, tree: usize) {
        let (mut at, mut length) = (tree, self.above[tree]);
        while let Some(below) = self.bases[at] {
            length += 1;
            if self.above[below] >= length {
                return;
            }
            self.above[below] = length;
            at = below;
        }
    }
}

/// The packs that were replaced, named without an ending. A list that cannot be read names none.
pub(super) fn replaced_packs(repository: &Path) -> HashSet<OsString> {
    let Ok(replaced) = Replaced::read(repository) else { return HashSet::new() };
    replaced.packs.into_iter().map(|(name, _)| OsString::from(name)).collect()
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
            packs.push(Pack { path, class: (bytes / CLASS_BYTES).max(1).ilog(4), bytes });
        }
    }
    Ok(packs)
}

/// Every entry of a pack, or none when it holds a delta whose base is told by its place or is not in the pack. The pack's
/// checksum is verified on the way.
fn read(path: &Path, number: usize) -> Result<Option<Vec<Packed>>> {
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

    let ids: HashSet<ObjectId> = positions.iter().map(|(_, id)| *id).collect();
    let mut entries = Vec::with_capacity(count);
    for (n, (start, id)) in positions.iter().enumerate() {
        let range = *start..positions.get(n + 1).map_or(data_end, |next| next.0);
        let bytes = pack.get(range.clone()).filter(|bytes| !bytes.is_empty() && *start >= PACK_HEADER_BYTES);
        let bytes = bytes.ok_or_else(|| corrupt("its index points outside"))?;
        let (kind, size, rest) = entry_header(bytes).ok_or_else(|| corrupt("an entry is cut short"))?;
        if kind == OFFSET_DELTA {
            return Ok(None);
        }
        let mut base = None;
        if kind == REFERENCE_DELTA {
            let id = rest.get(..HASH_BYTES).ok_or_else(|| corrupt("an entry is cut short"))?;
            base = Some(ObjectId::from_bytes_or_panic(id)).filter(|base| ids.contains(base));
            if base.is_none() {
                return Ok(None);
            }
        }
        entries.push(Packed { id: *id, pack: number, range, kind, bytes: size, base });
    }
    Ok(Some(entries))
}

/// An entry's kind, its size when it is unpacked, and what comes after both.
fn entry_header(entry: &[u8]) -> Option<(u8, u64, &[u8])> {
    let (first, mut rest) = entry.split_first()?;
    let kind = (first >> 4) & 7;
    let mut size = u64::from(first & 0x0f);
    let mut more = first & 0x80 != 0;
    let mut shift = 4;
    while more {
        let (byte, behind) = rest.split_first()?;
        size |= u64::from(byte & 0x7f).checked_shl(shift)?;
        more = byte & 0x80 != 0;
        shift += 7;
        rest = behind;
    }
    Some((kind, size, rest))
}
