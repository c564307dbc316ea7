//! Slots that accounts share: for requests, retrievals and git transfers, and units of memory.
//!
//! A single active account may take all common slots. A few spare slots are reserved for accounts that hold few, so
//! that an account that takes all it can get leaves room for the others.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// Accounts without slots whose entry is kept, so that their next request allocates nothing.
const KEPT_ACCOUNTS_MAX: usize = 1024;

/// Slots of one kind.
pub(super) struct SlotPool {
    /// Slots that any account may take.
    common: usize,
    /// Further slots, for accounts that hold at most half as many.
    spare: usize,
    /// Requests of one account that run at once; its others wait in order of arrival.
    running_max: usize,
    taken: Mutex<TakenSlots>,
}

#[derive(Default)]
struct TakenSlots {
    /// Slots that all accounts hold together.
    total: usize,
    accounts: HashMap<Arc<str>, AccountSlots>,
}

/// The slots of one account.
struct AccountSlots {
    held: usize,
    /// Limits the requests of the account that run at once.
    running: Arc<Semaphore>,
}

/// Slots that an account holds; dropping them gives them back.
pub(super) struct HeldSlots {
    pool: Arc<SlotPool>,
    account: Arc<str>,
    held: usize,
    running: Arc<Semaphore>,
}

impl SlotPool {
    /// Makes a pool of `common` slots and `spare` ones, in which up to `running_max` requests of one account run.
    pub(super) fn new(common: usize, spare: usize, running_max: usize) -> Arc<Self> {
        // The largest number of permits of a semaphore is in effect no limit.
        let running_max = running_max.clamp(1, Semaphore::MAX_PERMITS);
        Arc::new(Self { common, spare, running_max, taken: Mutex::default() })
    }

    /// Returns how many slots one account can hold at most.
    pub(super) fn common(&self) -> usize {
        self.common
    }

    /// Returns how many requests of one account run at once.
    pub(super) fn running_max(&self) -> usize {
        self.running_max
    }

    /// Takes slots for an account. Returns none if it would hold more than it may.
    pub(super) fn take(self: &Arc<Self>, account: &str, slots: usize) -> Option<HeldSlots> {
        let mut taken = self.taken.lock();
        let own = match taken.accounts.get(account) {
            Some(entry) => entry.held,
            None => 0,
        };
        if !self.allows(taken.total, own, slots) {
            return None;
        }
        if !taken.accounts.contains_key(account) {
            let entry = AccountSlots { held: 0, running: Arc::new(Semaphore::new(self.running_max)) };
            taken.accounts.insert(Arc::from(account), entry);
        }
        let account = taken.accounts.get_key_value(account).map(|(name, _)| Arc::clone(name))?;
        let entry = taken.accounts.get_mut(&account)?;
        entry.held += slots;
        let running = Arc::clone(&entry.running);
        taken.total += slots;
        drop(taken);
        Some(HeldSlots { pool: Arc::clone(self), account, held: slots, running })
    }

    /// Returns whether an account that holds `own` of all `total` taken slots may take `more`.
    fn allows(&self, total: usize, own: usize, more: usize) -> bool {
        let total = total.saturating_add(more);
        if total <= self.common {
            return true;
        }
        if own.saturating_add(more) > self.spare.div_ceil(2) {
            return false;
        }
        // The last half of the spare slots is for accounts that hold none.
        let spare = if own == 0 { self.spare } else { self.spare / 2 };
        total <= self.common.saturating_add(spare)
    }

    /// Gives back all slots of a [`HeldSlots`]. Removes the entry of an account without slots if there are many
    /// entries.
    fn give_back(&self, account: &str, slots: usize) {
        let mut taken = self.taken.lock();
        taken.total -= slots;
        let is_full = taken.accounts.len() > KEPT_ACCOUNTS_MAX;
        let Some(entry) = taken.accounts.get_mut(account) else { return };
        entry.held -= slots;
        if entry.held == 0 && is_full {
            taken.accounts.remove(account);
        }
    }

    /// Gives back some slots of a [`HeldSlots`], which keeps the account's entry in use.
    fn give_back_part(&self, account: &str, slots: usize) {
        let mut taken = self.taken.lock();
        taken.total -= slots;
        if let Some(entry) = taken.accounts.get_mut(account) {
            entry.held -= slots;
        }
    }
}

impl HeldSlots {
    /// Returns the semaphore that limits how many requests of the account run. A request that waits for a permit holds
    /// its slots meanwhile.
    pub(super) fn running(&self) -> Arc<Semaphore> {
        Arc::clone(&self.running)
    }

    /// Changes the number of held slots. Returns false and changes nothing if not enough are free.
    pub(super) fn resize(&mut self, slots: usize) -> bool {
        if slots <= self.held {
            self.pool.give_back_part(&self.account, self.held - slots);
            self.held = slots;
            return true;
        }
        let more = slots - self.held;
        let mut taken = self.pool.taken.lock();
        let total = taken.total;
        let Some(entry) = taken.accounts.get_mut(&self.account) else { return false };
        if !self.pool.allows(total, entry.held, more) {
            return false;
        }
        entry.held += more;
        taken.total += more;
        drop(taken);
        self.held = slots;
        true
    }
}

impl Drop for HeldSlots {
    fn drop(&mut self) {
        self.pool.give_back(&self.account, self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn another_account_gets_slots_when_one_takes_all_common_ones() {
        let pool = SlotPool::new(20, 10, 4);
        let all: Vec<HeldSlots> = (0..20).map(|_| pool.take("greedy", 1).expect("a slot")).collect();
        assert!(pool.take("greedy", 1).is_none());
        let others: Vec<HeldSlots> = (0..5).map(|_| pool.take("modest", 1).expect("a spare slot")).collect();
        assert!(pool.take("modest", 1).is_none());
        assert!(pool.take("third", 1).is_some());
        drop(others);
        drop(all);
        assert!(pool.take("greedy", 20).is_some());
        assert_eq!(pool.taken.lock().total, 0);
    }

    #[test]
    fn held_slots_grow_and_shrink_within_the_free_ones() {
        let pool = SlotPool::new(8, 2, 1);
        let mut held = pool.take("a", 1).expect("a slot");
        assert!(held.resize(8) && !held.resize(9));
        assert!(held.resize(3));
        let other = pool.take("b", 5).expect("slots");
        assert!(!held.resize(4));
        drop(other);
        assert!(held.resize(0) && held.resize(8));
        drop(held);
        assert_eq!(pool.taken.lock().total, 0);
    }

    proptest! {
        #[test]
        fn slots_never_exceed_the_pool_and_all_are_given_back(
            steps in prop::collection::vec((0..4_usize, 0..6_usize, any::<bool>()), 0..200)
        ) {
            let pool = SlotPool::new(10, 4, 1);
            let mut taken: Vec<HeldSlots> = Vec::new();
            for (account, slots, give) in steps {
                if give && !taken.is_empty() {
                    taken.swap_remove(account % taken.len());
                } else if let Some(slots) = pool.take(&format!("account {account}"), slots) {
                    taken.push(slots);
                }
                let sum: usize = taken.iter().map(|slots| slots.held).sum();
                let total = pool.taken.lock().total;
                prop_assert_eq!(sum, total);
                prop_assert!(total <= 14);
            }
            drop(taken);
            prop_assert!(pool.taken.lock().accounts.values().all(|entry| entry.held == 0));
        }
    }
}
