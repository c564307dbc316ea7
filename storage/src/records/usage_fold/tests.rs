//! Parts of meters: two stores over one database count, and are folded, in memory and in PostgreSQL.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use crate::error::Error;
use crate::identity::AccountId;
use crate::key_value::columns::joined;
use crate::key_value::postgres_engine::test_database::TestDatabase;
use crate::key_value::{Batch, Column, Durability, Engine, MemoryEngine};
use crate::records::ownership::NodeSession;
use crate::records::store::encode;
use crate::records::usage_keys::split_part_key;
use crate::records::{AccountRecord, Meter, Store, UsageRecord};

const METER: Meter = Meter::Reads;

/// The database that the stores of a test share.
enum Database {
    Memory(Arc<dyn Engine>),
    Postgres(Box<TestDatabase>),
}

impl Database {
    fn in_memory() -> Self {
        Self::Memory(Arc::new(MemoryEngine::new()))
    }

    fn in_postgres() -> Self {
        Self::Postgres(Box::new(TestDatabase::create()))
    }

    fn engine(&self, process: &str) -> Arc<dyn Engine> {
        match self {
            Self::Memory(engine) => Arc::clone(engine),
            Self::Postgres(database) => Arc::new(database.engine(process)),
        }
    }

    /// Opens the database as another process would.
    fn open(&self, process: &str) -> Arc<Store> {
        Arc::new(Store::open_shared(self.engine(process)).expect("opens"))
    }

    fn open_two(&self) -> (Arc<Store>, Arc<Store>) {
        (self.open("first"), self.open("second"))
    }
}

/// Declares a test in memory and a test in PostgreSQL for each behaviour.
macro_rules! test_databases {
    ($($behaviour:ident,)*) => {
        mod in_memory {
            $(
                #[test]
                fn $behaviour() {
                    super::$behaviour(&super::Database::in_memory());
                }
            )*
        }

        mod in_postgres {
            $(
                #[test]
                #[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
                fn $behaviour() {
                    super::$behaviour(&super::Database::in_postgres());
                }
            )*
        }
    };
}

test_databases! {
    usage_is_the_sum_over_processes_by_month,
    processes_that_count_at_once_lose_no_unit,
    folding_keeps_sums_and_the_parts_of_nodes_with_a_session,
    a_process_whose_part_was_folded_does_not_count_it_twice,
    a_charge_under_an_ended_id_fails_and_can_be_repeated,
    a_node_with_a_new_session_counts_on,
    a_charge_of_a_batch_that_fails_is_not_written,
    counts_and_folds_at_once_keep_the_sum,
    a_level_of_stored_bytes_has_no_parts,
}

fn session(store: &Arc<Store>) -> NodeSession {
    NodeSession::begin(store, "127.0.0.1:1", "1.0.0", Instant::now()).expect("begins")
}

/// Adds units to what a process counted, and writes it.
fn count(store: &Store, counted: &mut UsageRecord, month: &str, units: u64) {
    counted.count(month, units);
    store.put_usages(std::slice::from_ref(&*counted)).expect("writes");
}

fn counter() -> UsageRecord {
    UsageRecord::new(&AccountId::default(), METER)
}

fn sum(store: &Store) -> UsageRecord {
    store.usage(&AccountId::default(), METER).expect("reads").expect("counted")
}

fn others(store: &Store) -> u64 {
    store.usage_of_others(&AccountId::default(), METER).expect("reads").total
}

/// The keys of meters and of parts that are stored.
fn records(store: &Store) -> (usize, usize) {
    let (mut meters, mut parts) = (0, 0);
    for (key, _) in store.kv.scan(Column::Usage, AccountId::default().as_str().as_bytes(), None, 999).expect("reads") {
        match split_part_key(&key) {
            Some(_) => parts += 1,
            None => meters += 1,
        }
    }
    (meters, parts)
}

#[test]
fn a_store_that_is_alone_has_one_record_for_each_meter() {
    let store = Store::in_memory().expect("creates");
    let mut counted = counter();
    count(&store, &mut counted, "2026-01", 3);
    assert!(!store.shares_usage());
    assert_eq!((sum(&store), records(&store)), (counted.clone(), (1, 0)));
    assert_eq!((store.own_usage(&AccountId::default(), METER).expect("reads"), others(&store)), (counted, 0));
    assert_eq!(store.fold_usage().expect("folds"), 0);
}

fn usage_is_the_sum_over_processes_by_month(database: &Database) {
    // A record from before the database was shared.
    let mut former = counter();
    former.count("2026-01", 100);
    let mut batch = Batch::new();
    batch.put(Column::Usage, joined(&former.account, METER.name()), encode(&former).expect("encodes"));
    database.engine("former").write(&batch, Durability::Synced).expect("writes");
    let (first, second) = database.open_two();
    let (mut of_first, mut of_second) = (counter(), counter());
    count(&first, &mut of_first, "2026-01", 1);
    count(&first, &mut of_first, "2026-02", 2);
    count(&second, &mut of_second, "2026-02", 4);
    let sum = sum(&second);
    assert_eq!((sum.total, sum.used_in("2026-01"), sum.used_in("2026-02")), (107, 101, 6));
    assert_eq!((others(&first), others(&second)), (104, 103));
    // Another account whose name begins with the same characters, and another meter, have their own usage.
    let other = AccountId::new(&format!("{}2", AccountId::default().as_str())).expect("is valid");
    assert_eq!(first.usage(&other, METER).expect("reads"), None);
    assert_eq!(first.usage(&AccountId::default(), Meter::Writes).expect("reads"), None);
}

fn processes_that_count_at_once_lose_no_unit(database: &Database) {
    let stores = ["first", "second", "third"].map(|process| database.open(process));
    thread::scope(|scope| {
        for store in &stores {
            scope.spawn(move || {
                let mut counted = counter();
                for _ in 0..100 {
                    count(store, &mut counted, "2026-01", 1);
                }
            });
        }
    });
    assert_eq!((sum(&stores[0]).total, records(&stores[0])), (300, (0, 3)));
}

fn folding_keeps_sums_and_the_parts_of_nodes_with_a_session(database: &Database) {
    let (first, second) = database.open_two();
    let (ended, _live) = (session(&first), session(&second));
    let (mut of_first, mut of_second) = (counter(), counter());
    count(&first, &mut of_first, "2026-01", 5);
    count(&second, &mut of_second, "2026-02", 7);
    assert_eq!((second.fold_usage().expect("folds"), records(&second)), (0, (0, 2)));
    let before = sum(&second);
    ended.end().expect("ends");
    assert_eq!((second.fold_usage().expect("folds"), records(&second)), (1, (1, 1)));
    assert_eq!((sum(&second), others(&second)), (before, 5));
    assert_eq!(second.fold_usage().expect("folds"), 0, "nothing is left to fold");
    count(&second, &mut of_second, "2026-02", 1);
    assert_eq!((sum(&second).total, second.check().1.len()), (13, 0));
    // The part of a third process is added to the record that exists.
    let third = database.open("third");
    count(&third, &mut counter(), "2026-02", 10);
    assert_eq!((second.fold_usage().expect("folds"), records(&second)), (1, (1, 1)));
    let sum = sum(&second);
    assert_eq!((sum.total, sum.used_in("2026-01"), sum.used_in("2026-02")), (23, 5, 18));
}

fn a_process_whose_part_was_folded_does_not_count_it_twice(database: &Database) {
    let (first, second) = database.open_two();
    let session = session(&first);
    let mut counted = counter();
    count(&first, &mut counted, "2026-01", 5);
    // The first node is declared dead without noticing.
    session.end().expect("ends");
    assert_eq!(second.fold_usage().expect("folds"), 1);
    assert_eq!((others(&first), others(&second)), (0, 5), "its own units are not those of others");
    count(&first, &mut counted, "2026-01", 2);
    assert_eq!((sum(&second).total, others(&first), records(&second)), (7, 0, (1, 1)));
    assert_eq!(first.own_usage(&AccountId::default(), METER).expect("reads").total, 7);
    assert_eq!(second.fold_usage().expect("folds"), 1, "the new id has no session");
    count(&first, &mut counted, "2026-02", 1);
    let sum = sum(&second);
    assert_eq!((sum.total, sum.used_in("2026-01"), sum.used_in("2026-02")), (8, 7, 1));
}

fn a_charge_under_an_ended_id_fails_and_can_be_repeated(database: &Database) {
    let (first, second) = database.open_two();
    let mut counted = counter();
    count(&first, &mut counted, "2026-01", 5);
    let mut late = first.batch();
    counted.count("2026-01", 1);
    late.charge(&counted).expect("encodes");
    assert_eq!(second.fold_usage().expect("folds"), 1);
    let failed = first.commit(late);
    assert!(matches!(failed, Err(Error::ConditionFailed { column: Column::Usage, .. })), "{failed:?}");
    assert_eq!(sum(&second).total, 5);
    let mut repeated = first.batch();
    repeated.charge(&counted).expect("encodes");
    first.commit(repeated).expect("writes under a new id");
    assert_eq!(sum(&second).total, 6);
}

fn a_node_with_a_new_session_counts_on(database: &Database) {
    let (first, second) = database.open_two();
    let former = session(&first);
    let mut counted = counter();
    count(&first, &mut counted, "2026-01", 5);
    former.end().expect("ends");
    let _current = session(&first);
    count(&first, &mut counted, "2026-01", 2);
    assert_eq!((sum(&second).total, others(&first)), (7, 0));
    assert_eq!(second.fold_usage().expect("folds"), 1);
    count(&first, &mut counted, "2026-01", 1);
    assert_eq!((sum(&second).total, others(&first), others(&second)), (8, 0, 8));
}

fn a_charge_of_a_batch_that_fails_is_not_written(database: &Database) {
    let (store, other) = database.open_two();
    let mut counted = counter();
    count(&store, &mut counted, "2026-01", 5);
    let account = AccountRecord { account: AccountId::default(), created_at_ms: 1, suspended: false };
    let mut batch = store.batch();
    batch.create_account(&account).expect("encodes");
    store.commit(batch).expect("creates");
    let mut refused = store.batch();
    refused.create_account(&account).expect("encodes");
    let mut charged = counted.clone();
    charged.count("2026-01", 1);
    refused.charge(&charged).expect("encodes");
    assert!(matches!(store.commit(refused), Err(Error::ConditionFailed { column: Column::Accounts, .. })));
    assert_eq!(sum(&store).total, 5);
    // After a fold, the process does not take the refused unit for a written one.
    assert_eq!(other.fold_usage().expect("folds"), 1);
    count(&store, &mut counted, "2026-01", 1);
    assert_eq!(sum(&store).total, 6);
}

fn counts_and_folds_at_once_keep_the_sum(database: &Database) {
    let (first, second) = database.open_two();
    thread::scope(|scope| {
        let counting = scope.spawn(|| {
            let mut counted = counter();
            for _ in 0..100 {
                count(&first, &mut counted, "2026-01", 1);
                assert_eq!(others(&first), 0);
            }
        });
        while !counting.is_finished() {
            second.fold_usage().expect("folds");
        }
    });
    assert_eq!(sum(&second).total, 100);
    second.fold_usage().expect("folds");
    assert_eq!((sum(&second).total, records(&second)), (100, (1, 0)));
}

fn a_level_of_stored_bytes_has_no_parts(database: &Database) {
    let store = database.open("only");
    let level = UsageRecord { total: 9, ..UsageRecord::new(&AccountId::default(), Meter::MediaBytes) };
    store.put_usages(&[level]).expect("writes");
    assert_eq!(records(&store), (0, 0));
}
