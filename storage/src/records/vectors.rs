//! The cache of embedding vectors, so that a model embeds each text only once per namespace.

use super::store::Store;
use crate::error::{Error, Result};
use crate::identity::{NamespaceId, NamespaceKey};
use crate::key_value::{Batch, Column, Durability};

/// Length of a namespace's id in a key, in bytes.
const NAMESPACE_BYTES: usize = 16;

/// Length of a model's hash in a key, in bytes.
const MODEL_BYTES: usize = 8;

/// The key of a cached vector within a namespace: a model and a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VectorKey {
    /// The first 8 bytes of the SHA-256 of the model's identity.
    pub model: [u8; MODEL_BYTES],
    /// The SHA-256 of the text.
    pub text: [u8; 32],
}

impl VectorKey {
    fn in_namespace(&self, namespace: NamespaceId) -> Vec<u8> {
        [&namespace.to_bytes()[..], &self.model, &self.text].concat()
    }
}

impl Store {
    /// Returns the bytes of a cached vector.
    pub fn vector(&self, namespace: NamespaceId, key: &VectorKey) -> Result<Option<Vec<u8>>> {
        self.kv.get(Column::Vectors, &key.in_namespace(namespace))
    }

    /// Caches vectors. Buffered: vectors lost with the power are computed again.
    pub fn put_vectors(&self, namespace: &NamespaceKey, vectors: Vec<(VectorKey, Vec<u8>)>) -> Result<()> {
        let mut batch = self.batch();
        batch.require_held(namespace.clone());
        for (key, bytes) in vectors {
            batch.changes.put(Column::Vectors, key.in_namespace(namespace.id), bytes);
        }
        self.commit(batch)
    }

    /// Returns the keys of the cached vectors of some texts, given by their hashes, with any model.
    pub(super) fn vector_keys_of(&self, namespace: NamespaceId, texts: &[[u8; 32]]) -> Result<Vec<Vec<u8>>> {
        let mut keys = Vec::new();
        let mut after: Option<Vec<u8>> = None;
        while let Some((found, _)) = self.kv.scan(Column::Vectors, &namespace.to_bytes(), after.as_deref(), 1)?.pop() {
            let pair = found.get(..NAMESPACE_BYTES + MODEL_BYTES).unwrap_or(&found).to_vec();
            for text in texts {
                let key = [&pair[..], text].concat();
                if self.kv.get(Column::Vectors, &key)?.is_some() {
                    keys.push(key);
                }
            }
            // Sorts after the hash of every text.
            after = Some([&pair[..], &[0xff; 33]].concat());
        }
        Ok(keys)
    }

    /// Deletes the vectors of all models except the given ones, in all namespaces that this process owns. A process that
    /// shares the database with nobody owns all. Returns the number of deleted pairs of namespace and model. Takes one
    /// lookup per pair, independent of the number of vectors.
    pub fn drop_vectors_except(&self, models: &[[u8; MODEL_BYTES]]) -> Result<usize> {
        let mut deleted = 0;
        for owned in self.fences.held_prefixes() {
            let mut after: Option<Vec<u8>> = None;
            while let Some((key, _)) = self.kv.scan(Column::Vectors, &owned, after.as_deref(), 1)?.pop() {
                let pair = key.get(..NAMESPACE_BYTES + MODEL_BYTES).unwrap_or(&key).to_vec();
                // Sorts after the hash of every text.
                after = Some([&pair[..], &[0xff; 33]].concat());
                if !models.iter().any(|kept| pair.ends_with(kept)) {
                    deleted += self.drop_vectors_of(pair)?;
                }
            }
        }
        Ok(deleted)
    }

    /// Deletes the vectors of a pair of namespace and model. Returns the number of deleted pairs: none if another node
    /// has claimed the namespace.
    fn drop_vectors_of(&self, pair: Vec<u8>) -> Result<usize> {
        let mut batch = Batch::new();
        if let Some(namespace) = NamespaceId::at_start_of(&pair)
            && !self.fences.expect_if_held(&mut batch, namespace)
        {
            return Ok(0);
        }
        batch.delete_prefix(Column::Vectors, pair);
        match self.kv.write(&batch, Durability::Buffered) {
            Ok(()) => Ok(1),
            Err(Error::ConditionFailed { .. }) => Ok(0),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;
    use crate::identity::{AccountId, NamespaceName};

    #[test]
    fn vectors_are_cached_by_namespace_model_and_text_and_deleted_by_model() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Store::open(folder.path()).expect("opens");
        let key = |model: u8, text: u8| VectorKey { model: [model; 8], text: [text; 32] };
        let (a, b) = (NamespaceId::new(Ulid::from(1)), NamespaceId::new(Ulid::from(2)));
        let put = |id, key| {
            let namespace = NamespaceKey { account: AccountId::default(), name: NamespaceName::default(), id };
            store.put_vectors(&namespace, vec![(key, vec![1, 2])]).expect("writes");
        };
        put(a, key(1, 1));
        put(a, key(2, 1));
        put(b, key(0, 7));
        assert_eq!(store.vector(a, &key(1, 1)).expect("reads"), Some(vec![1, 2]));
        assert_eq!(store.vector(b, &key(1, 1)).expect("reads"), None);
        assert_eq!(store.drop_vectors_except(&[[2; 8]]).expect("deletes"), 2);
        assert_eq!(store.vector(a, &key(1, 1)).expect("reads"), None);
        assert_eq!(store.vector(a, &key(2, 1)).expect("reads"), Some(vec![1, 2]));
    }
}
