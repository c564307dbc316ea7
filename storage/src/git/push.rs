//! Receiving data from another git. The objects go into a scratch repository first, where they are checked.

use std::collections::HashSet;
use std::fs;
use std::io::BufRead;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gix::ObjectId;
use gix::objs::Kind;
use gix::objs::tree::{EntryKind, EntryRef};

use super::commit::{CommitId, CommitLinks, DescribedCommit};
use super::compare::{Walk, WalkLimits, limit_exceeded};
use super::inspect::read_references;
use super::limits::{COMMIT_BYTES_MAX, IntakeLimits, OBJECT_BYTES_MAX};
use super::missing::MissingObjects;
use super::repository::Repository;
use super::tree::RawTree;
use crate::error::{Error, Result};

/// Problems after which an inspection ends.
const PROBLEMS_MAX: usize = 20;

impl Repository {
    /// Opens or creates a scratch repository at `path`. It also sees the objects of this repository, through git's
    /// alternates, and stores only its own.
    pub fn open_scratch(&self, path: &Path) -> Result<Self> {
        let scratch = Self::open_or_create(path)?;
        let objects = self.path().join("objects");
        let objects = std::path::absolute(&objects).map_err(Error::io("find", &objects))?;
        let alternates = path.join("objects/info");
        fs::create_dir_all(&alternates).map_err(Error::io("create", &alternates))?;
        let alternates = alternates.join("alternates");
        fs::write(&alternates, format!("{}\n", objects.display())).map_err(Error::io("write", &alternates))?;
        Ok(scratch)
    }

    /// Stores the objects of a pack in this repository. Bases of its deltas may be objects of this repository. The pack
    /// is not trusted; [`check_pack`](super::check_pack) must have found it within the limits.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the pack is damaged or malformed.
    pub fn store_pack(&self, pack: &mut dyn BufRead) -> Result<()> {
        let folder = self.pack_folder();
        let options = gix_pack::bundle::write::Options {
            alloc_limit_bytes: Some(OBJECT_BYTES_MAX as usize),
            ..gix_pack::bundle::write::Options::default()
        };
        let objects = self.open()?.objects;
        let written = gix_pack::Bundle::write_to_directory(
            pack,
            Some(&folder),
            &mut gix::progress::Discard,
            &AtomicBool::new(false),
            Some(objects),
            gix::hash::Kind::Sha1,
            options,
        );
        if let Err(error) = written {
            let error = Error::git("store a pack")(error);
            // A failure that the disk did not cause is a fault of the pack.
            return Err(if error.disk_trouble().is_some() { error } else { Error::invalid("pack", error) });
        }
        Ok(())
    }
}

impl MissingObjects {
    /// Checks the number of objects, their sizes and their directories against limits, before the contents of any file
    /// are read.
    ///
    /// Each commit is compared with its first parent, so that a directory under many paths is found at any point of the
    /// history.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if a limit is exceeded or a directory is not sorted in git's order.
    pub fn check_limits(&self, limits: &IntakeLimits) -> Result<()> {
        if self.count() > u64::from(limits.objects_max) {
            return Err(limit_exceeded("it has more than", u64::from(limits.objects_max), "objects"));
        }
        self.check_sizes(limits)?;
        for (id, kind) in &self.objects {
            if *kind == Kind::Tree {
                check_names(&RawTree::read(&self.repository, *id)?, limits)?;
            }
        }
        self.check_differences(limits)
    }

    fn check_sizes(&self, limits: &IntakeLimits) -> Result<()> {
        let mut unpacked_bytes = 0u64;
        for (id, kind) in &self.objects {
            let bytes = self.repository.find_header(*id).map_err(Error::git("read an object"))?.size();
            unpacked_bytes = unpacked_bytes.saturating_add(bytes);
            if *kind == Kind::Commit && bytes > COMMIT_BYTES_MAX {
                return Err(limit_exceeded("one of its commits takes more than", COMMIT_BYTES_MAX, "bytes"));
            }
            if unpacked_bytes > limits.unpacked_bytes_max {
                return Err(limit_exceeded(
                    "its objects take more than",
                    limits.unpacked_bytes_max,
                    "bytes: send it in parts",
                ));
            }
        }
        Ok(())
    }

    /// Compares each commit with its first parent, under limits that all comparisons share.
    fn check_differences(&self, limits: &IntakeLimits) -> Result<()> {
        let mut walk = Walk::new(&self.repository, WalkLimits::of(limits));
        for (id, kind) in &self.objects {
            if *kind != Kind::Commit {
                continue;
            }
            let links = CommitLinks::read(&self.repository, *id)?;
            let before = links.first_parent_tree(&self.repository)?;
            walk.compare(before, Some(links.tree), "")?;
        }
        Ok(())
    }

    /// Returns the commits whose message has a trailer with this key, newest first.
    pub fn commits_with_trailer(&self, key: &str) -> Result<Vec<CommitId>> {
        let mut found = Vec::new();
        for (id, kind) in &self.objects {
            if *kind != Kind::Commit {
                continue;
            }
            let commit = DescribedCommit::read(&self.repository, *id)?;
            if commit.info.trailer(key).is_some() {
                found.push(commit.info.id);
            }
        }
        Ok(found)
    }

    /// Validates the objects. Describes objects that do not match their ids, and tree entries that are neither
    /// directories nor files.
    pub fn inspect(&self) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        for (id, kind) in &self.objects {
            if let Err(error) = read_references(&self.repository, *id, *kind) {
                problems.push(format!("{kind} {id}: {error}"));
            } else if *kind == Kind::Tree {
                self.inspect_entries(*id, &mut problems)?;
            }
            if problems.len() >= PROBLEMS_MAX {
                break;
            }
        }
        Ok(problems)
    }

    fn inspect_entries(&self, tree: ObjectId, problems: &mut Vec<String>) -> Result<()> {
        let tree = self.repository.find_tree(tree).map_err(Error::git("read a directory"))?;
        let decoded = tree.decode().map_err(Error::git("read a directory"))?;
        for entry in &decoded.entries {
            if matches!(entry.mode.kind(), EntryKind::Link | EntryKind::Commit) {
                problems.push(format!("{}: is a symbolic link or a submodule", entry.filename));
            }
        }
        Ok(())
    }
}

/// Checks the number of names in a directory, and that they are sorted and unique.
fn check_names(tree: &RawTree, limits: &IntakeLimits) -> Result<()> {
    if tree.len() > limits.names_max {
        return Err(limit_exceeded("one of its directories has more than", limits.names_max as u64, "names"));
    }
    let mut names = HashSet::with_capacity(tree.len());
    let mut last: Option<EntryRef<'_>> = None;
    for index in 0..tree.len() {
        let Some(entry) = tree.entry(index) else { break };
        let is_unsorted = matches!(last, Some(last) if last >= entry);
        if is_unsorted || !names.insert(entry.filename) {
            let reason = format!("one of its directories is not sorted, or has {} twice", entry.filename);
            return Err(Error::invalid("history", reason));
        }
        last = Some(entry);
    }
    Ok(())
}
