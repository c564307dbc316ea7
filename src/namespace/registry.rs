//! The namespaces of all accounts: creating, listing, deleting, and keeping some of them open.
//!
//! An open namespace holds its index in memory. At most `retrieval.warm_namespaces` unused namespaces stay open; the
//! least recently used one is closed first. A namespace in use is never closed, so no namespace is ever open twice.
//!
//! The folders of a namespace are named by its name and its id, so the remains of a deleted one cannot collide with its
//! successor. They are removed at once if possible, otherwise by a sweep or at the next start.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cuebase_storage::error::DiskTrouble;
use cuebase_storage::git::Repository;
use cuebase_storage::records::{Creation, NamespaceRecord, RemovalRecord};
use cuebase_storage::{AccountId, NamespaceId, NamespaceKey, NamespaceName};
use parking_lot::{Mutex, RwLock};
use ulid::Ulid;

use super::context::NamespaceContext;
use super::disk_reserve::DiskReserve;
use super::end::End;
use super::erasure_reports::ErasureReports;
use super::foreign_copies::discard_others;
use super::open::{Namespace, index_folders};
use super::repository_home::RepositoryHome;
use super::snapshot_state::UploadReason;
use super::sync::require_recorded;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::namespace::damage::restore_advice;
use crate::namespace::threads::on_own_thread;
use crate::sha256::sha256;

/// How often an action on `default` is repeated because the namespace was deleted meanwhile.
const DEFAULT_REPETITIONS_MAX: u32 = 20;

/// All namespaces.
pub struct Namespaces {
    context: NamespaceContext,
    data: PathBuf,
    warm_max: usize,
    reserve: Arc<DiskReserve>,
    /// Held for reading by a deletion or an erasure, and for writing while a backup copies files.
    deletions: RwLock<()>,
    /// Least recently used first.
    open: Mutex<Vec<(NamespaceKey, Arc<NamespaceSlot>)>>,
    /// Namespaces whose repository lacks the recorded head, with the reason.
    damaged: Mutex<BTreeMap<NamespaceKey, String>>,
    erasure_reports: ErasureReports,
}

/// The slot of one namespace. Its lock is held while the namespace is being opened.
#[derive(Default)]
struct NamespaceSlot {
    namespace: Mutex<Option<Arc<Namespace>>>,
}

/// A lease on an open namespace, which stays open until the lease is dropped.
pub struct Lease {
    namespace: Arc<Namespace>,
    /// Whether the namespace was opened for this lease.
    pub cold: bool,
    _slot: Arc<NamespaceSlot>,
}

impl std::ops::Deref for Lease {
    type Target = Namespace;

    fn deref(&self) -> &Namespace {
        &self.namespace
    }
}

impl Namespaces {
    pub(crate) fn new(config: &Config, context: NamespaceContext, reserve: Arc<DiskReserve>) -> Self {
        Self {
            context,
            data: config.data.clone(),
            warm_max: config.retrieval.warm_namespaces.get(),
            reserve,
            deletions: RwLock::new(()),
            open: Mutex::new(Vec::new()),
            damaged: Mutex::default(),
            erasure_reports: ErasureReports::default(),
        }
    }

    /// Returns the record of a namespace. Creates `default` at its first use.
    pub fn record(&self, account: &AccountId, name: &NamespaceName) -> Result<Option<NamespaceRecord>> {
        match self.context.store.namespace(account, name)? {
            None if name.is_default() => self.create(account, name).map(|(record, _)| Some(record)),
            found => Ok(found),
        }
    }

    /// Returns the record, or `namespace_not_found`.
    pub fn existing(&self, account: &AccountId, name: &NamespaceName) -> Result<NamespaceRecord> {
        if let Some(record) = self.record(account, name)? {
            return Ok(record);
        }
        let message = format!("namespace {name:?} does not exist: create it with POST /v1/namespaces");
        Err(Error::not_found(ErrorCode::NamespaceNotFound, message))
    }

    /// Creates a namespace. Returns true if it is new.
    pub fn create(&self, account: &AccountId, name: &NamespaceName) -> Result<(NamespaceRecord, bool)> {
        let now_ms = self.context.clock.now_ms();
        let new = NamespaceRecord::new(account, name, NamespaceId::new(Ulid::generate()), now_ms);
        let (record, creation) = self.context.store.create_namespace(&new)?;
        Ok((record, creation == Creation::Created))
    }

    /// Returns up to `limit` namespaces of an account, sorted by name.
    pub fn list(&self, account: &AccountId, after: Option<&str>, limit: usize) -> Result<Vec<NamespaceRecord>> {
        self.record(account, &NamespaceName::default())?;
        Ok(self.context.store.namespaces(account, after, limit)?)
    }

    /// Leases the namespace of a name, and opens it if it is not open.
    pub fn lease(&self, account: &AccountId, name: &NamespaceName) -> Result<Lease> {
        self.with_existing(account, name, |record| self.lease_key(&record.key()))
    }

    /// Runs an action on the namespace of a name. If `default` was deleted after its record was read, it is created again
    /// and the action is repeated; an action must change nothing before it fails with [`Error::NamespaceGone`]. Each
    /// repetition needs another deletion, so few are enough.
    pub(crate) fn with_existing<T>(
        &self,
        account: &AccountId,
        name: &NamespaceName,
        mut action: impl FnMut(&NamespaceRecord) -> Result<T>,
    ) -> Result<T> {
        let mut repetitions = 0;
        loop {
            match action(&self.existing(account, name)?) {
                Err(Error::NamespaceGone) if name.is_default() && repetitions < DEFAULT_REPETITIONS_MAX => {
                    repetitions += 1;
                }
                done => return done,
            }
        }
    }

    /// Leases a namespace, and opens it if it is not open. Fails with [`Error::NamespaceGone`] if it was deleted,
    /// even if another one has its name now.
    /// Fails with [`Error::NotOwner`] if this process does not own the namespace.
    pub fn lease_key(&self, key: &NamespaceKey) -> Result<Lease> {
        self.context.store.require_owned(key)?;
        // Closing an index waits for its threads, so surplus namespaces are dropped last, and without the lock of the
        // list.
        let (slot, _closed) = self.claim_slot(key);
        let mut opened = slot.namespace.lock();
        if let Some(namespace) = opened.as_ref() {
            let namespace = Arc::clone(namespace);
            drop(opened);
            return Ok(Lease { namespace, cold: false, _slot: slot });
        }
        let claim = self.context.store.current_claim(key)?;
        let namespace = Arc::new(self.open_namespace(key)?);
        if self.context.store.current_claim(key)? != claim {
            // What was opened may be older than the current claim.
            namespace.retire(End::Released);
            return Err(Error::NotOwner(key.clone()));
        }
        *opened = Some(Arc::clone(&namespace));
        drop(opened);
        Ok(Lease { namespace, cold: true, _slot: slot })
    }

    /// Makes the slot of a namespace the most recently used one. Returns it with the slots of surplus namespaces, which
    /// close when they are dropped.
    fn claim_slot(&self, key: &NamespaceKey) -> (Arc<NamespaceSlot>, Vec<Arc<NamespaceSlot>>) {
        let mut open = self.open.lock();
        let entry = match open.iter().position(|(open_key, _)| open_key.id == key.id) {
            Some(position) => open.remove(position),
            None => (key.clone(), Arc::new(NamespaceSlot::default())),
        };
        let slot = Arc::clone(&entry.1);
        open.push(entry);
        (slot, self.take_surplus(&mut open))
    }

    /// Opens a namespace. Its slot must be locked: a deletion either waits for that lock, or is visible here.
    fn open_namespace(&self, key: &NamespaceKey) -> Result<Namespace> {
        let record = match self.context.store.namespace(&key.account, &key.name)? {
            Some(record) if record.id == key.id => record,
            _ => {
                self.open.lock().retain(|(open_key, _)| open_key.id != key.id);
                return Err(Error::NamespaceGone);
            }
        };
        let repository = self.repository_path(&record);
        let index = self.index_path(&record);
        let mut opened = on_own_thread(|| Namespace::open(record.clone(), &repository, &index, self.context.clone()));
        if let Err(Error::DamagedNamespace(reason)) = &opened
            && !self.context.repositories.is_disk()
        {
            tracing::warn!(account = %key.account, namespace = %key.name, reason, "a copy is damaged and is fetched again");
            remove(&repository)?;
            opened = on_own_thread(|| Namespace::open(record, &repository, &index, self.context.clone()));
        }
        match &opened {
            Err(Error::DamagedNamespace(reason)) => self.record_damage(key, reason),
            Err(_) => {}
            Ok(_) => drop(self.damaged.lock().remove(key)),
        }
        opened
    }

    fn record_damage(&self, key: &NamespaceKey, reason: &str) {
        if self.damaged.lock().insert(key.clone(), reason.to_owned()).is_none() {
            let advice = restore_advice(&self.data);
            tracing::error!(account = ?key.account, namespace = ?key.name, reason, advice, "a namespace is damaged");
        }
    }

    /// Returns the namespaces that were found damaged since the start, with the reason.
    pub fn damaged(&self) -> Vec<(NamespaceKey, String)> {
        Vec::from_iter(self.damaged.lock().clone())
    }

    /// Fails if a namespace's repository is known to be damaged, or is missing. Called before a write is accepted.
    ///
    /// Fails with [`Error::NotOwner`] if this process does not own the namespace.
    pub fn require_undamaged(&self, record: &NamespaceRecord) -> Result<()> {
        let key = record.key();
        self.context.store.require_owned(&key)?;
        let Some(recorded) = record.head else { return Ok(()) };
        if !self.context.repositories.is_disk() {
            // Files that this copy lacks are no damage. Opening the namespace shows whether it can be read.
            return match self.damaged.lock().get(&key) {
                Some(reason) => Err(Error::DamagedNamespace(reason.clone())),
                None => Ok(()),
            };
        }
        let path = self.repository_path(record);
        let is_known_damaged = self.damaged.lock().contains_key(&key);
        // The usual case costs one check of the branch's file.
        if !is_known_damaged && path.join("refs/heads/main").try_exists()? {
            return Ok(());
        }
        if let Some(repository) = Repository::open_existing(&path)? {
            match require_recorded(&repository, record) {
                Ok(()) => {
                    self.damaged.lock().remove(&key);
                    return Ok(());
                }
                Err(Error::DamagedNamespace(_)) => {}
                // The disk refuses the read, which says nothing about the repository.
                Err(refused) => return Err(refused),
            }
        }
        let reason = format!("its repository {} does not hold the recorded commit {recorded}", path.display());
        self.record_damage(&key, &reason);
        Err(Error::DamagedNamespace(reason))
    }

    /// Removes replaced packs of all open namespaces. A failure in one namespace does not stop the others.
    pub fn sweep(&self) {
        let open: Vec<Arc<NamespaceSlot>> = self.open.lock().iter().map(|(_, slot)| Arc::clone(slot)).collect();
        for slot in open {
            let Some(namespace) = slot.namespace.lock().clone() else { continue };
            if let Err(error) = namespace.sweep() {
                tracing::error!(%error, "replaced packs could not be removed");
            }
        }
    }

    /// Removes the local copies of namespaces that this process does not own. Does nothing if the data directory has the
    /// only copies.
    pub fn remove_foreign_copies(&self) -> Result<()> {
        if self.context.repositories.is_disk() {
            return Ok(());
        }
        let _deleting = self.deletions.read();
        let discarded = {
            // Held, so that no namespace is opened meanwhile.
            let open = self.open.lock();
            let mut kept: HashSet<NamespaceId> = self.context.store.owned_namespaces().into_iter().collect();
            kept.extend(open.iter().map(|(key, _)| key.id));
            discard_others(&self.data, &kept)?
        };
        for folder in discarded {
            remove(&folder)?;
        }
        Ok(())
    }

    /// Stores the snapshots of indexes that are due, of the open namespaces. Does nothing if the data directory has the
    /// only copies. A failure in one namespace does not stop the others.
    ///
    /// # Errors
    ///
    /// The last failure. All are logged.
    pub fn upload_snapshots(&self, reason: UploadReason) -> Result<()> {
        if self.context.repositories.is_disk() {
            return Ok(());
        }
        let keys: Vec<NamespaceKey> = self.open.lock().iter().map(|(key, _)| key.clone()).collect();
        let mut result = Ok(());
        for key in keys {
            // Held, so that the namespace stays open and cannot be opened a second time.
            let Some(slot) = self.open_slot(key.id) else { continue };
            // A slot that is locked is being opened.
            let opened = slot.namespace.try_lock().and_then(|namespace| namespace.clone());
            let Some(namespace) = opened else { continue };
            match namespace.upload_snapshot(reason) {
                Ok(true) => tracing::debug!(namespace = %key.id, "an index snapshot was stored"),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(account = %key.account, namespace = %key.name, %error, "an index snapshot could not be stored");
                    result = Err(error);
                }
            }
        }
        result
    }

    fn open_slot(&self, id: NamespaceId) -> Option<Arc<NamespaceSlot>> {
        let open = self.open.lock();
        let (_, slot) = open.iter().find(|(key, _)| key.id == id)?;
        Some(Arc::clone(slot))
    }

    /// The number of open namespaces.
    pub fn open_count(&self) -> usize {
        self.open.lock().len()
    }

    /// Runs an action while no write of this service is in progress in a namespace, open or not. Changes that another
    /// process makes to the repository are not held back.
    pub fn with_writes_paused<T>(&self, record: &NamespaceRecord, action: impl FnOnce() -> T) -> T {
        let slot = self.unused_slot(record.key());
        let opened = slot.namespace.lock();
        match opened.clone() {
            Some(namespace) => {
                drop(opened);
                namespace.with_writes_paused(action)
            }
            None => action(),
        }
    }

    /// Returns the slot of a namespace without counting as a use.
    fn unused_slot(&self, key: NamespaceKey) -> Arc<NamespaceSlot> {
        let mut open = self.open.lock();
        match open.iter().find(|(open_key, _)| open_key.id == key.id) {
            Some((_, slot)) => Arc::clone(slot),
            None => {
                let slot = Arc::new(NamespaceSlot::default());
                open.insert(0, (key, Arc::clone(&slot)));
                slot
            }
        }
    }

    /// Closes a namespace and removes its local copy, so that the next opening fetches everything again. Does nothing if
    /// the data directory has the only copy.
    pub fn drop_copy(&self, record: &NamespaceRecord) -> Result<()> {
        if self.context.repositories.is_disk() {
            return Ok(());
        }
        let slot = self.unused_slot(record.key());
        // Locked until the files are removed, so that the namespace is not opened meanwhile.
        let mut opened = slot.namespace.lock();
        if let Some(namespace) = opened.take() {
            namespace.retire(End::Released);
        }
        let repository = self.repository_path(record);
        for folder in index_folders(&self.index_path(record)).into_iter().chain([repository]) {
            remove(&folder)?;
        }
        Ok(())
    }

    /// Makes deletions fail until the guard is dropped, so that a backup can copy files.
    pub fn forbid_deletions(&self) -> impl Drop + '_ {
        self.deletions.write()
    }

    /// Makes backups wait until the guard is dropped, so that an erasure can replace files. Fails if a backup is in
    /// progress.
    pub fn hold_backups(&self) -> Result<impl Drop + '_> {
        match self.deletions.try_read() {
            Some(guard) => Ok(guard),
            None => Err(Error::backup_in_progress("the text is erased after it")),
        }
    }

    /// The reports of the newest erasures.
    pub fn erasure_reports(&self) -> &ErasureReports {
        &self.erasure_reports
    }

    /// Deletes a namespace permanently. Returns the remains to remove, or `None` if no namespace has that name.
    /// Afterwards the namespace can neither be read nor written, even if its files still exist.
    pub(crate) fn retire(&self, account: &AccountId, name: &NamespaceName) -> Result<Option<RemovalRecord>> {
        let Some(_deleting) = self.deletions.try_read() else {
            return Err(Error::backup_in_progress("delete the namespace after it"));
        };
        let Some(record) = self.context.store.namespace(account, name)? else { return Ok(None) };
        let retired = match self.context.store.retire_namespace(&record).map_err(Error::from) {
            Err(Error::Disk { trouble, .. }) if trouble != DiskTrouble::Unreachable => {
                self.retire_with_reserve(&record)?
            }
            retired => retired?,
        };
        if !retired {
            return Ok(None);
        }
        self.close(record.id, End::Deleted);
        self.damaged.lock().remove(&record.key());
        Ok(Some(RemovalRecord { account: record.account, name: record.name, id: record.id }))
    }

    /// Deletes a namespace that the disk refused to delete. The deletion frees space, but first needs a little, which is
    /// reserved for this case. If that is not enough, the namespace's index is removed, which git can replace.
    fn retire_with_reserve(&self, record: &NamespaceRecord) -> Result<bool> {
        let _released = self.reserve.release();
        match self.context.store.retire_namespace(record).map_err(Error::from) {
            Err(Error::Disk { trouble: DiskTrouble::Full, .. }) => {}
            retired => return retired,
        }
        // Open files keep their space.
        self.close(record.id, End::Released);
        for folder in index_folders(&self.index_path(record)) {
            remove(&folder)?;
        }
        Ok(self.context.store.retire_namespace(record)?)
    }

    /// Closes a namespace and removes its files, although it is not deleted yet. Until it is, it counts as damaged.
    pub(crate) fn discard_files(&self, record: &NamespaceRecord) -> Result<()> {
        self.close(record.id, End::Released);
        self.remove_files(&RemovalRecord { account: record.account.clone(), name: record.name.clone(), id: record.id })
    }

    /// Makes changes of all namespaces fail, when this process owns none any more. Waits for nothing: they are closed by
    /// [`Self::close_all_unowned`].
    pub fn end_all_writes(&self) {
        for (_, slot) in self.open.lock().iter() {
            // A namespace that is being opened is not used, because its claim has ended.
            if let Some(Some(namespace)) = slot.namespace.try_lock().as_deref() {
                namespace.end_writes(End::Released);
            }
        }
        self.damaged.lock().clear();
    }

    /// Closes the namespaces that this process does not own. Waits for their openings and writes in progress.
    pub fn close_all_unowned(&self) {
        let keys: Vec<NamespaceKey> = self.open.lock().iter().map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.close_unowned(&key);
        }
    }

    /// Closes a namespace, unless this process owns it. Waits for an opening and a write in progress.
    pub fn close_unowned(&self, key: &NamespaceKey) {
        let Some(slot) = self.open_slot(key.id) else { return };
        let mut opened = slot.namespace.lock();
        if self.context.store.require_owned(key).is_ok() {
            return;
        }
        if let Some(namespace) = opened.take() {
            namespace.retire(End::Released);
        }
        drop(opened);
        // Two references: of the list and of this function. With more, somebody waits for the slot.
        self.open.lock().retain(|(_, listed)| !Arc::ptr_eq(listed, &slot) || Arc::strong_count(listed) > 2);
    }

    /// Whether a namespace is open or being opened.
    pub fn is_open(&self, id: NamespaceId) -> bool {
        match self.open_slot(id) {
            Some(slot) => slot.namespace.try_lock().is_none_or(|namespace| namespace.is_some()),
            None => false,
        }
    }

    /// Closes a namespace that this process gives up, and waits for the current write. Nothing opens it again once the
    /// process does not own it any more.
    pub fn release(&self, id: NamespaceId) {
        self.close(id, End::Released);
        self.damaged.lock().retain(|key, _| key.id != id);
    }

    /// Whether a namespace is leased at the moment.
    pub fn is_leased(&self, id: NamespaceId) -> bool {
        let open = self.open.lock();
        match open.iter().find(|(key, _)| key.id == id) {
            // The list has one reference, and each lease has one.
            Some((_, slot)) => Arc::strong_count(slot) > 1,
            None => false,
        }
    }

    /// Closes a namespace. Waits for the current write, and makes later ones fail.
    fn close(&self, id: NamespaceId, end: End) {
        let slot = {
            let mut open = self.open.lock();
            let Some(position) = open.iter().position(|(key, _)| key.id == id) else { return };
            open.remove(position).1
        };
        let namespace = slot.namespace.lock().take();
        if let Some(namespace) = namespace {
            namespace.retire(end);
        }
    }

    /// Removes the files of a deleted namespace. Can be repeated.
    pub(crate) fn remove_files(&self, removal: &RemovalRecord) -> Result<()> {
        let _deleting = self.deletions.read();
        let repository = self.repository_folder(&removal.account, &removal.name, removal.id);
        let index = self.index_folder(&removal.account, &removal.name, removal.id);
        for folder in index_folders(&index).into_iter().chain([repository]) {
            remove(&folder)?;
        }
        self.context.repositories.remove(removal.id)
    }

    /// Where repositories are kept.
    pub fn repositories(&self) -> &RepositoryHome {
        &self.context.repositories
    }

    /// Removes the temporary files of pushes, imports and backups that the former process did not finish.
    pub(crate) fn empty_trash(&self) -> Result<()> {
        remove(&self.data.join("trash"))
    }

    /// The folder of a namespace's repository.
    pub fn repository_path(&self, record: &NamespaceRecord) -> PathBuf {
        self.repository_folder(&record.account, &record.name, record.id)
    }

    /// The folder of a namespace's index.
    pub(crate) fn index_path(&self, record: &NamespaceRecord) -> PathBuf {
        self.index_folder(&record.account, &record.name, record.id)
    }

    fn repository_folder(&self, account: &AccountId, name: &NamespaceName, id: NamespaceId) -> PathBuf {
        repository_folder(&self.data, account, name, id)
    }

    fn index_folder(&self, account: &AccountId, name: &NamespaceName, id: NamespaceId) -> PathBuf {
        self.data.join("indexes").join(file_name(account.as_str())).join(format!("{name}.{id}"))
    }

    /// Renames folders of format 1, which were named by the namespace's name only. Can be repeated.
    pub(crate) fn rename_former_folders(&self, records: &[NamespaceRecord]) -> Result<()> {
        for record in records {
            let account = file_name(record.account.as_str());
            let repositories = self.data.join("repositories").join(&account);
            rename_if_exists(&repositories.join(format!("{}.git", record.name)), &self.repository_path(record))?;
            let indexes = self.data.join("indexes").join(&account);
            rename_if_exists(&indexes.join(record.name.as_str()), &self.index_path(record))?;
            remove(&indexes.join(format!("{}.next", record.name)))?;
            remove(&indexes.join(format!("{}.former", record.name)))?;
        }
        Ok(())
    }

    /// Removes the folders of format 1 of a namespace whose deletion was interrupted.
    pub(crate) fn remove_former_folders(&self, removal: &RemovalRecord) -> Result<()> {
        let account = file_name(removal.account.as_str());
        remove(&self.data.join("repositories").join(&account).join(format!("{}.git", removal.name)))?;
        remove(&self.data.join("indexes").join(&account).join(removal.name.as_str()))
    }

    /// Removes unused namespaces from the list, least recently used first, until at most `warm_max` are left.
    fn take_surplus(&self, open: &mut Vec<(NamespaceKey, Arc<NamespaceSlot>)>) -> Vec<Arc<NamespaceSlot>> {
        let mut closed = Vec::new();
        let surplus = open.len().saturating_sub(self.warm_max);
        open.retain(|(_, slot)| {
            let close = closed.len() < surplus && Arc::strong_count(slot) == 1;
            if close {
                closed.push(Arc::clone(slot));
            }
            !close
        });
        closed
    }
}

/// The folder of a namespace's repository in a data directory.
pub(crate) fn repository_folder(data: &Path, account: &AccountId, name: &NamespaceName, id: NamespaceId) -> PathBuf {
    data.join("repositories").join(file_name(account.as_str())).join(format!("{name}.{id}.git"))
}

/// Removes a folder. A missing folder is not an error.
fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Renames a folder. A missing folder was renamed before.
fn rename_if_exists(from: &Path, to: &Path) -> Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Returns a directory name for an account id: `a-z`, digits and dashes unchanged, any other byte as `_` and two hex
/// digits. A long id becomes its hash. Two accounts never share a name, and no id can contain a path.
fn file_name(account: &str) -> String {
    let mut name = String::with_capacity(account.len());
    for byte in account.bytes() {
        if byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("_{byte:02x}"));
        }
    }
    if name.is_empty() || name.len() > 128 {
        let hash = sha256(&[account.as_bytes()]);
        // No escaped name has two underscores in a row.
        return format!("__{}", data_encoding::HEXLOWER.encode(&hash));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_account_is_one_plain_directory_name(a in "\\PC{1,200}", b in "\\PC{1,200}") {
            let name = file_name(&a);
            prop_assert!(!name.is_empty() && name.len() <= 255);
            prop_assert!(name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-' || c == b'_'));
            prop_assert_eq!(a == b, name == file_name(&b));
        }
    }
}
