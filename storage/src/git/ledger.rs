//! A repository that is kept elsewhere, with the local one as its cache.
//!
//! With a [`Ledger`], a commit is durable once the ledger has its pack and its head. The local repository may lack packs
//! that the ledger has, or have packs and a branch that it lacks: after a claim, a crash, or a commit whose outcome is
//! unknown. [`Repository::follow_ledger`] makes it equal again. What only the local repository has was never durable and
//! is dropped.
//!
//! Which packs are new is found by comparing the folder with the names that the ledger is known to have. So every way of
//! writing packs (commits, pushes, imports, erasures) needs no other change than that of the branch.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::ObjectId;
use parking_lot::Mutex;

use super::branch::BranchLock;
use super::commit::CommitId;
use super::indexes;
use super::pack::{HASH_BYTES, remove_pack_files};
use super::replaced::ReplacedPacks;
use super::repository::{BRANCH, Repository};
use crate::error::{Error, Result};

/// The name of a pack: the hash of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackId(ObjectId);

impl PackId {
    /// Returns the 20 bytes of the name.
    pub fn to_bytes(self) -> [u8; HASH_BYTES] {
        let mut bytes = [0; HASH_BYTES];
        bytes.copy_from_slice(self.0.as_slice());
        bytes
    }

    /// Returns the name of 20 bytes.
    pub fn from_bytes(bytes: [u8; HASH_BYTES]) -> Self {
        Self(ObjectId::from(bytes))
    }

    /// Returns the name in a file name without extension: `pack-` and 40 hexadecimal digits.
    pub(super) fn of_stem(stem: &str) -> Option<Self> {
        let hash = stem.strip_prefix("pack-")?;
        Some(Self(ObjectId::from_hex(hash.as_bytes()).ok()?))
    }

    /// The file name without extension.
    pub(super) fn stem(self) -> String {
        format!("pack-{}", self.0)
    }
}

/// What a ledger has of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerState {
    /// The head of the branch; `None` before the first commit.
    pub head: Option<CommitId>,
    /// The packs. They hold everything that the head reaches.
    pub packs: BTreeSet<PackId>,
}

/// A pack of the local repository that the ledger does not have yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPack {
    /// Its name.
    pub id: PackId,
    /// The file with its objects.
    pub pack: PathBuf,
    /// The index of that file.
    pub index: PathBuf,
}

/// The durable home of one repository. Its calls may wait for a network.
pub trait Ledger: Send + Sync {
    /// Returns head and packs.
    fn state(&self) -> Result<LedgerState>;

    /// Writes the files of a pack. The index may be left out if it is cheap to build.
    fn fetch(&self, id: PackId, pack: &Path, index: &Path) -> Result<()>;

    /// Adds packs and moves the head, all at once and durably.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the head is not `from`; nothing has changed then. Any other error leaves open whether the
    /// head moved.
    fn publish(&self, from: Option<CommitId>, to: CommitId, added: &[NewPack]) -> Result<()>;

    /// Replaces packs by others with the same objects.
    fn replace(&self, removed: &[PackId], added: &[NewPack]) -> Result<()>;

    /// Removes packs whose content must not stay anywhere.
    fn erase(&self, removed: &[PackId]) -> Result<()>;
}

/// A ledger, and what this process knows it to have.
pub(super) struct LedgerLink {
    ledger: Arc<dyn Ledger>,
    known: Mutex<BTreeSet<PackId>>,
}

impl std::fmt::Debug for LedgerLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LedgerLink").finish_non_exhaustive()
    }
}

impl LedgerLink {
    /// Publishes the packs that the ledger lacks, and the head.
    pub(super) fn publish(&self, repository: &Repository, from: Option<CommitId>, to: CommitId) -> Result<()> {
        let added = self.new_packs(repository, &BTreeSet::new())?;
        self.ledger.publish(from, to, &added)?;
        self.known.lock().extend(added.iter().map(|pack| pack.id));
        Ok(())
    }

    /// Replaces packs of the ledger by the new ones.
    pub(super) fn replace(&self, repository: &Repository, removed: &[PackId]) -> Result<()> {
        let added = self.new_packs(repository, &removed.iter().copied().collect())?;
        self.ledger.replace(removed, &added)?;
        let mut known = self.known.lock();
        known.extend(added.iter().map(|pack| pack.id));
        for id in removed {
            known.remove(id);
        }
        Ok(())
    }

    /// Removes packs from the ledger for good.
    pub(super) fn erase(&self, removed: &[PackId]) -> Result<()> {
        self.ledger.erase(removed)?;
        let mut known = self.known.lock();
        for id in removed {
            known.remove(id);
        }
        Ok(())
    }

    /// The packs of a repository that the ledger lacks, without some and without replaced ones.
    fn new_packs(&self, repository: &Repository, without: &BTreeSet<PackId>) -> Result<Vec<NewPack>> {
        let folder = repository.pack_folder();
        let replaced = ReplacedPacks::read(repository.path())?.names();
        let known = self.known.lock();
        let mut added = Vec::new();
        for id in list_packs(&folder)? {
            let (pack, index) = pack_paths(&folder, id);
            let is_old = known.contains(&id) || without.contains(&id) || replaced.contains(OsStr::new(&id.stem()));
            // A pack without an index is not published yet, or was left by a crash.
            if !is_old && index.exists() {
                added.push(NewPack { id, pack, index });
            }
        }
        Ok(added)
    }
}

impl Repository {
    /// Opens the local cache of a repository that a ledger keeps. Creates it first if it does not exist, and makes it
    /// equal to the ledger.
    pub fn open_with_ledger(path: &Path, ledger: Arc<dyn Ledger>) -> Result<Self> {
        let link = Arc::new(LedgerLink { ledger, known: Mutex::default() });
        let repository = Self::open_or_create(path)?.linked(link);
        repository.follow_ledger()?;
        Ok(repository)
    }

    /// Makes the local repository equal to the ledger: fetches missing packs, drops packs that the ledger lacks, and
    /// sets the branch. Does nothing without a ledger. Nobody else may use the repository meanwhile.
    pub(super) fn follow_ledger(&self) -> Result<()> {
        let Some(link) = self.ledger() else { return Ok(()) };
        let state = link.ledger.state()?;
        let folder = self.pack_folder();
        let local = list_packs(&folder)?;
        for id in &state.packs {
            let (pack, index) = pack_paths(&folder, *id);
            if !local.contains(id) || !index.exists() {
                link.ledger.fetch(*id, &pack, &index)?;
            }
        }
        // A clone may still read packs that were replaced. They are removed later.
        let replaced = ReplacedPacks::read(self.path())?.names();
        for id in local.difference(&state.packs) {
            if !replaced.contains(OsStr::new(&id.stem())) {
                remove_pack_files(&folder, &id.stem())?;
            }
        }
        indexes::repair(&folder, &HashSet::new(), indexes::Scrutiny::Quick)?;
        self.set_branch(state.head)?;
        *link.known.lock() = state.packs;
        Ok(())
    }

    /// Sets the local branch to a commit, or removes it.
    fn set_branch(&self, head: Option<CommitId>) -> Result<()> {
        let branch = self.path().join(BRANCH);
        // The lock of a crashed process. Nobody else moves the branch of a cache.
        let _ = fs::remove_file(branch.with_extension("lock"));
        match head {
            Some(head) if self.head().ok().flatten() == Some(head) => Ok(()),
            Some(head) => BranchLock::take(self)?.move_to(head.0),
            None => match fs::remove_file(&branch) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", &branch)(error)),
                _ => Ok(()),
            },
        }
    }
}

/// The names of the packs in a folder.
fn list_packs(folder: &Path) -> Result<BTreeSet<PackId>> {
    let mut packs = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let file = entry.map_err(Error::io("list", folder))?.file_name();
        let Some(stem) = file.to_str().and_then(|name| name.strip_suffix(".pack")) else { continue };
        packs.extend(PackId::of_stem(stem));
    }
    Ok(packs)
}

/// The files of a pack in a folder.
fn pack_paths(folder: &Path, id: PackId) -> (PathBuf, PathBuf) {
    let stem = id.stem();
    (folder.join(format!("{stem}.pack")), folder.join(format!("{stem}.idx")))
}
