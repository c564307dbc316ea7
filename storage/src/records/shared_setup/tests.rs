//! The checks as a whole on a PostgreSQL server, and concurrent first starts in memory and on the server.

use std::sync::Arc;
use std::thread;

use super::identity::check_identity;
use super::{SetupError, UnsafeDatabase, check_cluster};
use crate::bucket::Bucket;
use crate::key_value::postgres_engine::test_database::TestDatabase;
use crate::key_value::{Engine, MemoryEngine, PostgresEngine};
use crate::records::Store;

/// Each node checks its own store and the common bucket at the same time as the others.
fn check_at_once(stores: &[Store]) {
    let bucket = Bucket::in_memory().expect("creates");
    thread::scope(|scope| {
        let mut checks = Vec::new();
        for store in stores {
            let bucket = &bucket;
            checks.push(scope.spawn(move || check_identity(store, bucket)));
        }
        for check in checks {
            check.join().expect("ends").expect("a first start succeeds");
        }
    });
    let objects = bucket.list("").expect("lists");
    assert_eq!(objects.len(), 1, "{objects:?}");
    for store in stores {
        check_identity(store, &bucket).expect("a later start succeeds");
    }
}

#[test]
fn first_starts_of_three_nodes_at_once_succeed() {
    for _ in 0..50 {
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
        let mut stores = Vec::new();
        for _ in 0..3 {
            stores.push(Store::open_shared(Arc::clone(&engine)).expect("opens"));
        }
        check_at_once(&stores);
    }
}

mod in_postgres {
    use super::*;

    #[test]
    #[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
    fn first_starts_of_three_nodes_at_once_succeed() {
        let database = TestDatabase::create();
        let mut stores = Vec::new();
        for process in ["first", "second", "third"] {
            stores.push(Store::open_shared(Arc::new(database.engine(process))).expect("opens"));
        }
        check_at_once(&stores);
    }

    /// The server of the script has no standby, and the clock of this machine.
    #[test]
    #[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
    fn a_server_without_a_standby_is_refused_unless_allowed() {
        let database = TestDatabase::create();
        let engine = Arc::new(database.engine("one"));
        let store = Store::open_shared(engine.clone()).expect("opens");
        let bucket = Bucket::in_memory().expect("creates");
        let refused = check_cluster(&engine, &store, &bucket, UnsafeDatabase::Refused);
        assert!(
            matches!(refused, Err(SetupError::UnsafeWrites { .. } | SetupError::NoSynchronousStandby)),
            "{refused:?}"
        );
        assert!(bucket.list("").expect("lists").is_empty());
        check_cluster(&engine, &store, &bucket, UnsafeDatabase::Allowed).expect("is allowed");
        assert_eq!(bucket.list("").expect("lists").len(), 1);
    }

    #[test]
    #[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
    fn the_facts_of_a_server_are_those_of_the_connection() {
        let database = TestDatabase::create();
        let facts = database.engine("one").server_facts().expect("reads");
        assert!(facts.version_number >= 130_000 && !facts.is_in_recovery, "{facts:?}");
        assert_eq!(facts.synchronous_standby_names, "");
        assert!(["on", "off"].contains(&facts.fsync.as_str()), "{facts:?}");
        assert!(["on", "off"].contains(&facts.full_page_writes.as_str()), "{facts:?}");
        assert!(facts.clocks.tolerance_ms >= 0 && facts.clocks.ahead_ms().abs() < 5_000, "{facts:?}");
        let weak = database.url().replace("options='", "options='-c synchronous_commit=local ");
        let facts = PostgresEngine::open(&weak, "two").expect("opens").server_facts().expect("reads");
        assert_eq!(facts.synchronous_commit, "local");
    }
}
