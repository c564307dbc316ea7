//! A mark that changes with each revocation, if several nodes share the database.
//!
//! A node remembers callers that it authorized. It reads the mark several times a second, and forgets the callers once
//! the mark has changed. A data directory of one process has no mark: the process itself makes every revocation.

use ulid::Ulid;

use super::batch::RecordBatch;
use super::ownership::Fences;
use super::store::Store;
use crate::error::Result;
use crate::key_value::Column;

/// Key in [`Column::Meta`]: the mark.
const MARK_KEY: &[u8] = b"cluster-revocation";

/// The mark of the last revocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevocationMark(Vec<u8>);

impl Store {
    /// Returns the mark of the last revocation. `None` if there was none.
    pub fn revocation_mark(&self) -> Result<Option<RevocationMark>> {
        Ok(self.kv.get(Column::Meta, MARK_KEY)?.map(RevocationMark))
    }
}

impl RecordBatch<'_> {
    /// Makes other nodes forget the callers that they authorized. To be part of each batch that takes access away.
    pub fn mark_revocation(&mut self) {
        if matches!(self.store.fences, Fences::Shared(_)) {
            // No earlier mark is expected, so that revocations at the same time do not fail each other.
            self.changes.put(Column::Meta, MARK_KEY, Ulid::generate().to_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::key_value::MemoryEngine;

    fn mark_once_more(store: &Store) -> Option<RevocationMark> {
        let mut batch = store.batch();
        batch.mark_revocation();
        store.commit(batch).expect("writes");
        store.revocation_mark().expect("reads")
    }

    #[test]
    fn every_revocation_changes_the_mark_of_a_shared_database() {
        let store = Store::open_shared(Arc::new(MemoryEngine::new())).expect("opens");
        assert_eq!(store.revocation_mark().expect("reads"), None);
        let first = mark_once_more(&store);
        assert!(first.is_some());
        assert_ne!(mark_once_more(&store), first);
    }

    #[test]
    fn a_data_directory_of_one_process_has_no_mark() {
        assert_eq!(mark_once_more(&Store::in_memory().expect("creates")), None);
    }
}
