//! What only this engine does: several processes on one database, and connections that are lost.

use std::thread;

use super::PostgresEngine;
use super::test_database::TestDatabase;
use crate::error::{DiskTrouble, Error};
use crate::key_value::{Batch, Column, Durability, Engine};

/// The column of all tests.
const COLUMN: Column = Column::Usage;

fn put(engine: &PostgresEngine, key: &str, durability: Durability) {
    let mut batch = Batch::new();
    batch.put(COLUMN, key, key);
    engine.write(&batch, durability).expect("writes");
}

fn has(engine: &PostgresEngine, key: &str) -> bool {
    engine.get(COLUMN, key.as_bytes()).expect("reads").is_some()
}

#[test]
#[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
fn a_process_reads_what_another_one_wrote() {
    let database = TestDatabase::create();
    let (first, second) = (database.engine("first"), database.engine("second"));
    put(&first, "buffered", Durability::Buffered);
    put(&first, "synced", Durability::Synced);
    assert!(has(&second, "buffered") && has(&second, "synced"));
}

#[test]
#[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
fn of_two_processes_one_puts_a_key_if_absent() {
    let database = TestDatabase::create();
    let engines = [database.engine("first"), database.engine("second")];
    for round in 0..50 {
        let mut created = 0;
        thread::scope(|scope| {
            let mut writers = Vec::new();
            for engine in &engines {
                writers.push(scope.spawn(move || {
                    let mut batch = Batch::new();
                    batch.put_if_absent(COLUMN, round.to_string(), "created");
                    match engine.write(&batch, Durability::Buffered) {
                        Ok(()) => 1,
                        Err(Error::ConditionFailed { .. }) => 0,
                        Err(error) => panic!("{error}"),
                    }
                }));
            }
            for writer in writers {
                created += writer.join().expect("ends");
            }
        });
        assert_eq!(created, 1, "{round}");
    }
}

/// Each process adds a member while the group exists, or ends the group and removes its members.
#[test]
#[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
fn a_member_is_not_added_to_a_group_that_another_process_ends() {
    let database = TestDatabase::create();
    let (adding, ending) = (database.engine("adding"), database.engine("ending"));
    for round in 0..50 {
        let group = format!("group {round}");
        put(&adding, &group, Durability::Buffered);
        let members = format!("member {round} ");
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..5 {
                    let mut batch = Batch::new();
                    batch.expect(COLUMN, group.as_str(), Some(group.clone().into_bytes()));
                    batch.put(COLUMN, format!("{members}{number}"), "");
                    match adding.write(&batch, Durability::Buffered) {
                        Ok(()) | Err(Error::ConditionFailed { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
            let mut batch = Batch::new();
            batch.delete(COLUMN, group.as_str()).delete_prefix(COLUMN, members.clone().into_bytes());
            batch.expect(COLUMN, group.as_str(), Some(group.clone().into_bytes()));
            ending.write(&batch, Durability::Buffered).expect("ends the group");
        });
        let left = ending.scan(COLUMN, members.as_bytes(), None, 9).expect("scans");
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
#[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
fn a_call_is_repeated_if_its_connection_is_lost() {
    let database = TestDatabase::create();
    let engine = database.engine("one");
    put(&engine, "before", Durability::Synced);
    for _ in 0..5 {
        database.end_connections();
        assert!(has(&engine, "before"));
        database.end_connections();
        put(&engine, "after", Durability::Synced);
        database.end_connections();
        engine.scan(COLUMN, b"", None, 9).expect("scans");
    }
}

#[test]
#[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
fn a_sync_fails_for_writes_that_preceded_a_lost_connection() {
    let database = TestDatabase::create();
    let engine = database.engine("one");
    let generation = engine.generation();
    put(&engine, "a", Durability::Buffered);
    database.end_connections();
    let synced = engine.sync_since(generation);
    let trouble = synced.expect_err("may be lost").disk_trouble();
    assert_eq!(trouble, Some(DiskTrouble::Unreachable));
    let next = engine.generation();
    assert_ne!(next, generation);
    put(&engine, "b", Durability::Buffered);
    engine.sync_since(next).expect("syncs");
}

/// A server that lacks the token of the process: a former primary, or a standby that lacks the last writes.
#[test]
#[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
fn a_server_without_the_last_writes_is_not_used_before_a_new_generation() {
    let database = TestDatabase::create();
    let engine = database.engine("one");
    let generation = engine.generation();
    put(&engine, "a", Durability::Buffered);
    database.run("DELETE FROM cuebase_syncs");
    database.end_connections();
    put(&engine, "b", Durability::Buffered);
    assert!(engine.sync_since(generation).is_err());
    assert_ne!(engine.generation(), generation);
    engine.sync().expect("syncs");
}

#[test]
#[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
fn eight_processes_create_the_tables_at_once() {
    let database = TestDatabase::create();
    thread::scope(|scope| {
        for number in 0..8 {
            let database = &database;
            scope.spawn(move || put(&database.engine(&number.to_string()), "a", Durability::Buffered));
        }
    });
    assert!(has(&database.engine("last"), "a"));
}

#[test]
#[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
fn an_unreachable_server_is_reported_as_such() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let url = format!("host={} user=cuebase sslmode=disable", folder.path().display());
    let refused = PostgresEngine::open(&url, "one").err().expect("cannot connect");
    assert_eq!(refused.disk_trouble(), Some(DiskTrouble::Unreachable), "{refused}");
    assert!(refused.to_string().contains("cannot be reached"), "{refused}");
}

#[test]
#[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
fn the_size_of_the_table_is_reported() {
    let database = TestDatabase::create();
    let engine = database.engine("one");
    put(&engine, "a", Durability::Synced);
    assert!(engine.stats().disk_bytes > 0);
}

#[test]
#[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
fn a_snapshot_has_the_keys_of_its_moment_over_several_pages() {
    let database = TestDatabase::create();
    let (first, second) = (database.engine("first"), database.engine("second"));
    let mut batch = Batch::new();
    for number in 0..200 {
        batch.put(COLUMN, format!("{number:03}"), "before");
    }
    first.write(&batch, Durability::Synced).expect("writes");
    let snapshot = first.snapshot().expect("begins");
    put(&second, "later", Durability::Synced);
    let mut batch = Batch::new();
    batch.delete(COLUMN, "000");
    second.write(&batch, Durability::Synced).expect("writes");
    let mut found = 0;
    for entry in snapshot.read_all(COLUMN) {
        assert_eq!(entry.expect("reads").1, b"before");
        found += 1;
    }
    assert_eq!(found, 200);
    assert!(snapshot.get(COLUMN, b"000").expect("reads").is_some());
    assert_eq!(snapshot.scan(COLUMN, b"19", None, 100).expect("scans").len(), 10);
    assert!(snapshot.write(&batch, Durability::Buffered).is_err());
    drop(snapshot);
    assert!(first.snapshot().expect("begins").get(COLUMN, b"000").expect("reads").is_none());
}
