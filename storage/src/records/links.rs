//! Unused sign-in links, by the hash of their code. A link is used by deleting its record, which only one caller can do.

use serde::{Deserialize, Serialize};

use super::batch::RecordBatch;
use super::store::{Store, decode};
use super::stored::Stored;
use crate::error::{Error, Result};
use crate::identity::AccountId;
use crate::key_value::{Batch, Column, Durability};

/// An unused sign-in link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// The account that the link signs in.
    pub account: AccountId,
    /// When the link stops being valid, milliseconds since the epoch.
    pub expires_at_ms: i64,
}

impl RecordBatch<'_> {
    /// Adds a link, by the SHA-256 of its code. The commit fails if there is one of that code.
    pub fn create_link(&mut self, code_sha256: &[u8; 32], record: &LinkRecord) -> Result<()> {
        self.create(Column::Links, code_sha256, record)
    }
}

impl Store {
    /// Deletes the link with a code and returns it. The deletion is durable on return. `None` if there is none, or if
    /// another caller used it. The caller compares the time.
    pub fn redeem_link(&self, code_sha256: &[u8; 32]) -> Result<Option<LinkRecord>> {
        let stored: Stored<LinkRecord> = self.get_stored(Column::Links, code_sha256)?;
        let Some(record) = stored.record else { return Ok(None) };
        let mut batch = Batch::new();
        batch.expect(Column::Links, *code_sha256, stored.bytes);
        batch.delete(Column::Links, *code_sha256);
        match self.kv.write(&batch, Durability::Synced) {
            Ok(()) => Ok(Some(record)),
            Err(Error::ConditionFailed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes the links that are no longer valid at a time, in milliseconds since the epoch. Returns the number deleted.
    pub fn purge_links(&self, now_ms: i64) -> Result<usize> {
        let mut expired = Vec::new();
        for entry in self.kv.read_all(Column::Links) {
            let (key, value) = entry?;
            if expires_at_ms(&value) <= now_ms {
                expired.push((key, value));
            }
        }
        self.delete_unchanged(Column::Links, &[], &expired)
    }

    /// Deletes the links that expire first, so that at most `kept_max` are left.
    pub fn limit_links(&self, kept_max: usize) -> Result<()> {
        let mut links = self.kv.scan(Column::Links, b"", None, usize::MAX)?;
        let excess = links.len().saturating_sub(kept_max);
        if excess == 0 {
            return Ok(());
        }
        links.sort_by_cached_key(|(_, value)| expires_at_ms(value));
        links.truncate(excess);
        self.delete_unchanged(Column::Links, &[], &links)?;
        Ok(())
    }
}

/// When a stored link stops being valid. One that cannot be decoded never was.
fn expires_at_ms(value: &[u8]) -> i64 {
    match decode::<LinkRecord>(Column::Links, value) {
        Ok(link) => link.expires_at_ms,
        Err(_) => i64::MIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(store: &Store, code: u8, expires_at_ms: i64) {
        let mut batch = store.batch();
        let record = LinkRecord { account: AccountId::default(), expires_at_ms };
        batch.create_link(&[code; 32], &record).expect("encodes");
        store.commit(batch).expect("creates");
    }

    fn exists(store: &Store, code: u8) -> bool {
        store.kv.get(Column::Links, &[code; 32]).expect("reads").is_some()
    }

    #[test]
    fn a_link_is_used_once_by_one_of_several_callers() {
        let store = Store::in_memory().expect("creates");
        for code in 0..50 {
            create(&store, code, 10);
            let mut used = 0;
            std::thread::scope(|scope| {
                let mut callers = Vec::new();
                for _ in 0..4 {
                    callers.push(scope.spawn(|| store.redeem_link(&[code; 32]).expect("redeems")));
                }
                for caller in callers {
                    used += usize::from(caller.join().expect("ends").is_some());
                }
            });
            assert_eq!(used, 1);
        }
    }

    #[test]
    fn expired_and_excess_links_are_deleted() {
        let store = Store::in_memory().expect("creates");
        for code in 1..=4 {
            create(&store, code, 10 * i64::from(code));
        }
        assert_eq!(store.purge_links(9).expect("purges"), 0);
        assert_eq!(store.purge_links(10).expect("purges"), 1);
        assert!(!exists(&store, 1) && exists(&store, 2));
        store.limit_links(3).expect("limits");
        assert!(exists(&store, 2));
        store.limit_links(1).expect("limits");
        assert!(!exists(&store, 2) && !exists(&store, 3) && exists(&store, 4));
    }
}
