//! Parts of meters when answers of the database are lost.

use std::sync::Arc;

use crate::error::Error;
use crate::identity::AccountId;
use crate::key_value::{Column, LossyEngine};
use crate::records::{Meter, Store, UsageRecord};

const METER: Meter = Meter::Reads;

fn counted(units: u64) -> UsageRecord {
    let mut record = UsageRecord::new(&AccountId::default(), METER);
    record.count("2026-01", units);
    record
}

fn write(store: &Store, units: u64) -> Result<(), Error> {
    store.put_usages(&[counted(units)])
}

fn own(store: &Store) -> u64 {
    store.own_usage(&AccountId::default(), METER).expect("reads").total
}

fn stored(store: &Store) -> u64 {
    store.usage(&AccountId::default(), METER).expect("reads").map_or(0, |record| record.total)
}

fn open() -> (Arc<LossyEngine>, Store) {
    let engine = Arc::new(LossyEngine::default());
    let store = Store::open_shared(engine.clone()).expect("opens");
    write(&store, 1).expect("writes");
    (engine, store)
}

#[test]
fn a_part_whose_answer_was_lost_is_read() {
    let (engine, store) = open();
    engine.lose_next_answer();
    write(&store, 5).expect_err("the answer is lost");
    assert_eq!(own(&store), 5);
    write(&store, 6).expect("writes");
    assert_eq!((own(&store), stored(&store)), (6, 6));
}

#[test]
fn a_part_that_did_not_arrive_is_not_counted() {
    let (engine, store) = open();
    engine.delay_next_batch();
    write(&store, 5).expect_err("the answer is lost");
    assert_eq!((own(&store), stored(&store)), (1, 1));
}

#[test]
fn a_part_that_arrives_late_does_not_replace_a_later_one() {
    let (engine, store) = open();
    engine.delay_next_batch();
    write(&store, 5).expect_err("the answer is lost");
    write(&store, 6).expect("writes");
    let late = engine.apply_late_batches();
    assert!(matches!(late[..], [Err(Error::ConditionFailed { column: Column::Usage, .. })]), "{late:?}");
    assert_eq!((own(&store), stored(&store)), (6, 6));
}

#[test]
fn a_part_that_arrived_since_it_was_read_is_not_replaced() {
    let (engine, store) = open();
    engine.delay_next_batch();
    write(&store, 5).expect_err("the answer is lost");
    assert_eq!(own(&store), 1);
    assert!(matches!(engine.apply_late_batches()[..], [Ok(())]));
    let met = write(&store, 2);
    assert!(matches!(met, Err(Error::ConditionFailed { column: Column::Usage, .. })), "{met:?}");
    assert_eq!((own(&store), stored(&store)), (5, 5));
    write(&store, 6).expect("writes");
    assert_eq!((own(&store), stored(&store)), (6, 6));
}

#[test]
fn an_ended_id_counts_a_part_with_a_lost_answer_once() {
    let (engine, store) = open();
    let other = Store::open_shared(engine.clone()).expect("opens");
    engine.lose_next_answer();
    write(&store, 5).expect_err("the answer is lost");
    assert_eq!(other.fold_usage().expect("folds"), 1);
    assert_eq!((own(&store), stored(&store)), (5, 5));
    write(&store, 6).expect("writes under a new id");
    assert_eq!((own(&store), stored(&store)), (6, 6));
}
