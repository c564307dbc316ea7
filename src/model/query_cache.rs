//! Vectors of queries, by account.
//!
//! A cached vector is returned much faster than one that a model computes. Accounts share no entry, because an account
//! could otherwise learn from the response time which queries another one made.
//!
//! The accounts share the memory. When it is full, the account with the most entries gives up the one that it did not
//! use for the longest time, so an account with few queries keeps its entries however many queries others make.

use std::collections::HashMap;
use std::sync::Arc;

use cuebase_storage::AccountId;
use parking_lot::Mutex;

/// The hash of a query.
type TextHash = [u8; 32];

/// Vectors of the queries of all accounts, by one model.
pub(super) struct QueryCache {
    entries_max: usize,
    state: Mutex<CacheState>,
}

#[derive(Default)]
struct CacheState {
    by_account: HashMap<AccountId, HashMap<TextHash, CachedVector>>,
    /// Number of entries of all accounts.
    entries: usize,
    /// Number of lookups and insertions so far.
    uses: u64,
}

struct CachedVector {
    vector: Arc<Vec<f32>>,
    /// The number of the last use.
    used_at: u64,
}

/// An entry that may be removed.
struct Candidate<'a> {
    account: &'a AccountId,
    text: &'a TextHash,
    /// Number of entries of the account.
    entries: usize,
    used_at: u64,
}

impl Candidate<'_> {
    fn is_removed_before(&self, other: &Self) -> bool {
        if self.entries != other.entries {
            return self.entries > other.entries;
        }
        self.used_at < other.used_at
    }
}

impl QueryCache {
    /// Returns an empty cache for up to `entries_max` vectors of all accounts together.
    pub(super) fn new(entries_max: usize) -> Self {
        Self { entries_max, state: Mutex::default() }
    }

    /// Returns the vector of a query of an account, if it is cached.
    pub(super) fn get(&self, account: &AccountId, text: &TextHash) -> Option<Arc<Vec<f32>>> {
        let mut state = self.state.lock();
        state.uses += 1;
        let used_at = state.uses;
        let cached = state.by_account.get_mut(account)?.get_mut(text)?;
        cached.used_at = used_at;
        Some(Arc::clone(&cached.vector))
    }

    /// Caches the vector of a query of an account.
    pub(super) fn insert(&self, account: &AccountId, text: TextHash, vector: Arc<Vec<f32>>) {
        let mut state = self.state.lock();
        state.uses += 1;
        let cached = CachedVector { vector, used_at: state.uses };
        let replaced = state.by_account.entry(account.clone()).or_default().insert(text, cached);
        if replaced.is_none() {
            state.entries += 1;
        }
        if state.entries > self.entries_max {
            state.remove_one();
        }
    }
}

impl CacheState {
    /// Removes one entry. Reads all of them, which takes much less time than the model took for the new one.
    fn remove_one(&mut self) {
        let mut chosen: Option<Candidate<'_>> = None;
        for (account, vectors) in &self.by_account {
            for (text, cached) in vectors {
                let candidate = Candidate { account, text, entries: vectors.len(), used_at: cached.used_at };
                if chosen.as_ref().is_none_or(|former| candidate.is_removed_before(former)) {
                    chosen = Some(candidate);
                }
            }
        }
        let Some(Candidate { account, text, .. }) = chosen else { return };
        let (account, text) = (account.clone(), *text);
        let Some(vectors) = self.by_account.get_mut(&account) else { return };
        vectors.remove(&text);
        self.entries -= 1;
        if vectors.is_empty() {
            self.by_account.remove(&account);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::new(id).expect("is valid")
    }

    fn insert(cache: &QueryCache, id: &str, text: u8) {
        cache.insert(&account(id), [text; 32], Arc::new(vec![f32::from(text)]));
    }

    fn has(cache: &QueryCache, id: &str, text: u8) -> bool {
        let Some(vector) = cache.get(&account(id), &[text; 32]) else { return false };
        assert_eq!(*vector, vec![f32::from(text)]);
        true
    }

    #[test]
    fn an_account_does_not_meet_the_queries_of_another_one() {
        let cache = QueryCache::new(9);
        insert(&cache, "a", 1);
        assert!(has(&cache, "a", 1));
        assert!(!has(&cache, "b", 1));
        insert(&cache, "b", 1);
        assert_eq!(cache.state.lock().entries, 2);
    }

    #[test]
    fn an_account_may_use_the_whole_cache_and_loses_its_oldest_entry() {
        let cache = QueryCache::new(3);
        for text in [1, 2, 3] {
            insert(&cache, "a", text);
        }
        assert!(has(&cache, "a", 1), "now the newest");
        insert(&cache, "a", 4);
        assert_eq!([1, 2, 3, 4].map(|text| has(&cache, "a", text)), [true, false, true, true]);
        assert_eq!(cache.state.lock().entries, 3);
    }

    #[test]
    fn many_queries_of_an_account_do_not_remove_those_of_others() {
        let cache = QueryCache::new(4);
        insert(&cache, "quiet", 1);
        for text in 0..100 {
            insert(&cache, "busy", text);
        }
        assert!(has(&cache, "quiet", 1));
        assert_eq!(cache.state.lock().entries, 4);
    }

    #[test]
    fn an_account_without_entries_is_removed() {
        let cache = QueryCache::new(2);
        for id in ["a", "b", "c"] {
            insert(&cache, id, 1);
        }
        assert!(!has(&cache, "a", 1) && has(&cache, "b", 1) && has(&cache, "c", 1));
        assert_eq!(cache.state.lock().by_account.len(), 2);
    }
}
