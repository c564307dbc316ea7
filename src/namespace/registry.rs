//! The namespaces of all accounts: making, listing, removing, and keeping a few of them open.
//!
//! An open namespace holds its index in memory. At most `retrieval.warm_namespaces` stay open when nobody uses them;
//! the one that was used longest ago is closed first. One that is in use is never closed, so no namespace is ever open
//! twice.
//!
//! A namespace's folders are named by its name and its id, so what is left of a deleted one is in nobody's way: it is
//! removed at once where that is possible, else by a sweep or at the next start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cuebase_storage::git::{CommitId, Repository};
use cuebase_storage::records::{Creation, NamespaceId, NamespaceRecord, RemovalRecord};
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use ulid::Ulid;

use super::context::NamespaceContext;
use super::disk_reserve::Reserve;
use super::names::DEFAULT;
use super::open::{Namespace, index_folders};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::namespace::damage::restore_advice;
use crate::namespace::key::NamespaceKey;
use crate::namespace::names::check_name;
use crate::namespace::threads::on_own_thread;

/// All namespaces.
pub struct Namespaces {
    context: NamespaceContext,
    data: PathBuf,
    warm_max: usize,
    reserve: Arc<Reserve>,
    /// Held for reading by a deletion, for writing while files are copied.
    deletions: RwLock<()>,
    /// Least recently used first.
    open: Mutex<Vec<(NamespaceKey, Arc<Slot>)>>,
    /// Namespaces whose repository lacks the recorded head, with what is wrong.
    damaged: Mutex<BTreeMap<NamespaceKey, String>>,
}

/// The place of one namespace; its lock is held while it is being opened.
#[derive(Default)]
struct Slot {
    namespace: Mutex<Option<Arc<Namespace>>>,
}

/// An open namespace that stays open while this is held.
pub struct Lease {
    namespace: Arc<Namespace>,
    /// Whether it had to be opened for this.
    pub cold: bool,
    _slot: Arc<Slot>,
}

impl std::ops::Deref for Lease {
    type Target = Namespace;

    fn deref(&self) -> &Namespace {
        &self.namespace
    }
}

impl Namespaces {
    pub(crate) fn new(config: &Config, context: NamespaceContext, reserve: Arc<Reserve>) -> Self {
        Self {
            context,
            data: config.data.clone(),
            warm_max: config.warm_namespaces.max(1),
            reserve,
            deletions: RwLock::new(()),
            open: Mutex::new(Vec::new()),
            damaged: Mutex::default(),
        }
    }

    /// The record of a namespace. `default` comes into being here, the first time an account asks for it.
    pub fn record(&self, account: &str, name: &str) -> Result<Option<NamespaceRecord>> {
        match self.context.store.namespace(account, name)? {
            None if name == DEFAULT => self.create(account, name).map(|(record, _)| Some(record)),
            found => Ok(found),
        }
    }

    /// The record, or `namespace_not_found`.
    pub fn existing(&self, account: &str, name: &str) -> Result<NamespaceRecord> {
        self.record(account, name)?.ok_or_else(|| {
            let message = format!("there is no namespace {name:?}: create it with POST /v1/namespaces");
            Error::not_found("namespace_not_found", message)
        })
    }

    /// Makes a namespace; true when it is new.
    pub fn create(&self, account: &str, name: &str) -> Result<(NamespaceRecord, bool)> {
        check_name(name)?;
        let now_ms = Timestamp::now().as_millisecond();
        let wanted = NamespaceRecord::new(account, name, NamespaceId::new(Ulid::generate()), now_ms);
        let (record, creation) = self.context.store.create_namespace(&wanted)?;
        Ok((record, creation == Creation::Created))
    }

    /// Up to `limit` namespaces of an account, by name.
    pub fn list(&self, account: &str, after: Option<&str>, limit: usize) -> Result<Vec<NamespaceRecord>> {
        self.record(account, DEFAULT)?;
        Ok(self.context.store.namespaces(account, after, limit)?)
    }

    /// Opens the namespace of a name, or hands out the open one.
    pub fn lease(&self, account: &str, name: &str) -> Result<Lease> {
        let record = self.existing(account, name)?;
        match self.lease_key(&NamespaceKey::of(&record)) {
            // `default` exists again as soon as it was deleted.
            Err(Error::NotFound { .. }) if name == DEFAULT => {
                let record = self.existing(account, name)?;
                self.lease_key(&NamespaceKey::of(&record))
            }
            leased => leased,
        }
    }

    /// Opens a namespace, or hands out the open one; `namespace_not_found` where it was deleted, also when there is another
    /// of its name.
    pub fn lease_key(&self, key: &NamespaceKey) -> Result<Lease> {
        // What is closed is dropped after the lock is free: closing an index waits for its threads.
        let (slot, _closed) = {
            let mut open = self.open.lock();
            let entry = match open.iter().position(|(held, _)| held.id == key.id) {
                Some(place) => open.remove(place),
                None => (key.clone(), Arc::new(Slot::default())),
            };
            let slot = Arc::clone(&entry.1);
            open.push(entry);
            (slot, self.close_surplus(&mut open))
        };
        let mut held = slot.namespace.lock();
        if let Some(namespace) = held.as_ref() {
            let namespace = Arc::clone(namespace);
            drop(held);
            return Ok(Lease { namespace, cold: false, _slot: slot });
        }
        // Under the slot's lock: a deletion waits for it, or is seen here.
        let record = self.context.store.namespace(&key.account, &key.name)?.filter(|record| record.id == key.id);
        let Some(record) = record else {
            self.open.lock().retain(|(held, _)| held.id != key.id);
            return Err(Error::namespace_deleted());
        };
        let repository = self.repository_path(&record);
        let index = self.index_path(&record);
        let opened = on_own_thread(|| Namespace::open(record, &repository, &index, self.context.clone()));
        match &opened {
            Err(Error::DamagedNamespace(reason)) => self.note_damaged(key, reason),
            Err(_) => {}
            Ok(_) => drop(self.damaged.lock().remove(key)),
        }
        let namespace = Arc::clone(held.insert(Arc::new(opened?)));
        drop(held);
        Ok(Lease { namespace, cold: true, _slot: slot })
    }

    fn note_damaged(&self, key: &NamespaceKey, reason: &str) {
        if self.damaged.lock().insert(key.clone(), reason.to_owned()).is_none() {
            let advice = restore_advice(&self.data);
            tracing::error!(account = key.account, namespace = key.name, reason, advice, "a namespace is damaged");
        }
    }

    /// Namespaces that were found damaged since the start, with what is wrong.
    pub fn damaged(&self) -> Vec<(NamespaceKey, String)> {
        self.damaged.lock().iter().map(|(key, reason)| (key.clone(), reason.clone())).collect()
    }

    /// Refuses a write to a namespace whose repository is known to be damaged, or is not where it was.
    pub fn require_whole(&self, record: &NamespaceRecord) -> Result<()> {
        let Some(head) = &record.head else { return Ok(()) };
        let key = NamespaceKey::of(record);
        let path = self.repository_path(record);
        let is_noted = self.damaged.lock().contains_key(&key);
        // The usual case costs one look at the branch's file.
        if !is_noted && path.join("refs/heads/main").exists() {
            return Ok(());
        }
        let recorded: CommitId = head.parse()?;
        if let Some(repository) = Repository::open_existing(&path)?
            && let Ok(Some(found)) = repository.head()
            && matches!(repository.is_ancestor(recorded, found), Ok(true))
        {
            self.damaged.lock().remove(&key);
            return Ok(());
        }
        let reason = format!("its repository {} does not hold the recorded commit {head}", path.display());
        self.note_damaged(&key, &reason);
        Err(Error::DamagedNamespace(reason))
    }

    /// Lets every open namespace remove what it keeps for a while only; where one cannot, the others do.
    pub fn sweep(&self) {
        let open: Vec<Arc<Slot>> = self.open.lock().iter().map(|(_, slot)| Arc::clone(slot)).collect();
        for slot in open {
            let namespace = slot.namespace.lock().as_ref().map(Arc::clone);
            if let Some(Err(error)) = namespace.map(|namespace| namespace.sweep()) {
                tracing::error!(%error, "packs that were replaced could not be removed");
            }
        }
    }

    /// How many are open.
    pub fn open_count(&self) -> usize {
        self.open.lock().len()
    }

    /// Does something while nobody writes to a namespace, whether it is open or not. What is written by a push from
    /// outside is not held back.
    pub fn while_still<T>(&self, record: &NamespaceRecord, act: impl FnOnce() -> T) -> T {
        let key = NamespaceKey::of(record);
        let slot = {
            let mut open = self.open.lock();
            match open.iter().find(|(held, _)| held.id == key.id) {
                Some((_, slot)) => Arc::clone(slot),
                None => {
                    let slot = Arc::new(Slot::default());
                    open.insert(0, (key, Arc::clone(&slot)));
                    slot
                }
            }
        };
        let held = slot.namespace.lock();
        match held.as_ref().map(Arc::clone) {
            Some(namespace) => {
                drop(held);
                namespace.while_still(act)
            }
            None => act(),
        }
    }

    /// Refuses deletions until the guard is dropped: for who copies what is there.
    pub fn forbid_deletions(&self) -> impl Drop + '_ {
        self.deletions.write()
    }

    /// Deletes a namespace for good. Returns what is left to be removed; none where there is no namespace of that name.
    /// From then on nothing of it can be read or written, whatever becomes of its files.
    pub(crate) fn retire(&self, account: &str, name: &str) -> Result<Option<RemovalRecord>> {
        check_name(name)?;
        let busy = || Error::Unavailable {
            code: "backup_in_progress",
            message: "a backup is being made: delete the namespace when it has ended".into(),
        };
        let _deleting = self.deletions.try_read().ok_or_else(busy)?;
        let Some(record) = self.context.store.namespace(account, name)? else { return Ok(None) };
        let retired = match self.context.store.retire_namespace(&record).map_err(Error::from) {
            // What is deleted makes room; what little the deletion itself takes was kept back for it.
            Err(Error::Disk { .. }) if self.reserve.release() => self.context.store.retire_namespace(&record)?,
            retired => retired?,
        };
        if !retired {
            return Ok(None);
        }
        self.close(record.id);
        self.damaged.lock().remove(&NamespaceKey::of(&record));
        Ok(Some(RemovalRecord { account: record.account, name: record.name, id: record.id }))
    }

    /// Closes a deleted namespace: waits for the write under way, and lets later ones fail.
    fn close(&self, id: NamespaceId) {
        let slot = {
            let mut open = self.open.lock();
            let place = open.iter().position(|(key, _)| key.id == id);
            place.map(|place| open.remove(place).1)
        };
        let Some(slot) = slot else { return };
        let namespace = slot.namespace.lock().take();
        if let Some(namespace) = namespace {
            namespace.retire();
        }
    }

    /// Removes what a deleted namespace has on disk. Can be repeated.
    pub(crate) fn remove_files(&self, removal: &RemovalRecord) -> Result<()> {
        let _deleting = self.deletions.read();
        let repository = self.repository_folder(&removal.account, &removal.name, removal.id);
        let index = self.index_folder(&removal.account, &removal.name, removal.id);
        for folder in index_folders(&index).into_iter().chain([repository]) {
            remove(&folder)?;
        }
        Ok(())
    }

    /// Removes what a former process was in the middle of.
    pub(crate) fn empty_trash(&self) -> Result<()> {
        remove(&self.data.join("trash"))
    }

    /// Where a namespace's repository is.
    pub fn repository_path(&self, record: &NamespaceRecord) -> PathBuf {
        self.repository_folder(&record.account, &record.name, record.id)
    }

    /// Where a namespace's index is.
    pub(crate) fn index_path(&self, record: &NamespaceRecord) -> PathBuf {
        self.index_folder(&record.account, &record.name, record.id)
    }

    fn repository_folder(&self, account: &str, name: &str, id: NamespaceId) -> PathBuf {
        self.data.join("repositories").join(file_name(account)).join(format!("{name}.{id}.git"))
    }

    fn index_folder(&self, account: &str, name: &str, id: NamespaceId) -> PathBuf {
        self.data.join("indexes").join(file_name(account)).join(format!("{name}.{id}"))
    }

    /// Gives folders of format 1, which were named by a namespace's name alone, the names of this format. Can be repeated.
    pub(crate) fn rename_former_folders(&self, records: &[NamespaceRecord]) -> Result<()> {
        for record in records {
            let account = file_name(&record.account);
            let repositories = self.data.join("repositories").join(&account);
            rename_if_there(&repositories.join(format!("{}.git", record.name)), &self.repository_path(record))?;
            let indexes = self.data.join("indexes").join(&account);
            rename_if_there(&indexes.join(&record.name), &self.index_path(record))?;
            remove(&indexes.join(format!("{}.next", record.name)))?;
            remove(&indexes.join(format!("{}.former", record.name)))?;
        }
        Ok(())
    }

    /// Removes the folders of format 1 of a namespace whose deletion was interrupted.
    pub(crate) fn remove_former_folders(&self, removal: &RemovalRecord) -> Result<()> {
        let account = file_name(&removal.account);
        remove(&self.data.join("repositories").join(&account).join(format!("{}.git", removal.name)))?;
        remove(&self.data.join("indexes").join(&account).join(&removal.name))
    }

    /// Takes out the namespaces that nobody uses, least recently used first, until no more than allowed are left.
    fn close_surplus(&self, open: &mut Vec<(NamespaceKey, Arc<Slot>)>) -> Vec<Arc<Slot>> {
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

/// Removes a folder; one that is not there is no error.
fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Renames a folder; one that is not there was renamed before.
fn rename_if_there(from: &Path, to: &Path) -> Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// An account's id as a directory name: `a-z`, digits and dashes as they are, any other byte as `_` and two hex digits;
/// a long one as its hash. Two accounts never share a name, and no account can name a path.
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
        let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, account.as_bytes());
        // No plain name holds two underscores in a row.
        return format!("__{}", data_encoding::HEXLOWER.encode(hash.as_ref()));
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
