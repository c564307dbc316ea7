//! Records of the key-value store. Any content is read or reported as damaged.
//!
//! Each line of an input is the name of a column, a key with `|` for NUL, and a value.

use std::cell::RefCell;
use std::path::Path;

use cuebase_storage::Store;
use cuebase_storage::key_value::{Batch, Column, Durability, Engine, RocksEngine};
use cuebase_storage::records::{Environment, Meter, NamespaceRecord, RECORD_FORMAT, RemovalRecord};
use cuebase_storage::{AccountId, MessageId, NamespaceId, NamespaceKey, NamespaceName};
use ulid::Ulid;

/// Id of the namespace and of everything in it. Its bytes are text, so that the keys of seeds can contain them.
const ID: Ulid = Ulid::from_bytes(*b"0123456789abcdef");

/// A database, and the keys that the last input wrote.
type ReusedDatabase = (tempfile::TempDir, Vec<(Column, Vec<u8>)>);

thread_local! {
    /// One database for all inputs, because creating one is slow. It is on disk: the engine reserves space for its logs,
    /// which is free on disk but filled with zeros in memory.
    static DATABASE: RefCell<ReusedDatabase> = RefCell::new((tempfile::tempdir().expect("a temporary folder"), Vec::new()));
}

pub(super) fn enter(bytes: &[u8]) {
    DATABASE.with_borrow_mut(|(folder, keys)| put_and_read(folder.path(), keys, bytes));
}

fn put_and_read(folder: &Path, keys: &mut Vec<(Column, Vec<u8>)>, bytes: &[u8]) {
    let mut batch = Batch::new();
    for (column, key) in keys.drain(..) {
        batch.delete(column, key);
    }
    for line in bytes.split(|byte| *byte == b'\n') {
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        let (Some(name), Some(key), Some(value)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let Some(column) = Column::ALL.iter().find(|column| column.name().as_bytes() == name) else { continue };
        let key: Vec<u8> = key.iter().map(|byte| if *byte == b'|' { 0 } else { *byte }).collect();
        batch.put(*column, key.clone(), [&[RECORD_FORMAT], value].concat());
        keys.push((*column, key));
    }
    {
        let kv = RocksEngine::open(folder).expect("opens");
        kv.write(&batch, Durability::Buffered).expect("writes");
    }
    let Ok(store) = Store::open(folder) else { return };
    read_account(&store);
    read_namespace(&store);
    purge(&store);
    let _ = store.check();
}

/// The namespace that inputs write to.
fn name() -> NamespaceName {
    NamespaceName::new("notes").expect("a valid name")
}

/// Reads all records of the account and of the data directory.
fn read_account(store: &Store) {
    let account = &AccountId::default();
    let message = MessageId::from(ID);
    let _ = (store.accounts(), store.account(account), store.api_key("0123456789abcdef"), store.api_keys(account));
    let _ = (store.namespaces(account, None, 10), store.accounts_with_namespaces(), store.models(), store.prices());
    let _ = (store.newest_id(), store.running_ms(), store.has_format_1_directories(), store.pending_removals());
    let _ = (store.dead_letters(account, None, 10), store.dead_letter(None, message), store.dead_letter_count());
    let _ = (
        store.for_each_queue_entry(drop),
        store.for_each_dead_letter(drop),
        store.revive(account, message, 0),
        store.unreadable(),
    );
    let _ = (
        store.wallet(account),
        store.transactions(account, 10),
        store.unmirrored_transactions(account),
        store.payment("p"),
    );
    let _ = (store.usage(account, Meter::Reads), store.media_bytes(account), store.is_notification_processed("n"));
    if let Ok(Some(record)) = store.write_record(account, message) {
        let _ = store.write_progress(account, &record);
    }
    let _ = (store.animal(account, Environment::Live, 1), store.animals(account, Environment::Live, None, 10));
}

/// Reads all records of the namespace.
fn read_namespace(store: &Store) {
    let (account, name) = (&AccountId::default(), &name());
    let message = MessageId::from(ID);
    let id = NamespaceId::new(ID);
    let key = NamespaceKey { account: account.clone(), name: name.clone(), id };
    let _ = (store.namespace(account, name), store.is_live(id), store.is_queued(&key, message));
    let _ = (store.queue_entry(&key, message), store.imported(&key, &[[b'0'; 32]]), store.newest_path_write(id, "x"));
    let _ = (store.has_path_writes(id), store.revisions(id, "x", 10), store.media(ID), store.media_of_namespace(id));
    let record = NamespaceRecord::new(account, name, id, 0);
    let _ = (store.conversation(account, ID), store.conversations(&record, None, 10), store.messages(ID));
    let _ = (store.term(id, "x"), store.terms(id), store.terms_by_form(id, "x"));
    let _ = (store.sources(id, None, 10), store.sources_after(id, None, 10), store.source_paths(id, message));
    let _ = (store.source(id, message), store.next_source(id, None), store.check_sources());
}

/// Removes old records and the remains of a deleted namespace.
fn purge(store: &Store) {
    let message = MessageId::from(ID);
    let _ = (store.purge_fingerprints(u64::MAX), store.purge_dead_letters(u64::MAX), store.purge_path_writes());
    let _ = (store.purge_writes(i64::MAX), store.purge_links(i64::MAX));
    let _ = (store.purge_notifications(i64::MAX), store.drop_vectors_except(&[]), store.drop_unreadable(message));
    let removal = RemovalRecord { account: AccountId::default(), name: name(), id: NamespaceId::new(ID) };
    let _ = (store.remove_records(&removal), store.finish_removal(removal.id));
}
