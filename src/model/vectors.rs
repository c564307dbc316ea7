//! Vectors of one model, each made once.
//!
//! A text's vector is remembered by the model and the hash of the text: those of cues in the store, by namespace, so that
//! a rebuilt index asks nobody; those of queries in memory. What a model makes in microseconds is not remembered.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use cuebase_storage::Store;
use cuebase_storage::records::{NamespaceId, VectorKey};
use half::f16;
use half::slice::HalfFloatSliceExt;

use super::{Deadline, Embedder, ModelError};

/// Queries whose vectors are remembered; at 1,024 dimensions 16 MiB.
const QUERIES_REMEMBERED: u64 = 4096;
/// Texts that go out as one call.
pub const BATCH_TEXTS: usize = 128;

/// Vectors of one model.
pub struct Vectors {
    model: Arc<dyn Embedder>,
    store: Option<Arc<Store>>,
    key: [u8; 8],
    queries: moka::sync::Cache<[u8; 32], Arc<Vec<f32>>>,
}

impl Vectors {
    /// A model's vectors, remembered in a store where one is given.
    pub fn new(model: Arc<dyn Embedder>, store: Option<Arc<Store>>) -> Self {
        let mut key = [0; 8];
        key.copy_from_slice(&hash(model.identity())[..8]);
        Self { model, store, key, queries: moka::sync::Cache::new(QUERIES_REMEMBERED) }
    }

    /// The model.
    pub fn model(&self) -> &dyn Embedder {
        self.model.as_ref()
    }

    /// What stands for the model in the store's keys.
    pub fn key(&self) -> [u8; 8] {
        self.key
    }

    /// A cue's vector, where it can be had without asking the model anew; all zero where the model knows nothing in it.
    pub fn at_hand(&self, namespace: NamespaceId, text: &str) -> Option<Vec<f32>> {
        if self.model.is_immediate() {
            let made = self.model.embed(&[text], Deadline::of_work(Duration::ZERO));
            return made.ok().and_then(|mut vectors| vectors.pop());
        }
        self.remembered(namespace, &self.key_of(text))
    }

    /// Has the model make and the store keep the vectors that are not at hand. Returns how many were made.
    ///
    /// What was made before a failure is kept.
    pub fn prepare<'a>(
        &self,
        namespace: NamespaceId,
        texts: impl IntoIterator<Item = &'a str>,
        deadline: Deadline,
    ) -> Result<usize, ModelError> {
        let Some(store) = self.store.as_ref().filter(|_| !self.model.is_immediate()) else { return Ok(0) };
        let mut missing: Vec<(&str, VectorKey)> = texts.into_iter().map(|text| (text, self.key_of(text))).collect();
        missing.sort_unstable_by_key(|(_, key)| key.text);
        missing.dedup_by_key(|(_, key)| key.text);
        missing.retain(|(_, key)| !matches!(store.vector(namespace, key), Ok(Some(_))));
        for batch in missing.chunks(BATCH_TEXTS) {
            let texts: Vec<&str> = batch.iter().map(|(text, _)| *text).collect();
            let made = self.model.embed(&texts, deadline)?;
            let kept = batch.iter().zip(&made).map(|((_, key), vector)| (*key, to_bytes(vector))).collect();
            store.put_vectors(namespace, kept).map_err(|error| ModelError::unavailable(error.to_string()))?;
        }
        Ok(missing.len())
    }

    /// A query's vector.
    pub fn of_query(&self, text: &str, deadline: Deadline) -> Result<Arc<Vec<f32>>, ModelError> {
        if self.model.is_immediate() {
            return Ok(Arc::new(self.one(text, deadline)?));
        }
        let key = hash(text);
        if let Some(known) = self.queries.get(&key) {
            return Ok(known);
        }
        let made = Arc::new(self.one(text, deadline)?);
        self.queries.insert(key, Arc::clone(&made));
        Ok(made)
    }

    fn one(&self, text: &str, deadline: Deadline) -> Result<Vec<f32>, ModelError> {
        let made = self.model.embed(&[text], deadline)?.pop();
        made.ok_or_else(|| ModelError::Unusable("no vector for one text".into()))
    }

    fn remembered(&self, namespace: NamespaceId, key: &VectorKey) -> Option<Vec<f32>> {
        let bytes = self.store.as_ref()?.vector(namespace, key).ok()??;
        from_bytes(&bytes, self.model.filled_dimensions())
    }

    fn key_of(&self, text: &str) -> VectorKey {
        VectorKey { model: self.key, text: hash(text) }
    }
}

fn hash(text: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    hash
}

/// Half precision: the index keeps less than that.
fn to_bytes(vector: &[f32]) -> Vec<u8> {
    if vector.iter().all(|value| *value == 0.0) {
        return Vec::new();
    }
    vector.iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect()
}

/// None when the bytes are of another length.
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
    use ulid::Ulid;

    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Makes a vector of a text's length and counts what it is asked.
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
    fn nothing_is_made_twice_and_a_batch_is_one_call() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Arc::new(Store::open(folder.path()).expect("opens"));
        let model = Arc::new(Counting::default());
        let vectors = Vectors::new(model.clone(), Some(store));
        let (a, b) = (NamespaceId::new(Ulid::from(1)), NamespaceId::new(Ulid::from(2)));
        let deadline = || Deadline::of_work(Duration::from_secs(1));
        assert_eq!(vectors.at_hand(a, "one"), None);
        assert_eq!(vectors.prepare(a, ["one", "two", "one", ""], deadline()), Ok(3));
        assert_eq!(vectors.prepare(a, ["two", "three"], deadline()), Ok(1));
        assert_eq!((model.texts.load(Ordering::SeqCst), model.calls.load(Ordering::SeqCst)), (4, 2));
        assert_eq!(vectors.at_hand(a, "one"), Some(vec![1.0, 0.0]));
        assert_eq!(vectors.at_hand(a, ""), Some(vec![0.0, 0.0]));
        assert_eq!(vectors.at_hand(b, "one"), None, "another namespace's");
        for _ in 0..3 {
            vectors.of_query("who?", deadline()).expect("a vector");
        }
        assert_eq!(model.texts.load(Ordering::SeqCst), 5);
    }

    #[test]
    fn vectors_survive_the_store_to_half_precision() {
        let vector = [0.1f32, -0.7, 0.707];
        let again = from_bytes(&to_bytes(&vector), 3).expect("reads");
        assert!(vector.iter().zip(&again).all(|(a, b)| (a - b).abs() < 5e-4));
        assert_eq!(from_bytes(&to_bytes(&vector), 4), None);
    }
}
