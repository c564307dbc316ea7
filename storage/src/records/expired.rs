//! Deletions of records that were read as expired, under the condition that they are unchanged.

use super::store::Store;
use crate::error::{Error, Result};
use crate::key_value::{Batch, Column, Durability, KeyValuePair};

/// Maximum number of records that one batch deletes.
const BATCH_RECORDS: usize = 1000;

impl Store {
    /// Deletes those of the records that are still as they were read, and the records with the same keys in other
    /// columns. Returns the number deleted. A record that another caller or node replaced meanwhile is kept.
    pub(super) fn delete_unchanged(&self, column: Column, others: &[Column], read: &[KeyValuePair]) -> Result<usize> {
        let mut deleted = 0;
        for records in read.chunks(BATCH_RECORDS) {
            deleted += self.delete_batch(column, others, records.iter().collect())?;
        }
        Ok(deleted)
    }

    fn delete_batch(&self, column: Column, others: &[Column], mut records: Vec<&KeyValuePair>) -> Result<usize> {
        while !records.is_empty() {
            let mut batch = Batch::new();
            for (key, value) in &records {
                batch.expect(column, key.clone(), Some(value.clone()));
                batch.delete(column, key.clone());
                for other in others {
                    batch.delete(*other, key.clone());
                }
            }
            let changed = match self.kv.write(&batch, Durability::Buffered) {
                Ok(()) => return Ok(records.len()),
                Err(Error::ConditionFailed { key, .. }) => key,
                Err(error) => return Err(error),
            };
            // At least this record leaves the batch, so the loop ends.
            records.retain(|(key, _)| *key != changed);
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_changed_since_it_was_read_is_kept() {
        let store = Store::in_memory().expect("creates");
        let mut batch = Batch::new();
        for key in ["a", "b", "c"] {
            batch.put(Column::DeadLetters, key, "old").put(Column::DeadLetterWork, key, "work");
        }
        store.kv.write(&batch, Durability::Buffered).expect("writes");
        let read = store.kv.scan(Column::DeadLetters, b"", None, usize::MAX).expect("reads");
        let mut batch = Batch::new();
        batch.put(Column::DeadLetters, "a", "new").delete(Column::DeadLetters, "c");
        store.kv.write(&batch, Durability::Buffered).expect("writes");
        let deleted = store.delete_unchanged(Column::DeadLetters, &[Column::DeadLetterWork], &read);
        assert_eq!(deleted.expect("deletes"), 1);
        let kept = store.kv.scan(Column::DeadLetters, b"", None, usize::MAX).expect("reads");
        assert_eq!(kept, [(b"a".to_vec(), b"new".to_vec())]);
        for (key, is_kept) in [("a", true), ("b", false), ("c", true)] {
            let work = store.kv.get(Column::DeadLetterWork, key.as_bytes()).expect("reads");
            assert_eq!(work.is_some(), is_kept, "{key}");
        }
    }
}
