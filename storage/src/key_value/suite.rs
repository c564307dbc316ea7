//! The behaviours of an engine. Each is a test of [`RocksEngine`], of [`MemoryEngine`] and of
//! [`PostgresEngine`](super::PostgresEngine).

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::postgres_engine::test_database::TestDatabase;
use super::{Batch, Column, Durability, Engine, KeyValuePair, MemoryEngine, RocksEngine};
use crate::error::{Error, Result};

/// The column of all behaviours that need only one.
const COLUMN: Column = Column::Usage;
/// The key of counters.
const COUNT: &[u8] = b"count";

/// Declares a test of each engine for each behaviour.
macro_rules! test_all_engines {
    ($($behaviour:ident,)*) => {
        mod rocks_engine {
            $(
                #[test]
                fn $behaviour() {
                    let folder = tempfile::tempdir().expect("temporary directory");
                    let engine = super::RocksEngine::open(folder.path()).expect("opens");
                    super::$behaviour(&engine);
                }
            )*
        }

        mod memory_engine {
            $(
                #[test]
                fn $behaviour() {
                    super::$behaviour(&super::MemoryEngine::new());
                }
            )*
        }

        mod postgres_engine {
            $(
                #[test]
                #[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
                fn $behaviour() {
                    let database = super::TestDatabase::create();
                    super::$behaviour(&database.engine("one"));
                }
            )*
        }
    };
}

test_all_engines! {
    a_written_key_is_read_and_a_deleted_key_is_absent,
    columns_do_not_share_keys,
    a_scan_is_ordered_and_limited_and_starts_after_the_given_key,
    a_scan_back_is_ordered_and_limited_and_ends_before_a_key,
    a_scan_back_ignores_an_end_outside_of_its_prefix,
    every_entry_is_read_over_several_pages,
    a_batch_deletes_prefixes_before_its_other_changes,
    an_empty_prefix_deletes_nothing,
    a_scan_sees_a_batch_in_whole_or_not_at_all,
    an_expected_value_or_absence_lets_a_batch_through,
    a_batch_fails_if_a_key_has_another_value,
    a_batch_fails_if_an_expected_key_is_absent,
    a_key_is_put_if_absent_only_once,
    a_failed_condition_changes_nothing,
    conditions_apply_to_the_state_before_the_batch,
    eight_threads_lose_no_conditional_increment,
    no_write_happens_between_a_condition_and_its_batch,
    a_sync_since_the_current_generation_succeeds,
}

fn write(engine: &dyn Engine, batch: &Batch) {
    engine.write(batch, Durability::Buffered).expect("writes");
}

/// Writes keys whose values are the keys themselves.
fn put_keys(engine: &dyn Engine, keys: &[&str]) {
    let mut batch = Batch::new();
    for key in keys {
        batch.put(COLUMN, *key, *key);
    }
    write(engine, &batch);
}

fn value(engine: &dyn Engine, key: &str) -> Option<String> {
    let value = engine.get(COLUMN, key.as_bytes()).expect("reads")?;
    Some(String::from_utf8(value).expect("text"))
}

fn keys(entries: Result<Vec<KeyValuePair>>) -> Vec<String> {
    let mut keys = Vec::new();
    for (key, _) in entries.expect("scans") {
        keys.push(String::from_utf8(key).expect("text"));
    }
    keys
}

/// The key that a failed condition names.
fn failed_key(written: Result<()>) -> Vec<u8> {
    match written {
        Err(Error::ConditionFailed { column: COLUMN, key }) => key,
        written => panic!("{written:?}"),
    }
}

fn a_written_key_is_read_and_a_deleted_key_is_absent(engine: &dyn Engine) {
    assert_eq!(value(engine, "a"), None);
    let mut batch = Batch::new();
    batch.put(COLUMN, "a", "first").put(COLUMN, "a", "last").put(COLUMN, "b", "").put(COLUMN, "c", "c");
    batch.delete(COLUMN, "c").delete(COLUMN, "never written");
    write(engine, &batch);
    assert_eq!(value(engine, "a").as_deref(), Some("last"));
    assert_eq!(value(engine, "b").as_deref(), Some(""));
    assert_eq!(value(engine, "c"), None);
    let mut batch = Batch::new();
    batch.delete(COLUMN, "a");
    write(engine, &batch);
    assert_eq!(value(engine, "a"), None);
}

fn columns_do_not_share_keys(engine: &dyn Engine) {
    let mut batch = Batch::new();
    batch.put(Column::Usage, "a", "usage").put(Column::Models, "b", "models");
    write(engine, &batch);
    assert_eq!(engine.get(Column::Models, b"a").expect("reads"), None);
    assert_eq!(keys(engine.scan(Column::Usage, b"", None, 9)), ["a"]);
    assert_eq!(keys(engine.scan(Column::Models, b"", None, 9)), ["b"]);
}

fn a_scan_is_ordered_and_limited_and_starts_after_the_given_key(engine: &dyn Engine) {
    put_keys(engine, &["a\0one", "a\0two", "a\0three", "b\0one"]);
    let scan = |after: Option<&[u8]>, limit| keys(engine.scan(COLUMN, b"a\0", after, limit));
    assert_eq!(scan(None, 9), ["a\0one", "a\0three", "a\0two"]);
    assert_eq!(scan(Some(b"a\0one"), 9), ["a\0three", "a\0two"]);
    assert_eq!(scan(Some(b"a\0oo"), 9), ["a\0three", "a\0two"]);
    assert_eq!(scan(Some(b"A"), 9), ["a\0one", "a\0three", "a\0two"]);
    assert_eq!(scan(None, 1), ["a\0one"]);
    assert!(scan(None, 0).is_empty());
    assert!(scan(Some(b"a\0two"), 9).is_empty());
    assert_eq!(keys(engine.scan(COLUMN, b"", None, 9)).len(), 4);
}

fn a_scan_back_is_ordered_and_limited_and_ends_before_a_key(engine: &dyn Engine) {
    put_keys(engine, &["a\0one", "a\0two", "a\0three", "a\x01", "b\0one"]);
    let scan = |before: Option<&[u8]>, limit| keys(engine.scan_back(COLUMN, b"a\0", before, limit));
    assert_eq!(scan(None, 9), ["a\0two", "a\0three", "a\0one"]);
    assert_eq!(scan(Some(b"a\0two"), 9), ["a\0three", "a\0one"]);
    assert_eq!(scan(Some(b"a\0tx"), 1), ["a\0two"]);
    assert!(scan(None, 0).is_empty());
    assert!(scan(Some(b"a\0one"), 9).is_empty());
    assert_eq!(keys(engine.scan_back(COLUMN, b"", None, 2)), ["b\0one", "a\x01"]);
}

fn a_scan_back_ignores_an_end_outside_of_its_prefix(engine: &dyn Engine) {
    put_keys(engine, &["a", "ab", "b", "c"]);
    assert_eq!(keys(engine.scan_back(COLUMN, b"a", Some(b"c"), 9)), ["ab", "a"]);
    assert!(keys(engine.scan_back(COLUMN, b"b", Some(b"ab"), 9)).is_empty());
}

fn every_entry_is_read_over_several_pages(engine: &dyn Engine) {
    let large = vec![b'x'; 600 << 10];
    let mut batch = Batch::new();
    for key in 0..5u8 {
        batch.put(COLUMN, [key], large.clone());
    }
    write(engine, &batch);
    assert_eq!(engine.read_page(COLUMN, None).expect("reads").len(), 2);
    assert_eq!(engine.read_page(COLUMN, Some(&[3])).expect("reads").len(), 1);
    assert!(engine.read_page(COLUMN, Some(&[4])).expect("reads").is_empty());
    let mut read = Vec::new();
    for entry in engine.read_all(COLUMN) {
        let (key, value) = entry.expect("reads");
        assert_eq!(value.len(), large.len());
        read.extend(key);
    }
    assert_eq!(read, [0, 1, 2, 3, 4]);
}

fn a_batch_deletes_prefixes_before_its_other_changes(engine: &dyn Engine) {
    put_keys(engine, &["a\0one", "a\0two", "b\0one"]);
    let mut batch = Batch::new();
    batch.put(COLUMN, "a\0four", "").delete_prefix(COLUMN, b"a\0".to_vec());
    write(engine, &batch);
    assert_eq!(keys(engine.scan(COLUMN, b"", None, 9)), ["a\0four", "b\0one"]);
}

fn an_empty_prefix_deletes_nothing(engine: &dyn Engine) {
    let mut batch = Batch::new();
    batch.put(COLUMN, "a", "").put(COLUMN, [0xff_u8, 1], "");
    write(engine, &batch);
    let mut batch = Batch::new();
    batch.delete_prefix(COLUMN, Vec::new()).delete_prefix(COLUMN, vec![0xff]);
    write(engine, &batch);
    assert_eq!(engine.scan(COLUMN, b"", None, 9).expect("scans").len(), 2);
}

fn a_scan_sees_a_batch_in_whole_or_not_at_all(engine: &dyn Engine) {
    let is_written = AtomicBool::new(false);
    let mut torn = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..1000 {
                let mut batch = Batch::new();
                batch.put(COLUMN, "a", round.to_string()).put(COLUMN, "b", round.to_string());
                write(engine, &batch);
            }
            is_written.store(true, Ordering::SeqCst);
        });
        while !is_written.load(Ordering::SeqCst) {
            let entries = engine.scan(COLUMN, b"", None, 9).expect("scans");
            let is_whole = entries.is_empty() || (entries.len() == 2 && entries[0].1 == entries[1].1);
            torn += u32::from(!is_whole);
        }
    });
    assert_eq!(torn, 0);
}

fn an_expected_value_or_absence_lets_a_batch_through(engine: &dyn Engine) {
    put_keys(engine, &["a"]);
    let mut batch = Batch::new();
    batch.expect(COLUMN, "a", Some(b"a".to_vec())).expect(COLUMN, "b", None).put(COLUMN, "c", "c");
    engine.write(&batch, Durability::Synced).expect("the conditions hold");
    assert_eq!(value(engine, "c").as_deref(), Some("c"));
}

fn a_batch_fails_if_a_key_has_another_value(engine: &dyn Engine) {
    put_keys(engine, &["a"]);
    for expected in [Some(b"b".to_vec()), Some(Vec::new()), None] {
        let mut batch = Batch::new();
        batch.expect(COLUMN, "a", expected).put(COLUMN, "a", "changed");
        assert_eq!(failed_key(engine.write(&batch, Durability::Buffered)), b"a");
    }
    assert_eq!(value(engine, "a").as_deref(), Some("a"));
}

fn a_batch_fails_if_an_expected_key_is_absent(engine: &dyn Engine) {
    let mut batch = Batch::new();
    batch.expect(COLUMN, "a", Some(Vec::new())).put(COLUMN, "a", "changed");
    assert_eq!(failed_key(engine.write(&batch, Durability::Buffered)), b"a");
    assert_eq!(value(engine, "a"), None);
}

fn a_key_is_put_if_absent_only_once(engine: &dyn Engine) {
    let mut batch = Batch::new();
    batch.put_if_absent(COLUMN, "a", "first");
    write(engine, &batch);
    let mut batch = Batch::new();
    batch.put_if_absent(COLUMN, "a", "second");
    assert_eq!(failed_key(engine.write(&batch, Durability::Buffered)), b"a");
    assert_eq!(value(engine, "a").as_deref(), Some("first"));
    let mut batch = Batch::new();
    batch.delete(COLUMN, "a");
    write(engine, &batch);
    let mut batch = Batch::new();
    batch.put_if_absent(COLUMN, "a", "third");
    write(engine, &batch);
    assert_eq!(value(engine, "a").as_deref(), Some("third"));
}

fn a_failed_condition_changes_nothing(engine: &dyn Engine) {
    put_keys(engine, &["a", "b", "c"]);
    let mut batch = Batch::new();
    batch.delete_prefix(COLUMN, b"a".to_vec()).delete(COLUMN, "b").put(COLUMN, "c", "changed").put(COLUMN, "d", "d");
    batch.put(Column::Models, "a", "a").expect(COLUMN, "a", Some(b"a".to_vec())).expect(COLUMN, "e", Some(Vec::new()));
    assert_eq!(failed_key(engine.write(&batch, Durability::Synced)), b"e");
    assert_eq!(keys(engine.scan(COLUMN, b"", None, 9)), ["a", "b", "c"]);
    assert_eq!(value(engine, "c").as_deref(), Some("c"));
    assert_eq!(engine.get(Column::Models, b"a").expect("reads"), None);
}

fn conditions_apply_to_the_state_before_the_batch(engine: &dyn Engine) {
    put_keys(engine, &["a"]);
    let mut batch = Batch::new();
    batch.delete_prefix(COLUMN, b"a".to_vec()).put(COLUMN, "b", "b");
    batch.expect(COLUMN, "a", Some(b"a".to_vec())).expect(COLUMN, "b", None);
    write(engine, &batch);
    assert_eq!(keys(engine.scan(COLUMN, b"", None, 9)), ["b"]);
}

/// Adds 1 to a counter. Repeats until no other thread changes it meanwhile.
fn increment(engine: &dyn Engine) {
    loop {
        let found = engine.get(COLUMN, COUNT).expect("reads");
        let count: u32 = match &found {
            Some(digits) => String::from_utf8_lossy(digits).parse().expect("a number"),
            None => 0,
        };
        let mut batch = Batch::new();
        batch.expect(COLUMN, COUNT, found).put(COLUMN, COUNT, (count + 1).to_string());
        match engine.write(&batch, Durability::Buffered) {
            Ok(()) => return,
            Err(Error::ConditionFailed { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn eight_threads_lose_no_conditional_increment(engine: &dyn Engine) {
    thread::scope(|scope| {
        for number in 0..8u8 {
            scope.spawn(move || {
                for _ in 0..100 {
                    increment(engine);
                    // A write without conditions, of a key that no condition names.
                    let mut batch = Batch::new();
                    batch.put(COLUMN, [number], "");
                    write(engine, &batch);
                }
            });
        }
    });
    assert_eq!(value(engine, "count").as_deref(), Some("800"));
    assert_eq!(engine.scan(COLUMN, b"", None, 99).expect("scans").len(), 9);
}

/// Replaces the value of the key `shared` if it is a number, and records in the same batch which one it was.
fn replace_number(engine: &dyn Engine) {
    let Some(found) = engine.get(COLUMN, b"shared").expect("reads") else { return };
    if found == b"replaced" {
        return;
    }
    let mut batch = Batch::new();
    batch.expect(COLUMN, "shared", Some(found.clone())).put(COLUMN, "shared", "replaced").put(COLUMN, "former", found);
    match engine.write(&batch, Durability::Buffered) {
        Ok(()) | Err(Error::ConditionFailed { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

/// One thread writes numbers without conditions, the other replaces them under the condition that they are still there.
/// A number that is replaced without being recorded was written between the check and the write.
fn no_write_happens_between_a_condition_and_its_batch(engine: &dyn Engine) {
    let is_written = AtomicBool::new(false);
    let mut lost = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_written.load(Ordering::SeqCst) {
                replace_number(engine);
            }
        });
        for number in 0..2000 {
            let number = number.to_string();
            let mut batch = Batch::new();
            batch.put(COLUMN, "shared", number.as_str());
            write(engine, &batch);
            let is_replaced = value(engine, "shared").as_deref() == Some("replaced");
            if is_replaced && value(engine, "former").as_ref() != Some(&number) {
                lost.push(number);
            }
        }
        is_written.store(true, Ordering::SeqCst);
    });
    assert!(lost.is_empty(), "{lost:?}");
}

fn a_sync_since_the_current_generation_succeeds(engine: &dyn Engine) {
    let generation = engine.generation();
    put_keys(engine, &["a"]);
    engine.sync_since(generation).expect("syncs");
    engine.sync().expect("syncs");
    let mut batch = Batch::new();
    batch.put(COLUMN, "b", "b");
    engine.write(&batch, Durability::Synced).expect("writes and syncs");
    engine.sync_since(generation).expect("syncs");
    assert_eq!(engine.generation(), generation);
}
