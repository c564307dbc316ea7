//! The cache of authorized principals: a credential is checked once in 30 seconds.
//!
//! A revocation clears the cache, so that it takes effect at once. A lookup that runs meanwhile may have read the
//! records before the revocation, and finish after the cache was cleared. Therefore each lookup compares the number of
//! revocations before and after it.
//!
//! A node of several learns of the revocations of others from a mark in the shared records, which it reads several times
//! a second. While it cannot read the mark, nothing is cached.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cuebase_storage::records::RevocationMark;
use moka::sync::Cache;
use parking_lot::RwLock;

use super::principal::Principal;
use crate::sha256::sha256;

/// Time for which a principal is cached.
const CACHE_TIME: Duration = Duration::from_secs(30);
/// Longest time for which a node relies on the mark of revocations that it read last. A revocation by another node
/// takes effect within this time.
pub const CHECK_TIME: Duration = Duration::from_secs(2);
/// Cached principals, at most.
const CACHE_ENTRIES: u64 = 10_000;

/// The principals of credentials that were authorized a short time ago.
pub struct PrincipalCache {
    principals: Cache<CacheKey, Principal>,
    /// How often the cache was cleared.
    revocations: AtomicU64,
    /// `None` in a process that is alone with its records.
    others: RwLock<Option<OthersRevocations>>,
}

/// What a node knows of the revocations of other nodes.
struct OthersRevocations {
    mark: Option<RevocationMark>,
    /// When it began to read the mark.
    read_at: Instant,
}

/// The hash of a credential, so that the cache does not hold the credential.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; 32]);

/// The number of revocations before a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        if self.is_current() { self.principals.get(key) } else { None }
    }

    /// Whether no other node can have revoked a credential longer ago than [`CHECK_TIME`] without clearing the cache.
    fn is_current(&self) -> bool {
        match &*self.others.read() {
            Some(others) => others.read_at.elapsed() < CHECK_TIME,
            None => true,
        }
    }

    /// Takes note of the mark of revocations, which was read from a moment on. Forgets every principal if it has changed.
    pub(super) fn observe_others(&self, mark: Option<RevocationMark>, read_at: Instant) {
        let mut others = self.others.write();
        if let Some(known) = &*others
            && known.mark != mark
        {
            self.clear();
        }
        *others = Some(OthersRevocations { mark, read_at });
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
        Self { principals, revocations: AtomicU64::new(0), others: RwLock::new(None) }
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

    fn principal() -> Principal {
        Principal { account: AccountId::default(), credential: Credential::Session { email: None } }
    }

    #[test]
    fn a_mark_that_was_read_too_long_ago_ends_the_caching() {
        let cache = PrincipalCache::default();
        let key = CacheKey::of("a token");
        cache.insert(key, principal(), cache.revocations());
        let now = Instant::now();
        if let Some(long_ago) = now.checked_sub(CHECK_TIME) {
            cache.observe_others(None, long_ago);
            assert_eq!(cache.get(&key), None);
        }
        // Far enough in the future for any machine.
        cache.observe_others(None, now + CACHE_TIME);
        assert_eq!(cache.get(&key), Some(principal()), "no revocation since");
    }
}
