//! Whether and why an open namespace takes no more changes.

use std::sync::atomic::{AtomicU8, Ordering};

use cuebase_storage::NamespaceKey;

use crate::error::{Error, Result};

/// Why an open namespace takes no more changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It was deleted.
    Deleted,
    /// Another node may own it.
    Released,
}

/// Whether an open namespace takes changes.
#[derive(Default)]
pub(super) struct EndState(AtomicU8);

const OPEN: u8 = 0;
const DELETED: u8 = 1;
const RELEASED: u8 = 2;

impl EndState {
    /// Makes all later changes fail. The first reason stays.
    pub(super) fn set(&self, end: End) {
        let state = match end {
            End::Deleted => DELETED,
            End::Released => RELEASED,
        };
        // Fails if it has a reason already.
        let _ = self.0.compare_exchange(OPEN, state, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Returns the reason why the namespace takes no more changes.
    pub(super) fn get(&self) -> Option<End> {
        match self.0.load(Ordering::SeqCst) {
            DELETED => Some(End::Deleted),
            RELEASED => Some(End::Released),
            _ => None,
        }
    }

    /// Whether the namespace takes no more changes.
    pub(super) fn is_set(&self) -> bool {
        self.get().is_some()
    }

    /// Fails if the namespace takes no more changes.
    pub(super) fn require_open(&self, key: impl FnOnce() -> NamespaceKey) -> Result<()> {
        match self.get() {
            None => Ok(()),
            Some(End::Deleted) => Err(Error::NamespaceGone),
            Some(End::Released) => Err(Error::NotOwner(key())),
        }
    }
}

#[cfg(test)]
mod tests {
    use cuebase_storage::{AccountId, NamespaceId, NamespaceName};

    use super::*;

    #[test]
    fn a_namespace_that_ended_refuses_changes_by_the_first_reason() {
        let key = || NamespaceKey {
            account: AccountId::default(),
            name: NamespaceName::default(),
            id: NamespaceId::default(),
        };
        let state = EndState::default();
        assert!(!state.is_set() && state.require_open(key).is_ok());
        state.set(End::Released);
        state.set(End::Deleted);
        assert_eq!(state.get(), Some(End::Released));
        assert!(matches!(state.require_open(key), Err(Error::NotOwner(_))));
        let deleted = EndState::default();
        deleted.set(End::Deleted);
        assert!(matches!(deleted.require_open(key), Err(Error::NamespaceGone)));
    }
}
