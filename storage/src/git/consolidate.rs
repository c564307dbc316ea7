//! Joining small packs into larger ones, so that the number of packs stays logarithmic in the number of commits.
//!
//! Packs fall into size classes, each four times the one before. Once a class holds [`PACKS_PER_CLASS_MAX`] packs, all
//! packs of it and of the classes below become one. An object is copied a few times in its life, as in a log-structured
//! merge tree. Packs in which a delta gives its base by offset (made by another git) are left unchanged.
//!
//! A commit writes large trees whole; joining turns them into deltas. It follows the commits in the packs and encodes a
//! tree against the one at the same path in the commit before. The length of delta chains is bounded; the tree at the
//! end of a chain stays whole.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use gix::ObjectId;

use super::commit::CommitLinks;
use super::delta::{self, CHAIN_MAX, LARGE_TREE_BYTES};
use super::ledger::PackId;
use super::pack::PackFile;
use super::pack_entry::EntryEncoder;
use super::pack_reader::{PackedObject, read_objects};
use super::replaced::ReplacedPacks;
use super::repository::Repository;
use super::tree::{TreeCache, TreeEntry};
use crate::error::{Error, Result};

/// Packs of one size class that become one pack.
const PACKS_PER_CLASS_MAX: usize = 16;
/// Packs up to this size are class 0.
const CLASS_BYTES: u64 = 32 << 10;
/// Packs above this size are never joined.
const PACK_BYTES_MAX: u64 = 256 << 20;
/// Total size of the packs that become one: half of what an index without 64-bit offsets reaches.
const JOINED_BYTES_MAX: u64 = 1 << 30;
/// Commits that are followed to find versions of trees. Each takes about 50 µs, during which the namespace cannot be
/// written. A set of packs with more commits comes from earlier joins, which did this already.
const COMMITS_FOLLOWED_MAX: usize = 10_000;
/// Kind of a commit's entry in a pack.
const COMMIT: u8 = 1;
/// Kind of a tree's entry in a pack.
const TREE: u8 = 2;

impl Repository {
    /// Joins small packs where a size class is full. Returns how many packs can be written before a class may be full
    /// again; zero after a join, which changes the classes.
    ///
    /// Replaced packs stay on disk for a while, so that a clone or fsck that has already listed them can finish.
    pub fn consolidate(&self) -> Result<usize> {
        let folder = self.pack_folder();
        let mut replaced = ReplacedPacks::read(self.path())?;
        replaced.remove_expired(&folder)?;
        let packs = list_packs(&folder, &replaced)?;
        let counts = count_by_class(&packs);
        let most = counts.values().copied().max().unwrap_or_default();
        if most < PACKS_PER_CLASS_MAX {
            return Ok(PACKS_PER_CLASS_MAX - most);
        }
        let joined = JoinedPacks::read(select_packs(packs, &counts))?;
        if joined.packs.len() < 2 {
            return Ok(0);
        }
        let deltas = joined.encode_trees(self)?;
        let mut pack = PackFile::create(&folder, joined.objects.len())?;
        joined.write(&deltas, &mut pack)?;
        let name = pack.finish()?;
        pack.publish(name)?;
        let written = name.to_string();
        let mut names: Vec<String> = Vec::new();
        for path in &joined.packs {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
        names.retain(|name| *name != written);
        if self.ledger().is_some() {
            let removed: Vec<PackId> = names.iter().filter_map(|name| PackId::of_stem(name)).collect();
            self.replace_in_ledger(&removed)?;
        }
        replaced.add(names)?;
        Ok(0)
    }

    /// Removes replaced packs that have been kept long enough, as [`Repository::consolidate`] also does.
    pub fn remove_replaced_packs(&self) -> Result<()> {
        ReplacedPacks::read(self.path())?.remove_expired(&self.pack_folder())
    }
}

/// A pack that may be joined with others.
struct SmallPack {
    path: PathBuf,
    class: u32,
    bytes: u64,
}

/// Lists the packs that were not replaced. Replaced packs are skipped by name, since there may be hundreds of them.
fn list_packs(folder: &Path, replaced: &ReplacedPacks) -> Result<Vec<SmallPack>> {
    let replaced = replaced.names();
    let mut packs = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let entry = entry.map_err(Error::io("list", folder))?;
        let path = entry.path();
        let file_name = entry.file_name();
        let Some(file_name) = file_name.to_str() else { continue };
        let Some(stem) = file_name.strip_suffix(".pack") else { continue };
        if !stem.starts_with("pack-") || replaced.contains(OsStr::new(stem)) {
            continue;
        }
        if !path.with_extension("idx").exists() || path.with_extension("keep").exists() {
            continue;
        }
        let bytes = entry.metadata().map_err(Error::io("read", &path))?.len();
        if bytes <= PACK_BYTES_MAX {
            packs.push(SmallPack { path, class: (bytes / CLASS_BYTES).max(1).ilog(4), bytes });
        }
    }
    Ok(packs)
}

fn count_by_class(packs: &[SmallPack]) -> HashMap<u32, usize> {
    let mut counts = HashMap::new();
    for pack in packs {
        *counts.entry(pack.class).or_default() += 1;
    }
    counts
}

/// Selects the packs of the largest full class and of the classes below it, smallest first. Selects none if no class is
/// full.
fn select_packs(mut packs: Vec<SmallPack>, counts: &HashMap<u32, usize>) -> Vec<PathBuf> {
    let full_classes = counts.iter().filter(|(_, count)| **count >= PACKS_PER_CLASS_MAX);
    let Some(largest) = full_classes.map(|(class, _)| *class).max() else { return Vec::new() };
    packs.retain(|pack| pack.class <= largest);
    packs.sort_by_key(|pack| pack.bytes);
    let mut selected = Vec::new();
    let mut bytes = 0;
    for pack in packs {
        bytes += pack.bytes;
        if bytes > JOINED_BYTES_MAX {
            break;
        }
        selected.push(pack.path);
    }
    selected
}

/// Two versions of the tree at one path.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct TreeVersions {
    old: ObjectId,
    new: ObjectId,
}

/// The packs that become one, and every object in them once.
struct JoinedPacks {
    packs: Vec<PathBuf>,
    objects: Vec<PackedObject>,
    /// Position of each object in `objects`.
    positions: HashMap<ObjectId, usize>,
}

/// A pack in memory.
struct LoadedPack {
    number: usize,
    bytes: Vec<u8>,
}

impl JoinedPacks {
    /// Reads where the objects of the packs are. Packs that cannot be joined are left out.
    fn read(selected: Vec<PathBuf>) -> Result<Self> {
        let mut joined = Self { packs: Vec::new(), objects: Vec::new(), positions: HashMap::new() };
        for path in selected {
            let Some(objects) = read_objects(&path, joined.packs.len())? else { continue };
            joined.packs.push(path);
            for object in objects {
                joined.add(object);
            }
        }
        Ok(joined)
    }

    /// Adds an object. Of several copies, the first whole one is kept, or the first delta if none is whole. A chain of
    /// deltas therefore never leads to a later pack or back to itself.
    fn add(&mut self, object: PackedObject) {
        match self.positions.entry(object.id) {
            Entry::Vacant(slot) => {
                slot.insert(self.objects.len());
                self.objects.push(object);
            }
            Entry::Occupied(slot) => {
                let known = &mut self.objects[*slot.get()];
                if known.base.is_some() && object.base.is_none() {
                    *known = object;
                }
            }
        }
    }

    /// Encodes large trees that are whole in the packs as deltas. Returns the new entries by position of the tree.
    fn encode_trees(&self, repository: &Repository) -> Result<HashMap<usize, Vec<u8>>> {
        let mut deltas = HashMap::new();
        let commits = self.objects.iter().filter(|object| object.kind == COMMIT).count();
        if commits > COMMITS_FOLLOWED_MAX || !self.objects.iter().any(is_large_tree) {
            return Ok(deltas);
        }
        let repository = repository.open()?;
        let mut trees = TreeCache::new(&repository);
        let mut encoder = EntryEncoder::default();
        let mut chains = DeltaChains::new(self);
        let mut pending = self.root_versions(&repository)?;
        let mut seen = HashSet::new();
        while let Some(versions) = pending.pop() {
            let Some(old) = self.positions.get(&versions.old) else { continue };
            let Some(new) = self.positions.get(&versions.new) else { continue };
            let tree = &self.objects[*new];
            let is_large = is_large_tree(tree);
            // A tree that is a delta already was followed, with the trees below it, when it became one.
            let can_follow = tree.kind == TREE && (!is_large || chains.can_set_base(*new, *old));
            if versions.old == versions.new || !can_follow || !seen.insert(versions) {
                continue;
            }
            pending.extend(changed_folders(&mut trees, versions)?);
            if is_large && let Some(delta) = encode_tree(&mut trees, versions, &mut encoder)? {
                deltas.insert(*new, delta);
                chains.set_base(*new, *old);
            }
        }
        Ok(deltas)
    }

    /// Pairs the root of each commit in the packs with the root of its first parent, if the parent is in the packs too.
    fn root_versions(&self, repository: &gix::Repository) -> Result<Vec<TreeVersions>> {
        let mut commits = HashMap::new();
        for object in &self.objects {
            if object.kind == COMMIT {
                commits.insert(object.id, CommitLinks::read(repository, object.id)?);
            }
        }
        let mut versions = Vec::new();
        for commit in commits.values() {
            let Some(parent) = commit.parents.first() else { continue };
            if let Some(before) = commits.get(parent) {
                versions.push(TreeVersions { old: before.tree, new: commit.tree });
            }
        }
        Ok(versions)
    }

    /// Writes every object: the new delta if it has one, otherwise a copy of its entry.
    fn write(&self, deltas: &HashMap<usize, Vec<u8>>, out: &mut PackFile) -> Result<()> {
        let mut order: Vec<usize> = (0..self.objects.len()).collect();
        order.sort_unstable_by_key(|position| (self.objects[*position].pack, self.objects[*position].range.start));
        let mut loaded: Option<LoadedPack> = None;
        for position in order {
            let object = &self.objects[position];
            if let Some(delta) = deltas.get(&position) {
                out.put(object.id, delta)?;
                continue;
            }
            let path = &self.packs[object.pack];
            let pack = match loaded.take() {
                Some(pack) if pack.number == object.pack => pack,
                _ => LoadedPack { number: object.pack, bytes: fs::read(path).map_err(Error::io("read", path))? },
            };
            let Some(bytes) = pack.bytes.get(object.range.clone()) else {
                return Err(Error::corrupt(path.display().to_string(), "it has become shorter"));
            };
            out.put(object.id, bytes)?;
            loaded = Some(pack);
        }
        Ok(())
    }
}

fn is_large_tree(object: &PackedObject) -> bool {
    object.kind == TREE && object.bytes >= LARGE_TREE_BYTES
}

/// Finds the directories that both versions of a tree have and that differ.
fn changed_folders(trees: &mut TreeCache<'_>, versions: TreeVersions) -> Result<Vec<TreeVersions>> {
    let mut changed = Vec::new();
    if !trees.get(versions.new)?.has_directory() {
        return Ok(changed);
    }
    let before = trees.take(versions.old)?;
    let after = trees.get(versions.new)?;
    let mut at_before = 0;
    for index in 0..after.len() {
        // Most entries are equal, and equal bytes need no parsing.
        if before.has_entry_of(at_before, after, index) {
            at_before += 1;
            continue;
        }
        at_before = before.first_not_below(at_before, after, index);
        if let (Some(old), Some(new)) = (before.entry(at_before), after.entry(index))
            && old.filename == new.filename
            && let (Some(TreeEntry::Directory(old)), Some(TreeEntry::Directory(new))) =
                (TreeEntry::of(old), TreeEntry::of(new))
            && old != new
        {
            changed.push(TreeVersions { old, new });
        }
    }
    trees.put_back(versions.old, before);
    Ok(changed)
}

/// Encodes the new version of a tree as a delta from the old one. Returns `None` if the delta is not shorter than half
/// of the tree.
fn encode_tree(
    trees: &mut TreeCache<'_>,
    versions: TreeVersions,
    encoder: &mut EntryEncoder,
) -> Result<Option<Vec<u8>>> {
    let before = trees.take(versions.old)?;
    let after = trees.get(versions.new)?;
    let delta = delta::encode(&before, after);
    let is_short = delta.len() < after.bytes().len() / 2;
    trees.put_back(versions.old, before);
    if is_short { encoder.encode_delta(versions.old, &delta).map(Some) } else { Ok(None) }
}

/// The base of each delta, and the lengths of the chains that they form. Both lists are by position of the object.
struct DeltaChains {
    bases: Vec<Option<usize>>,
    /// Length of the longest chain of deltas that ends at the object.
    dependent_max: Vec<u32>,
}

impl DeltaChains {
    fn new(joined: &JoinedPacks) -> Self {
        let count = joined.objects.len();
        let mut chains = Self { bases: vec![None; count], dependent_max: vec![0; count] };
        for (position, object) in joined.objects.iter().enumerate() {
            if let Some(base) = object.base {
                chains.bases[position] = joined.positions.get(&base).copied();
            }
        }
        for position in 0..count {
            chains.update_bases_of(position);
        }
        chains
    }

    /// Returns whether a whole tree may become a delta from `base`: `base` must not depend on the tree, and no chain
    /// may become too long.
    fn can_set_base(&self, tree: usize, base: usize) -> bool {
        if self.bases[tree].is_some() {
            return false;
        }
        let (mut at, mut length) = (base, 1);
        loop {
            if at == tree {
                return false;
            }
            match self.bases[at] {
                Some(next) => (at, length) = (next, length + 1),
                None => return length + self.dependent_max[tree] <= CHAIN_MAX,
            }
        }
    }

    fn set_base(&mut self, tree: usize, base: usize) {
        self.bases[tree] = Some(base);
        self.update_bases_of(tree);
    }

    /// Updates the chain lengths of all objects that a delta depends on.
    fn update_bases_of(&mut self, position: usize) {
        let (mut at, mut length) = (position, self.dependent_max[position]);
        while let Some(base) = self.bases[at] {
            length += 1;
            if self.dependent_max[base] >= length {
                return;
            }
            self.dependent_max[base] = length;
            at = base;
        }
    }
}
