//! Charges whose batch fails although it was written, or is written later.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebase_storage::key_value::{Column, LossyEngine};
use cuebase_storage::records::Meter;
use cuebase_storage::{AccountId, Error as StorageError, Store};

use super::meters::{Charge, Meters, Recency};
use crate::clock::Clock;

/// A node with its meters, and the database that it shares with others.
struct Node {
    engine: Arc<LossyEngine>,
    store: Arc<Store>,
    meters: Meters,
}

impl Node {
    /// A node that has counted one unit.
    fn start() -> Self {
        let node = Self::over(&Arc::new(LossyEngine::default()));
        node.charge().expect("writes");
        node
    }

    fn over(engine: &Arc<LossyEngine>) -> Self {
        let store = Arc::new(Store::open_shared(engine.clone()).expect("opens"));
        let meters = Meters::new(Arc::clone(&store), Clock::system()).expect("starts");
        Self { engine: Arc::clone(engine), store, meters }
    }

    /// Charges a write in a batch of its own.
    fn charge(&self) -> Result<(), StorageError> {
        let mut permit = self.meters.reserve(&account(), Meter::Writes, 1, 99).expect("reads").expect("room");
        let charge = permit.charge_guard()?;
        let outcome = self.commit(&charge);
        charge.finish(&outcome);
        outcome
    }

    fn commit(&self, charge: &Charge<'_>) -> Result<(), StorageError> {
        let mut batch = self.store.batch();
        batch.charge(charge.record())?;
        self.store.commit(batch)
    }

    fn total(&self) -> u64 {
        self.meters.total(&account(), Meter::Writes, Recency::Current).expect("reads")
    }

    /// What another node shows.
    fn total_elsewhere(&self) -> u64 {
        Self::over(&self.engine).total()
    }
}

fn account() -> AccountId {
    AccountId::new("a").expect("is valid")
}

#[test]
fn a_charge_with_a_lost_answer_is_counted_before_the_next_one() {
    let node = Node::start();
    node.engine.lose_next_answer();
    node.charge().expect_err("the answer is lost");
    node.charge().expect("writes");
    assert_eq!((node.total(), node.total_elsewhere()), (3, 3));
}

#[test]
fn a_charge_with_a_lost_answer_is_counted_without_another_one() {
    let node = Node::start();
    node.engine.lose_next_answer();
    node.charge().expect_err("the answer is lost");
    let deadline = Instant::now() + Duration::from_secs(60);
    while node.total() != 2 {
        assert!(Instant::now() < deadline, "{} units are shown", node.total());
        std::thread::yield_now();
    }
    assert_eq!(node.total_elsewhere(), 2);
}

#[test]
fn a_charge_that_did_not_arrive_is_not_counted() {
    let node = Node::start();
    node.engine.delay_next_batch();
    node.charge().expect_err("the answer is lost");
    node.charge().expect("writes");
    node.meters.flush().expect("writes");
    let late = node.engine.apply_late_batches();
    assert!(matches!(late[..], [Err(StorageError::ConditionFailed { column: Column::Usage, .. })]), "{late:?}");
    assert_eq!((node.total(), node.total_elsewhere()), (2, 2));
}

#[test]
fn a_charge_that_arrives_during_the_next_one_is_counted() {
    let node = Node::start();
    node.engine.delay_next_batch();
    node.charge().expect_err("the answer is lost");
    let mut permit = node.meters.reserve(&account(), Meter::Writes, 1, 99).expect("reads").expect("room");
    let charge = permit.charge_guard().expect("reads");
    assert!(matches!(node.engine.apply_late_batches()[..], [Ok(())]));
    let met = node.commit(&charge);
    assert!(matches!(met, Err(StorageError::ConditionFailed { column: Column::Usage, .. })), "{met:?}");
    charge.finish(&met);
    node.charge().expect("writes");
    drop(permit);
    assert_eq!((node.total(), node.total_elsewhere()), (3, 3));
}
