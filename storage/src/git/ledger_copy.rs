//! Copying a whole repository into a ledger, and comparing a repository with a ledger.
//!
//! The other direction is [`Repository::open_with_ledger`] in a new folder.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;

use super::following::{list_packs, pack_paths};
use super::ledger::{Ledger, NewPack, PackId};
use super::replaced::ReplacedPacks;
use super::repository::Repository;
use crate::error::{Error, Result};

/// Packs that a ledger receives at a time. After an interruption, at most this number is stored again.
const PACKS_PER_BATCH: usize = 16;

/// The size of a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepositorySize {
    /// Number of packs.
    pub packs: u64,
    /// Bytes of the packs, without their indexes.
    pub bytes: u64,
}

impl Repository {
    /// Makes a ledger equal to this repository, to which nobody writes meanwhile. Packs that the ledger has are not
    /// stored again, and the head is moved when all packs are stored, so an interrupted call can be repeated.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the repository has a pack without an index, or objects outside of packs. The errors of the
    /// ledger.
    pub fn publish_all(&self, ledger: &dyn Ledger) -> Result<()> {
        let state = ledger.state()?;
        let mut names = BTreeSet::new();
        let mut added = Vec::new();
        for pack in self.packs_in_use()? {
            names.insert(pack.id);
            if !state.packs.contains(&pack.id) {
                added.push(pack);
            }
        }
        for packs in added.chunks(PACKS_PER_BATCH) {
            ledger.replace(&[], packs)?;
        }
        if let Some(head) = self.head()?
            && state.head != Some(head)
        {
            ledger.publish(state.head, head, &[])?;
        }
        let surplus: Vec<PackId> = state.packs.difference(&names).copied().collect();
        if surplus.is_empty() {
            return Ok(());
        }
        ledger.replace(&surplus, &[])
    }

    /// Compares head and packs with those of a ledger, without reading the packs. Returns the size of the repository.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if they differ, and for the reasons of [`Self::publish_all`].
    pub fn compare_with_ledger(&self, ledger: &dyn Ledger) -> Result<RepositorySize> {
        let state = ledger.state()?;
        let mut size = RepositorySize::default();
        for NewPack { id, pack, .. } in self.packs_in_use()? {
            if !state.packs.contains(&id) {
                return Err(self.differs("the records of the cluster lack a pack"));
            }
            size.packs += 1;
            size.bytes += fs::metadata(&pack).map_err(Error::io("read", &pack))?.len();
        }
        if size.packs != state.packs.len() as u64 {
            return Err(self.differs("it lacks a pack of the records of the cluster"));
        }
        if self.head()? != state.head {
            return Err(self.differs("its head is not that of the records of the cluster"));
        }
        Ok(size)
    }

    /// The packs that hold the repository's objects. Packs that were replaced by others are left out.
    fn packs_in_use(&self) -> Result<Vec<NewPack>> {
        self.require_packed()?;
        let folder = self.pack_folder();
        let replaced = ReplacedPacks::read(self.path())?.names();
        let mut packs = Vec::new();
        for id in list_packs(&folder)? {
            if replaced.contains(OsStr::new(&id.stem())) {
                continue;
            }
            let (pack, index) = pack_paths(&folder, id);
            if !index.exists() {
                return Err(self.differs("a pack has no index, and none can be built"));
            }
            packs.push(NewPack { id, pack, index });
        }
        Ok(packs)
    }

    /// Fails if the repository has objects outside of packs, which Cuebase does not write.
    fn require_packed(&self) -> Result<()> {
        let folder = self.path().join("objects");
        for entry in fs::read_dir(&folder).map_err(Error::io("list", &folder))? {
            let path = entry.map_err(Error::io("list", &folder))?.path();
            if !is_object_folder(path.file_name()) {
                continue;
            }
            let mut objects = fs::read_dir(&path).map_err(Error::io("list", &path))?;
            if objects.next().is_some() {
                return Err(self.differs("it has objects outside of packs: run `git repack -a -d` in it"));
            }
        }
        Ok(())
    }

    fn differs(&self, reason: &str) -> Error {
        Error::corrupt(format!("repository {}", self.path().display()), reason)
    }
}

/// Whether a name below `objects` is that of a folder of single objects: two hexadecimal digits.
fn is_object_folder(name: Option<&OsStr>) -> bool {
    let Some(name) = name.and_then(OsStr::to_str) else { return false };
    name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
