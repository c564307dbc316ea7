//! Keeping the local repository and its [`Ledger`] equal.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::branch::BranchLock;
use super::commit::CommitId;
use super::indexes;
use super::ledger::{Ledger, LedgerLink, NewPack, PackId};
use super::pack::remove_pack_files;
use super::replaced::ReplacedPacks;
use super::repository::{BRANCH, Repository};
use crate::error::{Error, Result};

impl Repository {
    /// Publishes the packs that the ledger lacks, and the head. Does nothing without a ledger.
    pub(super) fn publish(&self, from: Option<CommitId>, to: CommitId) -> Result<()> {
        let Some(link) = self.ledger() else { return Ok(()) };
        let added = self.new_packs(link, &BTreeSet::new())?;
        link.ledger.publish(from, to, &added)?;
        link.known.lock().extend(added.iter().map(|pack| pack.id));
        Ok(())
    }

    /// Replaces packs of the ledger by the new ones. Does nothing without a ledger.
    pub(super) fn replace_in_ledger(&self, removed: &[PackId]) -> Result<()> {
        let Some(link) = self.ledger() else { return Ok(()) };
        let added = self.new_packs(link, &removed.iter().copied().collect())?;
        link.ledger.replace(removed, &added)?;
        let mut known = link.known.lock();
        known.extend(added.iter().map(|pack| pack.id));
        for id in removed {
            known.remove(id);
        }
        Ok(())
    }

    /// Removes packs from the ledger for good. Does nothing without a ledger.
    pub(super) fn erase_in_ledger(&self, removed: &[PackId]) -> Result<()> {
        let Some(link) = self.ledger() else { return Ok(()) };
        link.ledger.erase(removed)?;
        let mut known = link.known.lock();
        for id in removed {
            known.remove(id);
        }
        Ok(())
    }

    /// The packs of the repository that the ledger lacks, without some and without replaced ones.
    fn new_packs(&self, link: &LedgerLink, without: &BTreeSet<PackId>) -> Result<Vec<NewPack>> {
        let folder = self.pack_folder();
        let replaced = ReplacedPacks::read(self.path())?.names();
        let known = link.known.lock();
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
pub(super) fn list_packs(folder: &Path) -> Result<BTreeSet<PackId>> {
    let mut packs = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let file = entry.map_err(Error::io("list", folder))?.file_name();
        let Some(stem) = file.to_str().and_then(|name| name.strip_suffix(".pack")) else { continue };
        packs.extend(PackId::of_stem(stem));
    }
    Ok(packs)
}

/// The files of a pack in a folder.
pub(super) fn pack_paths(folder: &Path, id: PackId) -> (PathBuf, PathBuf) {
    let stem = id.stem();
    (folder.join(format!("{stem}.pack")), folder.join(format!("{stem}.idx")))
}
