//! Taking in what another git sends: first into a repository apart, where it is looked at before anything is believed.

use std::collections::HashSet;
use std::fs;
use std::io::BufRead;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gix::objs::Kind;
use gix::objs::tree::{EntryKind, EntryRef};

use super::compare::{Walk, WalkLimits, over};
use super::inspect;
use super::limits::{COMMIT_BYTES_MAX, IntakeLimits, OBJECT_BYTES_MAX};
use super::missing::{Missing, tree_and_parents};
use super::repository::{CommitId, Repository, commit};
use super::tree::RawTree;
use crate::error::{Error, Result};

/// No more than so many problems are told of one push.
const WRONG_MAX: usize = 20;

impl Repository {
    /// A repository of its own at `path` that sees this one's objects beside those that it will be given.
    pub fn apart(&self, path: &Path) -> Result<Self> {
        let apart = Self::open_or_create(path)?;
        let objects = self.path().join("objects");
        let objects = std::path::absolute(&objects).map_err(Error::io("find", &objects))?;
        let alternates = path.join("objects/info");
        fs::create_dir_all(&alternates).map_err(Error::io("create", &alternates))?;
        let alternates = alternates.join("alternates");
        fs::write(&alternates, format!("{}\n", objects.display())).map_err(Error::io("write", &alternates))?;
        Ok(apart)
    }

    /// Takes in the objects of a pack, whose deltas may stand on objects that are here. What it holds is not trusted, and
    /// [`check_pack`](super::check_pack) has found it within bounds.
    pub fn take_pack(&self, pack: &mut dyn BufRead) -> Result<()> {
        let folder = self.pack_folder();
        let options = gix_pack::bundle::write::Options {
            alloc_limit_bytes: Some(OBJECT_BYTES_MAX as usize),
            ..gix_pack::bundle::write::Options::default()
        };
        let here = self.open()?.objects;
        gix_pack::Bundle::write_to_directory(
            pack,
            Some(&folder),
            &mut gix::progress::Discard,
            &AtomicBool::new(false),
            Some(here),
            gix::hash::Kind::Sha1,
            options,
        )
        .map(drop)
        .map_err(|error| {
            let error = Error::git("take in a pack")(error);
            // What is no fault of the disk's is one of the pack's.
            if error.disk_trouble().is_some() { error } else { Error::invalid("pack", error) }
        })
    }
}

impl Missing {
    /// Checks their number, their sizes and their directories against limits, before the contents of any file are read.
    /// Each commit is compared with its first parent, so that a directory which stands under many paths is found wherever
    /// in the history it is.
    ///
    /// Fails with [`Error::Invalid`] where one of the limits is exceeded, or where a directory is not as git sorts it.
    pub fn check(&self, limits: &IntakeLimits) -> Result<()> {
        if self.count() > u64::from(limits.objects_max) {
            return Err(over("it has more than", u64::from(limits.objects_max), "objects"));
        }
        let mut unpacked_bytes = 0u64;
        for (id, kind) in &self.objects {
            let bytes = self.repository.find_header(*id).map_err(Error::git("read an object"))?.size();
            unpacked_bytes = unpacked_bytes.saturating_add(bytes);
            if *kind == Kind::Commit && bytes > COMMIT_BYTES_MAX {
                return Err(over("one of its commits takes more than", COMMIT_BYTES_MAX, "bytes"));
            }
            if unpacked_bytes > limits.unpacked_bytes_max {
                return Err(over("its objects take more than", limits.unpacked_bytes_max, "bytes: send it in parts"));
            }
        }
        for (id, kind) in &self.objects {
            if *kind == Kind::Tree {
                check_names(&RawTree::read(&self.repository, *id)?, limits)?;
            }
        }
        let mut walk = Walk::new(&self.repository, WalkLimits::of(limits));
        for (id, kind) in &self.objects {
            if *kind != Kind::Commit {
                continue;
            }
            let (tree, parents) = tree_and_parents(&self.repository, *id)?;
            let before = match parents.first() {
                Some(parent) => Some(tree_and_parents(&self.repository, *parent)?.0),
                None => None,
            };
            walk.compare(before, Some(tree), "")?;
        }
        Ok(())
    }

    /// The commits among them whose message has a trailer of that name, newest first.
    pub fn commits_with_trailer(&self, key: &str) -> Result<Vec<CommitId>> {
        let mut found = Vec::new();
        for (id, kind) in &self.objects {
            if *kind == Kind::Commit && commit(&self.repository, *id)?.0.trailer(key).is_some() {
                found.push(CommitId(*id));
            }
        }
        Ok(found)
    }

    /// What is wrong with them, in words: what is not what its name says, and what is neither directory nor file.
    pub fn inspect(&self) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        for (id, kind) in &self.objects {
            if let Err(error) = inspect::read(&self.repository, *id, *kind) {
                wrong.push(format!("{kind} {id}: {error}"));
            } else if *kind == Kind::Tree {
                let tree = self.repository.find_tree(*id).map_err(Error::git("read a directory"))?;
                let decoded = tree.decode().map_err(Error::git("read a directory"))?;
                let strange = |kind| matches!(kind, EntryKind::Link | EntryKind::Commit);
                let strange = decoded.entries.iter().filter(|entry| strange(entry.mode.kind()));
                wrong.extend(strange.map(|entry| format!("{}: is a symbolic link or a submodule", entry.filename)));
            }
            if wrong.len() >= WRONG_MAX {
                break;
            }
        }
        Ok(wrong)
    }
}

/// Checks that a directory has not too many names, that they are sorted, and that none of them comes twice.
fn check_names(tree: &RawTree, limits: &IntakeLimits) -> Result<()> {
    if tree.len() > limits.names_max {
        return Err(over("one of its directories has more than", limits.names_max as u64, "names"));
    }
    let mut names = HashSet::with_capacity(tree.len());
    let mut last: Option<EntryRef<'_>> = None;
    for index in 0..tree.len() {
        let Some(entry) = tree.entry(index) else { break };
        let is_sorted = last.is_none_or(|last| last < entry);
        if !is_sorted || !names.insert(entry.filename) {
            let reason = format!("one of its directories is not sorted, or has {} twice", entry.filename);
            return Err(Error::invalid("history", reason));
        }
        last = Some(entry);
    }
    Ok(())
}
