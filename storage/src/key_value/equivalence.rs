//! A property: random operations have equal results in all engines.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::postgres_engine::test_database::TestDatabase;
use super::{Batch, Column, Durability, Engine, KeyValuePair, MemoryEngine, RocksEngine};
use crate::error::Error;

/// A part of a batch.
#[derive(Clone, Debug)]
enum BatchPart {
    Put(Vec<u8>, u8),
    Delete(Vec<u8>),
    DeletePrefix(Vec<u8>),
    Expect(Vec<u8>, Option<u8>),
    PutIfAbsent(Vec<u8>, u8),
}

#[derive(Clone, Debug)]
enum Operation {
    Write(Vec<(Column, BatchPart)>),
    Get(Column, Vec<u8>),
    Scan { column: Column, prefix: Vec<u8>, after: Option<Vec<u8>>, limit: usize },
    ScanBack { column: Column, prefix: Vec<u8>, before: Option<Vec<u8>>, limit: usize },
    ReadAll(Column),
}

/// The result of an operation.
#[derive(Debug, PartialEq)]
enum Outcome {
    Written,
    ConditionFailed(Column, Vec<u8>),
    Value(Option<Vec<u8>>),
    Entries(Vec<KeyValuePair>),
}

fn column() -> impl Strategy<Value = Column> {
    prop_oneof![Just(Column::Usage), Just(Column::Models)]
}

/// One of forty keys, so that operations meet on the same keys.
fn key() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0u8), Just(b'k'), Just(0xff)], 0..4)
}

fn value() -> impl Strategy<Value = u8> {
    0..2u8
}

fn limit() -> impl Strategy<Value = usize> {
    prop_oneof![0..4usize, Just(usize::MAX)]
}

fn batch_part() -> impl Strategy<Value = BatchPart> {
    prop_oneof![
        4 => (key(), value()).prop_map(|(key, value)| BatchPart::Put(key, value)),
        2 => key().prop_map(BatchPart::Delete),
        1 => key().prop_map(BatchPart::DeletePrefix),
        1 => (key(), option::of(value())).prop_map(|(key, value)| BatchPart::Expect(key, value)),
        1 => (key(), value()).prop_map(|(key, value)| BatchPart::PutIfAbsent(key, value)),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    let range = || (column(), key(), option::of(key()), limit());
    prop_oneof![
        4 => vec((column(), batch_part()), 0..6).prop_map(Operation::Write),
        1 => (column(), key()).prop_map(|(column, key)| Operation::Get(column, key)),
        2 => range().prop_map(|(column, prefix, after, limit)| Operation::Scan { column, prefix, after, limit }),
        2 => range().prop_map(|(column, prefix, before, limit)| Operation::ScanBack { column, prefix, before, limit }),
        1 => column().prop_map(Operation::ReadAll),
    ]
}

fn batch_of(parts: &[(Column, BatchPart)]) -> Batch {
    let mut batch = Batch::new();
    for (column, part) in parts {
        match part.clone() {
            BatchPart::Put(key, value) => batch.put(*column, key, [value]),
            BatchPart::Delete(key) => batch.delete(*column, key),
            BatchPart::DeletePrefix(prefix) => batch.delete_prefix(*column, prefix),
            BatchPart::Expect(key, value) => batch.expect(*column, key, value.map(|value| vec![value])),
            BatchPart::PutIfAbsent(key, value) => batch.put_if_absent(*column, key, [value]),
        };
    }
    batch
}

fn run(engine: &dyn Engine, operation: &Operation) -> Outcome {
    match operation {
        Operation::Write(parts) => match engine.write(&batch_of(parts), Durability::Buffered) {
            Ok(()) => Outcome::Written,
            Err(Error::ConditionFailed { column, key }) => Outcome::ConditionFailed(column, key),
            Err(error) => panic!("{error}"),
        },
        Operation::Get(column, key) => Outcome::Value(engine.get(*column, key).expect("reads")),
        Operation::Scan { column, prefix, after, limit } => {
            Outcome::Entries(engine.scan(*column, prefix, after.as_deref(), *limit).expect("scans"))
        }
        Operation::ScanBack { column, prefix, before, limit } => {
            Outcome::Entries(engine.scan_back(*column, prefix, before.as_deref(), *limit).expect("scans"))
        }
        Operation::ReadAll(column) => Outcome::Entries(entries(engine, *column)),
    }
}

fn entries(engine: &dyn Engine, column: Column) -> Vec<KeyValuePair> {
    let mut entries = Vec::new();
    for entry in engine.read_all(column) {
        entries.push(entry.expect("reads"));
    }
    entries
}

fn delete_all(engine: &dyn Engine) {
    let mut batch = Batch::new();
    for column in [Column::Usage, Column::Models] {
        for (key, _) in entries(engine, column) {
            batch.delete(column, key);
        }
    }
    engine.write(&batch, Durability::Buffered).expect("writes");
}

/// Runs random operations on an engine and on [`MemoryEngine`]. All cases use the same database, because creating one is
/// slow.
fn compare_with_memory(engine: &dyn Engine, cases: u32) {
    let mut runner = TestRunner::new(ProptestConfig::with_cases(cases));
    let checked = runner.run(&vec(operation(), 1..30), |operations| {
        let memory = MemoryEngine::new();
        delete_all(engine);
        for operation in &operations {
            prop_assert_eq!(run(engine, operation), run(&memory, operation));
        }
        Ok(())
    });
    if let Err(failure) = checked {
        panic!("{failure}");
    }
}

#[test]
fn random_operations_have_equal_results_in_memory_and_on_disk() {
    let folder = tempfile::tempdir().expect("temporary directory");
    compare_with_memory(&RocksEngine::open(folder.path()).expect("opens"), 300);
}

#[test]
#[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
fn random_operations_have_equal_results_in_memory_and_in_postgres() {
    let database = TestDatabase::create();
    compare_with_memory(&database.engine("one"), 300);
}
