//! The cache of authorized principals: a credential is checked once in 30 seconds.
//!
//! A revocation clears the cache, so that it takes effect at once. A lookup that runs meanwhile may have read the
//! records before the revocation, and finish after the cache was cleared. Therefore each lookup compares the number of
//! revocations before and after it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use moka::sync::Cache;

use super::principal::Principal;
use crate::sha256::sha256;

/// Time for which a principal is cached.
const CACHE_TIME: Duration = Duration::from_secs(30);
/// Cached principals, at most.
const CACHE_ENTRIES: u64 = 10_000;

/// The principals of credentials that were authorized a short time ago.
pub struct PrincipalCache {
    principals: Cache<CacheKey, Principal>,
    /// How often the cache was cleared.
    revocations: AtomicU64,
}

/// The hash of a credential, so that the cache does not hold the credential.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; 32]);

/// The number of revocations before a lookup.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Revocations(u64);

impl CacheKey {
    /// Returns the key of a credential.
    pub fn of(credential: &str) -> Self {
        Self(sha256(&[credential.as_bytes()]))
    }
}

impl PrincipalCache {
    /// Returns the principal of a credential, if it is cached.
    pub fn get(&self, key: &CacheKey) -> Option<Principal> {
        self.principals.get(key)
    }

    /// Returns the number of revocations. To be called before the records of a credential are read.
    pub fn revocations(&self) -> Revocations {
        Revocations(self.revocations.load(Ordering::SeqCst))
    }

    /// Caches the result of a lookup, unless there was a revocation since `before` it.
    pub fn insert(&self, key: CacheKey, principal: Principal, before: Revocations) {
        self.principals.insert(key, principal);
        if self.revocations() != before {
            // The result may be older than the revocation, which has already cleared the cache.
            self.principals.invalidate(&key);
        }
    }

    /// Forgets every principal. To be called after a revocation is recorded.
    pub(super) fn clear(&self) {
        self.revocations.fetch_add(1, Ordering::SeqCst);
        self.principals.invalidate_all();
    }
}

impl Default for PrincipalCache {
    fn default() -> Self {
        let principals = Cache::builder().max_capacity(CACHE_ENTRIES).time_to_live(CACHE_TIME).build();
        Self { principals, revocations: AtomicU64::new(0) }
    }
}

#[cfg(test)]
mod tests {
    use cuebase_storage::AccountId;

    use super::super::principal::Credential;
    use super::*;

    #[test]
    fn a_lookup_that_began_before_a_revocation_is_not_cached() {
        let cache = PrincipalCache::default();
        let principal = Principal { account: AccountId::default(), credential: Credential::Session { email: None } };
        let key = CacheKey::of("a token");
        let before = cache.revocations();
        cache.insert(key, principal.clone(), before);
        assert_eq!(cache.get(&key), Some(principal.clone()));
        cache.clear();
        assert_eq!(cache.get(&key), None);
        cache.insert(key, principal.clone(), before);
        assert_eq!(cache.get(&key), None, "the lookup began before the revocation");
        cache.insert(key, principal, cache.revocations());
        assert!(cache.get(&key).is_some());
    }
}
