//! Vectors of one model, each computed once.
//!
//! A vector is kept under the model and the hash of its text. Vectors of cues are stored by namespace, so that a
//! rebuild of the index needs no calls; vectors of queries are cached in memory by account. Vectors of an immediate model
//! are not kept.

use std::sync::Arc;
use std::time::Duration;

use cuebase_storage::records::VectorKey;
use cuebase_storage::{AccountId, NamespaceId, NamespaceKey, Store};
use half::f16;
use half::slice::HalfFloatSliceExt;

use super::deadline::Deadline;
use super::embedder::Embedder;
use super::error::ModelError;
use super::query_cache::QueryCache;
use crate::sha256::sha256;

/// Maximum number of queries with a cached vector: 16 MiB at 1,024 dimensions.
const CACHED_QUERIES_MAX: usize = 4096;
/// Maximum number of texts in one call to a model.
pub const BATCH_TEXTS: usize = 128;

/// A vector as it is stored, with its key.
pub type StoredVector = (VectorKey, Vec<u8>);

/// The vectors of one model.
pub struct Vectors {
    model: Arc<dyn Embedder>,
    store: Option<Arc<Store>>,
    /// Hash of the model's identity.
    key: [u8; 8],
    queries: QueryCache,
}

impl Vectors {
    /// Returns the vectors of a model. Without a store, only vectors of queries are kept.
    pub fn new(model: Arc<dyn Embedder>, store: Option<Arc<Store>>) -> Self {
        let mut key = [0; 8];
        key.copy_from_slice(&sha256(&[model.identity().as_bytes()])[..8]);
        Self { model, store, key, queries: QueryCache::new(CACHED_QUERIES_MAX) }
    }

    /// Returns the model.
    pub fn model(&self) -> &dyn Embedder {
        self.model.as_ref()
    }

    /// Returns the key of the model in the store.
    pub fn key(&self) -> [u8; 8] {
        self.key
    }

    /// Returns the vector of a cue if it is stored or the model is immediate. All zero if the model knows nothing in
    /// the text.
    pub fn available(&self, namespace: NamespaceId, text: &str) -> Option<Vec<f32>> {
        if self.model.is_immediate() {
            let mut vectors = self.model.embed(&[text], Deadline::background(Duration::ZERO)).ok()?;
            return vectors.pop();
        }
        self.stored(namespace, &self.key_of(text))
    }

    /// Embeds the texts whose vectors are not stored, and stores the vectors. Returns how many there were.
    ///
    /// Vectors computed before an error stay stored.
    pub fn prepare<'a>(
        &self,
        namespace: &NamespaceKey,
        texts: impl IntoIterator<Item = &'a str>,
        deadline: Deadline,
    ) -> Result<usize, ModelError> {
        let missing = self.missing(namespace.id, texts);
        for batch in missing.chunks(BATCH_TEXTS) {
            self.put(namespace, self.compute(batch, deadline)?)?;
        }
        Ok(missing.len())
    }

    /// Returns the texts whose vectors are not stored, each once; none for an immediate model.
    pub fn missing<'a>(
        &self,
        namespace: NamespaceId,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Vec<(&'a str, VectorKey)> {
        let Some(store) = &self.store else { return Vec::new() };
        if self.model.is_immediate() {
            return Vec::new();
        }
        let mut missing: Vec<(&str, VectorKey)> = texts.into_iter().map(|text| (text, self.key_of(text))).collect();
        missing.sort_unstable_by_key(|(_, key)| key.text);
        missing.dedup_by_key(|(_, key)| key.text);
        missing.retain(|(_, key)| !matches!(store.vector(namespace, key), Ok(Some(_))));
        missing
    }

    /// Embeds texts. Returns their vectors as they are stored.
    pub fn compute(&self, batch: &[(&str, VectorKey)], deadline: Deadline) -> Result<Vec<StoredVector>, ModelError> {
        let texts: Vec<&str> = batch.iter().map(|(text, _)| *text).collect();
        let vectors = self.model.embed(&texts, deadline)?;
        let mut stored = Vec::with_capacity(batch.len());
        for ((_, key), vector) in batch.iter().zip(&vectors) {
            stored.push((*key, to_bytes(vector)));
        }
        Ok(stored)
    }

    /// Stores vectors that [`Self::compute`] returned.
    pub fn put(&self, namespace: &NamespaceKey, vectors: Vec<StoredVector>) -> Result<(), ModelError> {
        let Some(store) = &self.store else { return Ok(()) };
        store.put_vectors(namespace, vectors).map_err(|error| ModelError::unavailable(error.to_string()))
    }

    /// Returns the vector of a query of an account, from the cache if possible.
    pub fn of_query(&self, account: &AccountId, text: &str, deadline: Deadline) -> Result<Arc<Vec<f32>>, ModelError> {
        if self.model.is_immediate() {
            return Ok(Arc::new(self.embed_one(text, deadline)?));
        }
        let key = sha256(&[text.as_bytes()]);
        if let Some(cached) = self.queries.get(account, &key) {
            return Ok(cached);
        }
        let vector = Arc::new(self.embed_one(text, deadline)?);
        self.queries.insert(account, key, Arc::clone(&vector));
        Ok(vector)
    }

    fn embed_one(&self, text: &str, deadline: Deadline) -> Result<Vec<f32>, ModelError> {
        match self.model.embed(&[text], deadline)?.pop() {
            Some(vector) => Ok(vector),
            None => Err(ModelError::Unusable("no vector for one text".into())),
        }
    }

    fn stored(&self, namespace: NamespaceId, key: &VectorKey) -> Option<Vec<f32>> {
        let bytes = self.store.as_ref()?.vector(namespace, key).ok()??;
        from_bytes(&bytes, self.model.filled_dimensions())
    }

    fn key_of(&self, text: &str) -> VectorKey {
        VectorKey { model: self.key, text: sha256(&[text.as_bytes()]) }
    }
}

/// Encodes a vector in half precision, which is more than the index keeps. A vector of zeros is empty.
fn to_bytes(vector: &[f32]) -> Vec<u8> {
    if vector.iter().all(|value| *value == 0.0) {
        return Vec::new();
    }
    let mut bytes = Vec::with_capacity(2 * vector.len());
    for value in vector {
        bytes.extend_from_slice(&f16::from_f32(*value).to_le_bytes());
    }
    bytes
}

/// Decodes a vector. Returns `None` if the bytes have another length.
fn from_bytes(bytes: &[u8], dimensions: usize) -> Option<Vec<f32>> {
    let mut vector = vec![0.0; dimensions];
    if bytes.is_empty() {
        return Some(vector);
    }
    let (halves, rest) = bytes.as_chunks::<2>();
    if halves.len() != dimensions || !rest.is_empty() {
        return None;
    }
    let halves: Vec<f16> = halves.iter().map(|half| f16::from_le_bytes(*half)).collect();
    halves.convert_to_f32_slice(&mut vector);
    Some(vector)
}

#[cfg(test)]
mod tests {
    use cuebase_storage::NamespaceName;
    use ulid::Ulid;

    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A model that counts its texts and calls.
    #[derive(Default)]
    struct Counting {
        texts: AtomicUsize,
        calls: AtomicUsize,
    }

    impl Embedder for Counting {
        fn identity(&self) -> &str {
            "counting"
        }

        fn filled_dimensions(&self) -> usize {
            2
        }

        fn embed(&self, texts: &[&str], _: Deadline) -> Result<Vec<Vec<f32>>, ModelError> {
            self.texts.fetch_add(texts.len(), Ordering::SeqCst);
            self.calls.fetch_add(1, Ordering::SeqCst);
            Ok(texts.iter().map(|text| vec![if text.is_empty() { 0.0 } else { 1.0 }, 0.0]).collect())
        }
    }

    #[test]
    fn no_text_is_embedded_twice_and_a_batch_is_one_call() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Arc::new(Store::open(folder.path()).expect("opens"));
        let model = Arc::new(Counting::default());
        let vectors = Vectors::new(model.clone(), Some(store));
        let (a, b) = (NamespaceId::new(Ulid::from(1)), NamespaceId::new(Ulid::from(2)));
        let key = NamespaceKey { account: AccountId::default(), name: NamespaceName::default(), id: a };
        let deadline = || Deadline::background(Duration::from_secs(1));
        assert_eq!(vectors.available(a, "one"), None);
        assert_eq!(vectors.prepare(&key, ["one", "two", "one", ""], deadline()), Ok(3));
        assert_eq!(vectors.prepare(&key, ["two", "three"], deadline()), Ok(1));
        assert_eq!((model.texts.load(Ordering::SeqCst), model.calls.load(Ordering::SeqCst)), (4, 2));
        assert_eq!(vectors.available(a, "one"), Some(vec![1.0, 0.0]));
        assert_eq!(vectors.available(a, ""), Some(vec![0.0, 0.0]));
        assert_eq!(vectors.available(b, "one"), None, "the vector belongs to another namespace");
        for _ in 0..3 {
            vectors.of_query(&key.account, "who?", deadline()).expect("a vector");
        }
        assert_eq!(model.texts.load(Ordering::SeqCst), 5);
    }

    #[test]
    fn a_query_of_another_account_is_embedded_again() {
        let model = Arc::new(Counting::default());
        let vectors = Vectors::new(model.clone(), None);
        for (account, texts) in [("a", 1), ("b", 2), ("a", 2), ("b", 2)] {
            let account = AccountId::new(account).expect("is valid");
            vectors.of_query(&account, "who?", Deadline::background(Duration::from_secs(1))).expect("a vector");
            assert_eq!(model.texts.load(Ordering::SeqCst), texts);
        }
    }

    #[test]
    fn vectors_are_stored_in_half_precision() {
        let vector = [0.1f32, -0.7, 0.707];
        let decoded = from_bytes(&to_bytes(&vector), 3).expect("reads");
        assert!(vector.iter().zip(&decoded).all(|(a, b)| (a - b).abs() < 5e-4));
        assert_eq!(from_bytes(&to_bytes(&vector), 4), None);
    }
}
