//! Records of the key-value store, read back: whatever a record holds, it is read or told to be damaged.
//!
//! An input is lines: the name of a column, a key with `|` for NUL, and a value.

use std::cell::RefCell;
use std::path::Path;

use cuebase_storage::Store;
use cuebase_storage::key_value::{Batch, Column, Durability, KeyValueStore};
use cuebase_storage::records::RECORD_FORMAT;
use ulid::Ulid;

const ACCOUNT: &str = "default";

/// A database, and the keys that the last input put there.
type Used = (tempfile::TempDir, Vec<(Column, Vec<u8>)>);

thread_local! {
    /// One for all inputs, since making one takes long. On disk: the engine
    /// reserves room for its logs, which costs nothing there, and in memory is filled with zeros.
    static USED: RefCell<Used> = RefCell::new((tempfile::tempdir().expect("a temporary folder"), Vec::new()));
}

pub(super) fn enter(bytes: &[u8]) {
    USED.with_borrow_mut(|(folder, keys)| put_and_read(folder.path(), keys, bytes));
}

fn put_and_read(folder: &Path, keys: &mut Vec<(Column, Vec<u8>)>, bytes: &[u8]) {
    let mut batch = Batch::new();
    for (column, key) in keys.drain(..) {
        batch.delete(column, key);
    }
    for line in bytes.split(|byte| *byte == b'\n') {
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        let (Some(name), Some(key), Some(value)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let Some(column) = Column::ALL.into_iter().find(|column| column.name().as_bytes() == name) else { continue };
        let key: Vec<u8> = key.iter().map(|byte| if *byte == b'|' { 0 } else { *byte }).collect();
        batch.put(column, key.clone(), [&[RECORD_FORMAT], value].concat());
        keys.push((column, key));
    }
    {
        let kv = KeyValueStore::open(folder).expect("opens");
        kv.write(&batch, Durability::Buffered).expect("writes");
    }
    let Ok(store) = Store::open(folder) else { return };
    let _ = (store.accounts(), store.account(ACCOUNT), store.api_key("0123456789abcdef"), store.api_keys(ACCOUNT));
    let _ = (store.namespaces(ACCOUNT, None, 10), store.pending_deletions(), store.models(), store.newest_message_id());
    let _ = (store.each_queue_entry(|_| {}), store.dead_letters(), store.purge(i64::MAX, i64::MAX));
    let _ = (store.wallet(ACCOUNT), store.transactions(ACCOUNT, 10), store.unmirrored(ACCOUNT), store.payment("p"));
    let _ = (store.purge_notifications(i64::MAX), store.usage(ACCOUNT, "reads"), store.media(Ulid::nil()));
    let _ =
        (store.conversation(ACCOUNT, Ulid::nil()), store.messages(Ulid::nil()), store.media_ids(ACCOUNT, "default"));
    let _ = (store.terms(ACCOUNT, "default"), store.terms_of_form(ACCOUNT, "default", "x"), store.check());
}
