//! A repository that is kept elsewhere, with the local one as its cache.
//!
//! With a [`Ledger`], a commit is durable once the ledger has its pack and its head. The local repository may lack packs
//! that the ledger has, or have packs and a branch that it lacks: after a claim, a crash, or a commit whose outcome is
//! unknown. [`Repository::follow_ledger`] makes it equal again. What only the local repository has was never durable and
//! is dropped.
//!
//! Which packs are new is found by comparing the folder with the names that the ledger is known to have. So every way of
//! writing packs (commits, pushes, imports, erasures) needs no other change than that of the branch.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::ObjectId;
use parking_lot::Mutex;

use super::commit::CommitId;
use super::pack::HASH_BYTES;
use crate::error::Result;

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
    pub fn stem(self) -> String {
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
    /// [`Error::Conflict`](crate::Error::Conflict) if the head is not `from`; nothing has changed then. Any other error leaves open whether the
    /// head moved.
    fn publish(&self, from: Option<CommitId>, to: CommitId, added: &[NewPack]) -> Result<()>;

    /// Replaces packs by others with the same objects.
    fn replace(&self, removed: &[PackId], added: &[NewPack]) -> Result<()>;

    /// Removes packs whose content must not stay anywhere.
    fn erase(&self, removed: &[PackId]) -> Result<()>;
}

/// A ledger, and what this process knows it to have.
pub(super) struct LedgerLink {
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) known: Mutex<BTreeSet<PackId>>,
}

impl std::fmt::Debug for LedgerLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LedgerLink").finish_non_exhaustive()
    }
}
