//! The secrets of a data directory, by name (see [`Column::Meta`]).

use zeroize::Zeroizing;

use super::batch::RecordBatch;
use super::store::Store;
use crate::error::{Error, Result};
use crate::key_value::Column;

impl Store {
    /// Returns a secret of this data directory by its name (see [`Column::Meta`]). `None` if none is stored yet.
    pub fn secret(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
        match self.kv.get(Column::Meta, name.as_bytes())? {
            Some(secret) => Ok(Some(secret.into())),
            None => Ok(None),
        }
    }

    /// Stores a secret of this data directory unless one of that name is stored. Returns the stored one, which is
    /// durable.
    pub fn put_secret_if_absent(&self, name: &str, secret: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        loop {
            let mut batch = self.batch();
            batch.put_secret(name, secret);
            match self.commit_synced(batch) {
                Ok(()) => return Ok(Zeroizing::new(secret.to_vec())),
                Err(Error::ConditionFailed { .. }) => {}
                Err(error) => return Err(error),
            }
            if let Some(earlier) = self.secret(name)? {
                // The sync of the call that stored it may not be complete.
                self.kv.sync()?;
                return Ok(earlier);
            }
        }
    }
}

impl RecordBatch<'_> {
    /// Stores a secret of the data directory. The commit fails if one of that name is stored.
    pub fn put_secret(&mut self, name: &str, secret: &[u8]) {
        self.changes.put_if_absent(Column::Meta, name, secret);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_stored_once_and_returned_to_later_callers() {
        let store = Store::in_memory().expect("creates");
        assert_eq!(store.secret("media").expect("reads"), None);
        assert_eq!(store.put_secret_if_absent("media", b"first").expect("stores").as_slice(), b"first");
        assert_eq!(store.put_secret_if_absent("media", b"second").expect("reads").as_slice(), b"first");
        assert_eq!(store.secret("media").expect("reads").expect("is stored").as_slice(), b"first");
        let mut batch = store.batch();
        batch.put_secret("media", b"third");
        assert!(matches!(store.commit(batch), Err(Error::ConditionFailed { .. })));
    }
}
