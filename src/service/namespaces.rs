//! The namespaces of all accounts: making, listing, removing, and keeping a few of them open.
//!
//! An open namespace holds its index in memory. At most `retrieval.warm_namespaces` stay open when nobody uses them;
//! the one that was used longest ago is closed first. One that is in use is never closed, so no namespace is ever open
//! twice.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cuebase_storage::key_value::Durability;
use cuebase_storage::records::NamespaceRecord;
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use ulid::Ulid;

use super::error::{Failure, Outcome};
use super::namespace::{Around, Namespace};
use crate::config::Config;

/// The namespace that every account has.
pub const DEFAULT: &str = "default";
/// Longest name.
const NAME_CHARS_MAX: usize = 64;

/// Which namespace: account and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceKey {
    /// The owning account.
    pub account: String,
    /// The name within it.
    pub name: String,
}

/// All namespaces.
pub struct Namespaces {
    around: Around,
    data: PathBuf,
    warm_max: usize,
    /// Held for reading by a deletion, for writing while files are copied.
    deletions: RwLock<()>,
    /// Least recently used first.
    open: Mutex<Vec<(NamespaceKey, Arc<Slot>)>>,
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
    pub(super) fn new(config: &Config, around: Around) -> Self {
        let warm_max = config.warm_namespaces.max(1);
        Self { around, data: config.data.clone(), warm_max, deletions: RwLock::new(()), open: Mutex::new(Vec::new()) }
    }

    /// Checks a name: `[a-z0-9-]`, 1 to 64 characters.
    pub fn check_name(name: &str) -> Outcome<()> {
        let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if plain && (1..=NAME_CHARS_MAX).contains(&name.len()) {
            return Ok(());
        }
        Err(Failure::invalid("invalid_namespace", "a namespace's name is 1 to 64 characters of a-z, 0-9 and -"))
    }

    /// The namespace that a credential confined to `scope` means when it asks for `wanted`: its own, or `default`, when it
    /// names none. Another one than its own is answered with what `refuse` makes of the scope.
    pub fn meant(scope: Option<&str>, wanted: Option<&str>, refuse: impl FnOnce(&str) -> Failure) -> Outcome<String> {
        let name = wanted.or(scope).unwrap_or(DEFAULT);
        Self::check_name(name)?;
        match scope {
            Some(scope) if scope != name => Err(refuse(scope)),
            _ => Ok(name.to_owned()),
        }
    }

    /// The record of a namespace. `default` comes into being here, the first time an account asks for it.
    pub fn record(&self, account: &str, name: &str) -> Outcome<Option<NamespaceRecord>> {
        match self.around.store.namespace(account, name)? {
            None if name == DEFAULT => self.create(account, name).map(|(record, _)| Some(record)),
            found => Ok(found),
        }
    }

    /// The record, or `namespace_not_found`.
    pub fn existing(&self, account: &str, name: &str) -> Outcome<NamespaceRecord> {
        self.record(account, name)?.ok_or_else(|| {
            let message = format!("there is no namespace {name:?}: create it with POST /v1/namespaces");
            Failure::not_found("namespace_not_found", message)
        })
    }

    /// Makes a namespace; true when it is new.
    pub fn create(&self, account: &str, name: &str) -> Outcome<(NamespaceRecord, bool)> {
        Self::check_name(name)?;
        // The same lock as for opening, so that two creations of one name agree.
        let _held = self.open.lock();
        if let Some(record) = self.around.store.namespace(account, name)? {
            return Ok((record, false));
        }
        let now_ms = Timestamp::now().as_millisecond();
        let record = NamespaceRecord {
            account: account.to_owned(),
            name: name.to_owned(),
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
            memories: 0,
            head: None,
            waiting: 0,
        };
        self.around.store.put_namespace(&record, Durability::Synced)?;
        Ok((record, true))
    }

    /// Up to `limit` namespaces of an account, by name.
    pub fn list(&self, account: &str, after: Option<&str>, limit: usize) -> Outcome<Vec<NamespaceRecord>> {
        self.record(account, DEFAULT)?;
        Ok(self.around.store.namespaces(account, after, limit)?)
    }

    /// Opens a namespace that exists, or hands out the open one.
    pub fn lease(&self, account: &str, name: &str) -> Outcome<Lease> {
        let key = NamespaceKey { account: account.to_owned(), name: name.to_owned() };
        // What is closed is dropped after the lock is free: closing an index waits for its threads.
        let (slot, _closed) = {
            let mut open = self.open.lock();
            let place = open.iter().position(|(held, _)| *held == key);
            let entry = match place {
                Some(place) => open.remove(place),
                None => (key, Arc::new(Slot::default())),
            };
            let slot = Arc::clone(&entry.1);
            open.push(entry);
            (slot, self.close_surplus(&mut open))
        };
        let mut held = slot.namespace.lock();
        let cold = held.is_none();
        let namespace = match held.as_ref() {
            Some(namespace) => Arc::clone(namespace),
            None => {
                let record = self.existing(account, name)?;
                let repository = self.repository_path(account, name);
                let index = self.index_path(account, name);
                let opened = apart(|| Namespace::open(record, &repository, &index, self.around.clone()))?;
                Arc::clone(held.insert(Arc::new(opened)))
            }
        };
        drop(held);
        Ok(Lease { namespace, cold, _slot: slot })
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
    pub fn while_still<T>(&self, account: &str, name: &str, act: impl FnOnce() -> T) -> T {
        let key = NamespaceKey { account: account.to_owned(), name: name.to_owned() };
        let slot = {
            let mut open = self.open.lock();
            match open.iter().find(|(held, _)| *held == key) {
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

    /// Removes a namespace for good: record, queued work, repository, index. False when there is none.
    pub fn delete(&self, account: &str, name: &str) -> Outcome<bool> {
        Self::check_name(name)?;
        let busy = || Failure::Unavailable {
            code: "backup_in_progress",
            message: "a backup is being made: delete the namespace when it has ended".into(),
        };
        let _deleting = self.deletions.try_read().ok_or_else(busy)?;
        if self.around.store.namespace(account, name)?.is_none() {
            return Ok(false);
        }
        let lease = self.lease(account, name)?;
        let mut trash = None;
        let deleted = lease.retire(|| {
            // Under the lock that creation takes: one that is made again meanwhile finds nothing of the old one.
            let mut open = self.open.lock();
            if !self.around.store.begin_deletion(account, name)? {
                return Ok(false);
            }
            trash = Some(self.set_aside(account, name)?);
            open.retain(|(key, _)| key.account != account || key.name != name);
            self.around.store.finish_deletion(account, name)?;
            Ok(true)
        })?;
        drop(lease);
        trash.map_or(Ok(()), |trash| remove(&trash))?;
        Ok(deleted)
    }

    /// Ends the deletions that a crash interrupted. Called before anything is served.
    pub(super) fn finish_deletions(&self) -> Outcome<()> {
        for (account, name) in self.around.store.pending_deletions()? {
            self.set_aside(&account, &name)?;
            self.around.store.finish_deletion(&account, &name)?;
        }
        remove(&self.data.join("trash"))
    }

    /// Moves what a deleted namespace has on disk out of the way, one step a folder, to a place of its own, which is
    /// returned.
    fn set_aside(&self, account: &str, name: &str) -> Outcome<PathBuf> {
        let trash = self.data.join("trash").join(Ulid::generate().to_string());
        std::fs::create_dir_all(&trash)?;
        let index = self.index_path(account, name);
        let next = super::namespace::next_index_folder(&index);
        let folders = [("repository", self.repository_path(account, name)), ("index", index), ("next", next)];
        for (kind, folder) in folders {
            match std::fs::rename(&folder, trash.join(kind)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(trash)
    }

    /// Where a namespace's repository is.
    pub fn repository_path(&self, account: &str, name: &str) -> PathBuf {
        self.data.join("repositories").join(file_name(account)).join(format!("{name}.git"))
    }

    /// Where a namespace's index is.
    pub(super) fn index_path(&self, account: &str, name: &str) -> PathBuf {
        self.data.join("indexes").join(file_name(account)).join(name)
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

/// Does something under a lock whose parts several threads work on. On one of rayon's it is done by a thread of its own:
/// who waits there for a part takes up what is queued meanwhile, and that may wait for the very lock.
pub(super) fn apart<T: Send>(work: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
    if rayon::current_thread_index().is_none() {
        return work();
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("apart".into()).spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Removes a folder; one that is not there is no error.
fn remove(folder: &Path) -> Outcome<()> {
    match std::fs::remove_dir_all(folder) {
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

    #[test]
    fn names_are_checked() {
        for good in ["a", "default", "a-1", &"x".repeat(64)] {
            assert!(Namespaces::check_name(good).is_ok());
        }
        for bad in ["", "A", "a_b", "a/b", "..", "é", &"x".repeat(65)] {
            assert!(Namespaces::check_name(bad).is_err());
        }
    }

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
