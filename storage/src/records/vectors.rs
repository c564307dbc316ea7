//! The vectors that were made of texts, so that no text is embedded twice by one model for one account.

use super::Store;
use crate::error::Result;
use crate::key_value::columns::prefix;
use crate::key_value::{Batch, Column, Durability};

/// Bytes of a model's name in a key.
const MODEL_BYTES: usize = 8;

/// Which text, embedded by which model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VectorKey {
    /// The beginning of the SHA-256 of the model's identity.
    pub model: [u8; MODEL_BYTES],
    /// The SHA-256 of the text.
    pub text: [u8; 32],
}

impl VectorKey {
    fn below(&self, account: &str) -> Vec<u8> {
        [&prefix(&[account])[..], &self.model, &self.text].concat()
    }
}

impl Store {
    /// The bytes of a vector that was made before.
    pub fn vector(&self, account: &str, key: &VectorKey) -> Result<Option<Vec<u8>>> {
        self.kv.get(Column::Vectors, &key.below(account))
    }

    /// Keeps vectors. Buffered: after a loss of power they are made again.
    pub fn put_vectors(&self, account: &str, vectors: Vec<(VectorKey, Vec<u8>)>) -> Result<()> {
        let mut batch = Batch::new();
        for (key, bytes) in vectors {
            batch.put(Column::Vectors, key.below(account), bytes);
        }
        self.kv.write(batch, Durability::Buffered)
    }

    /// Drops every account's vectors that are of none of these models. Returns how many went.
    pub fn drop_vectors_but(&self, models: &[[u8; MODEL_BYTES]]) -> Result<usize> {
        let mut gone = 0;
        let mut after: Option<Vec<u8>> = None;
        loop {
            let entries = self.kv.scan(Column::Vectors, b"", after.as_deref(), SWEPT_AT_ONCE)?;
            let Some((last, _)) = entries.last() else { return Ok(gone) };
            after = Some(last.clone());
            let mut batch = Batch::new();
            for (key, _) in entries {
                // No account's id holds a NUL.
                let at = key.iter().position(|byte| *byte == 0).map_or(key.len(), |at| at + 1);
                if key.get(at..at + MODEL_BYTES).is_some_and(|model| !models.iter().any(|kept| kept == model)) {
                    batch.delete(Column::Vectors, key);
                    gone += 1;
                }
            }
            self.kv.write(batch, Durability::Buffered)?;
        }
    }

    pub(super) fn drop_vectors(&self, batch: &mut Batch, account: &str) -> Result<()> {
        for (key, _) in self.kv.scan(Column::Vectors, &prefix(&[account]), None, usize::MAX)? {
            batch.delete(Column::Vectors, key);
        }
        Ok(())
    }
}

/// Entries that are looked at in one go, so that a sweep needs little memory.
const SWEPT_AT_ONCE: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_kept_by_account_model_and_text_and_swept_by_model() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Store::open(folder.path()).expect("opens");
        let key = |model: u8, text: u8| VectorKey { model: [model; 8], text: [text; 32] };
        let put = |account: &str, key| store.put_vectors(account, vec![(key, vec![1, 2])]).expect("writes");
        put("a", key(1, 1));
        put("a", key(2, 1));
        put("b", key(0, 7));
        assert_eq!(store.vector("a", &key(1, 1)).expect("reads"), Some(vec![1, 2]));
        assert_eq!(store.vector("b", &key(1, 1)).expect("reads"), None);
        assert_eq!(store.drop_vectors_but(&[[2; 8]]).expect("sweeps"), 2);
        assert_eq!(store.vector("a", &key(1, 1)).expect("reads"), None);
        assert_eq!(store.vector("a", &key(2, 1)).expect("reads"), Some(vec![1, 2]));
    }
}
