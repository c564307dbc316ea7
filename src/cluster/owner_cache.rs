//! The owners of foreign namespaces, as they were read a moment ago.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use cuebase_storage::NamespaceId;
use parking_lot::Mutex;

/// How long an owner is remembered.
const AGE_MAX: Duration = Duration::from_secs(1);
/// Number of owners that are remembered. At more, all are forgotten.
const OWNERS_MAX: usize = 100_000;

/// Addresses of owners by namespace.
#[derive(Default)]
pub(super) struct OwnerCache {
    known: Mutex<HashMap<NamespaceId, KnownOwner>>,
}

struct KnownOwner {
    address: String,
    since: Instant,
}

impl OwnerCache {
    /// Returns the address of an owner that was read at most a second ago.
    pub(super) fn get(&self, namespace: NamespaceId, now: Instant) -> Option<String> {
        let known = self.known.lock();
        let owner = known.get(&namespace)?;
        if now.saturating_duration_since(owner.since) > AGE_MAX {
            return None;
        }
        Some(owner.address.clone())
    }

    /// Remembers an owner that was just read.
    pub(super) fn put(&self, namespace: NamespaceId, address: String, now: Instant) {
        let mut known = self.known.lock();
        if known.len() >= OWNERS_MAX {
            known.clear();
        }
        known.insert(namespace, KnownOwner { address, since: now });
    }

    /// Forgets the owner of a namespace.
    pub(super) fn remove(&self, namespace: NamespaceId) {
        self.known.lock().remove(&namespace);
    }

    /// Forgets all owners.
    pub(super) fn clear(&self) {
        self.known.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_remembered_for_a_second() {
        let cache = OwnerCache::default();
        let (namespace, now) = (NamespaceId::default(), Instant::now());
        cache.put(namespace, "a:1".into(), now);
        assert_eq!(cache.get(namespace, now).as_deref(), Some("a:1"));
        assert_eq!(cache.get(namespace, now + AGE_MAX).as_deref(), Some("a:1"));
        assert_eq!(cache.get(namespace, now + 2 * AGE_MAX), None);
        cache.remove(namespace);
        assert_eq!(cache.get(namespace, now), None);
    }
}
