//! The vectors that were made of texts, so that no text is embedded twice by one model for one namespace.

use super::{NamespaceId, Store};
use crate::error::Result;
use crate::key_value::{Batch, Column, Durability};

/// Bytes of a namespace's id in a key.
const NAMESPACE_BYTES: usize = 16;

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
    fn below(&self, namespace: NamespaceId) -> Vec<u8> {
        [&namespace.to_bytes()[..], &self.model, &self.text].concat()
    }
}

impl Store {
    /// The bytes of a vector that was made before.
    pub fn vector(&self, namespace: NamespaceId, key: &VectorKey) -> Result<Option<Vec<u8>>> {
        self.kv.get(Column::Vectors, &key.below(namespace))
    }

    /// Keeps vectors. Buffered: after a loss of power they are made again.
    pub fn put_vectors(&self, namespace: NamespaceId, vectors: Vec<(VectorKey, Vec<u8>)>) -> Result<()> {
        let mut batch = Batch::new();
        for (key, bytes) in vectors {
            batch.put(Column::Vectors, key.below(namespace), bytes);
        }
        self.kv.write(&batch, Durability::Buffered)
    }

    /// Drops every namespace's vectors that are of none of these models. Returns of how many models, each namespace's
    /// counted by itself. Takes one look-up for each of them, however many vectors they have.
    pub fn drop_vectors_but(&self, models: &[[u8; MODEL_BYTES]]) -> Result<usize> {
        let mut batch = Batch::new();
        let (mut gone, mut after) = (0, None::<Vec<u8>>);
        while let Some((key, _)) = self.kv.scan(Column::Vectors, b"", after.as_deref(), 1)?.pop() {
            let group = key.get(..NAMESPACE_BYTES + MODEL_BYTES).unwrap_or(&key).to_vec();
            // No text's hash sorts after this.
            after = Some([&group[..], &[0xff; 33]].concat());
            if !models.iter().any(|kept| group.ends_with(kept)) {
                batch.delete_below(Column::Vectors, group);
                gone += 1;
            }
        }
        self.kv.write(&batch, Durability::Buffered)?;
        Ok(gone)
    }
}

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;

    #[test]
    fn vectors_are_kept_by_namespace_model_and_text_and_swept_by_model() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Store::open(folder.path()).expect("opens");
        let key = |model: u8, text: u8| VectorKey { model: [model; 8], text: [text; 32] };
        let (a, b) = (NamespaceId::new(Ulid::from(1)), NamespaceId::new(Ulid::from(2)));
        let put = |namespace, key| store.put_vectors(namespace, vec![(key, vec![1, 2])]).expect("writes");
        put(a, key(1, 1));
        put(a, key(2, 1));
        put(b, key(0, 7));
        assert_eq!(store.vector(a, &key(1, 1)).expect("reads"), Some(vec![1, 2]));
        assert_eq!(store.vector(b, &key(1, 1)).expect("reads"), None);
        assert_eq!(store.drop_vectors_but(&[[2; 8]]).expect("sweeps"), 2);
        assert_eq!(store.vector(a, &key(1, 1)).expect("reads"), None);
        assert_eq!(store.vector(a, &key(2, 1)).expect("reads"), Some(vec![1, 2]));
    }
}
