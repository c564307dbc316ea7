//! Slots that senders share: for requests, retrievals and git transfers, and units of memory.
//!
//! A single active sender may take all common slots. A few spare slots are reserved for senders that hold few, so that
//! a sender that takes all it can get leaves room for the others.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::sender::Sender;
use crate::cluster::Ownership;

/// Senders without slots whose entry is kept, so that their next request allocates nothing.
const KEPT_SENDERS_MAX: usize = 1024;

/// Slots of one kind.
pub(super) struct SlotPool {
    /// Slots that any sender may take.
    common: usize,
    /// Further slots, for senders that hold at most half as many.
    spare: usize,
    /// Requests of one sender that run at once; its others wait in order of arrival.
    running_max: usize,
    /// The nodes that share the slots. `None` if the process has all of them.
    nodes: Option<Arc<Ownership>>,
    taken: Mutex<TakenSlots>,
}

#[derive(Default)]
struct TakenSlots {
    /// Slots that all senders hold together.
    total: usize,
    senders: HashMap<Sender, SenderSlots>,
}

/// The slots of one sender.
struct SenderSlots {
    held: usize,
    /// Limits the requests of the sender that run at once.
    running: Arc<Semaphore>,
}

/// Slots that a sender holds; dropping them gives them back.
pub(super) struct HeldSlots {
    pool: Arc<SlotPool>,
    sender: Sender,
    held: usize,
    running: Arc<Semaphore>,
}

impl SlotPool {
    /// Makes a pool of `common` slots and `spare` ones, in which up to `running_max` requests of one sender run.
    pub(super) fn new(common: usize, spare: usize, running_max: usize) -> Arc<Self> {
        Self::of_nodes(None, common, spare, running_max)
    }

    /// Makes a pool whose slots are divided among the nodes that share the storage, if it is shared.
    pub(super) fn divided(ownership: &Arc<Ownership>, common: usize, spare: usize, running_max: usize) -> Arc<Self> {
        let nodes = if ownership.is_alone() { None } else { Some(Arc::clone(ownership)) };
        Self::of_nodes(nodes, common, spare, running_max)
    }

    fn of_nodes(nodes: Option<Arc<Ownership>>, common: usize, spare: usize, running_max: usize) -> Arc<Self> {
        // The largest number of permits of a semaphore is in effect no limit.
        let running_max = running_max.clamp(1, Semaphore::MAX_PERMITS);
        Arc::new(Self { common, spare, running_max, nodes, taken: Mutex::default() })
    }

    /// Returns how many slots one sender can hold at most.
    pub(super) fn common(&self) -> usize {
        self.common
    }

    /// Returns how many requests of one sender run at once.
    pub(super) fn running_max(&self) -> usize {
        self.running_max
    }

    /// Takes slots for a sender. Returns none if it would hold more than it may.
    pub(super) fn take(self: &Arc<Self>, sender: &Sender, slots: usize) -> Option<HeldSlots> {
        let mut taken = self.taken.lock();
        let own = match taken.senders.get(sender) {
            Some(entry) => entry.held,
            None => 0,
        };
        if !self.allows(taken.total, own, slots) {
            return None;
        }
        if !taken.senders.contains_key(sender) {
            let entry = SenderSlots { held: 0, running: Arc::new(Semaphore::new(self.running_max)) };
            taken.senders.insert(sender.clone(), entry);
        }
        let entry = taken.senders.get_mut(sender)?;
        entry.held += slots;
        let running = Arc::clone(&entry.running);
        taken.total += slots;
        drop(taken);
        Some(HeldSlots { pool: Arc::clone(self), sender: sender.clone(), held: slots, running })
    }

    /// Returns whether a sender that holds `own` of all `total` taken slots may take `more`.
    fn allows(&self, total: usize, own: usize, more: usize) -> bool {
        let (common, spare) = match &self.nodes {
            Some(nodes) => (nodes.share_of(self.common), nodes.share_of(self.spare)),
            None => (self.common, self.spare),
        };
        let total = total.saturating_add(more);
        if total <= common {
            return true;
        }
        if own.saturating_add(more) > spare.div_ceil(2) {
            return false;
        }
        // The last half of the spare slots is for senders that hold none.
        let spare = if own == 0 { spare } else { spare / 2 };
        total <= common.saturating_add(spare)
    }

    /// Gives back all slots of a [`HeldSlots`]. Removes the entry of a sender without slots if there are many
    /// entries.
    fn give_back(&self, sender: &Sender, slots: usize) {
        let mut taken = self.taken.lock();
        taken.total -= slots;
        let is_full = taken.senders.len() > KEPT_SENDERS_MAX;
        let Some(entry) = taken.senders.get_mut(sender) else { return };
        entry.held -= slots;
        if entry.held == 0 && is_full {
            taken.senders.remove(sender);
        }
    }

    /// Gives back some slots of a [`HeldSlots`], which keeps the sender's entry in use.
    fn give_back_part(&self, sender: &Sender, slots: usize) {
        let mut taken = self.taken.lock();
        taken.total -= slots;
        if let Some(entry) = taken.senders.get_mut(sender) {
            entry.held -= slots;
        }
    }
}

impl HeldSlots {
    /// Returns the semaphore that limits how many requests of the sender run. A request that waits for a permit holds
    /// its slots meanwhile.
    pub(super) fn running(&self) -> Arc<Semaphore> {
        Arc::clone(&self.running)
    }

    /// Holds at least a number of slots. Returns false and changes nothing if not enough are free.
    pub(super) fn grow(&mut self, slots: usize) -> bool {
        slots <= self.held || self.resize(slots)
    }

    /// Changes the number of held slots. Returns false and changes nothing if not enough are free.
    pub(super) fn resize(&mut self, slots: usize) -> bool {
        if slots <= self.held {
            self.pool.give_back_part(&self.sender, self.held - slots);
            self.held = slots;
            return true;
        }
        let more = slots - self.held;
        let mut taken = self.pool.taken.lock();
        let total = taken.total;
        let Some(entry) = taken.senders.get_mut(&self.sender) else { return false };
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
        self.pool.give_back(&self.sender, self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuebase_storage::AccountId;
    use proptest::prelude::*;

    fn account(id: &str) -> Sender {
        Sender::Account(AccountId::new(id).expect("is valid"))
    }

    #[test]
    fn another_account_gets_slots_when_one_takes_all_common_ones() {
        let pool = SlotPool::new(20, 10, 4);
        let (greedy, modest) = (account("greedy"), account("modest"));
        let all: Vec<HeldSlots> = (0..20).map(|_| pool.take(&greedy, 1).expect("a slot")).collect();
        assert!(pool.take(&greedy, 1).is_none());
        let others: Vec<HeldSlots> = (0..5).map(|_| pool.take(&modest, 1).expect("a spare slot")).collect();
        assert!(pool.take(&modest, 1).is_none());
        assert!(pool.take(&account("third"), 1).is_some());
        drop(others);
        drop(all);
        assert!(pool.take(&greedy, 20).is_some());
        assert_eq!(pool.taken.lock().total, 0);
    }

    #[test]
    fn held_slots_grow_and_shrink_within_the_free_ones() {
        let pool = SlotPool::new(8, 2, 1);
        let mut held = pool.take(&account("a"), 1).expect("a slot");
        assert!(held.resize(8) && !held.resize(9));
        assert!(held.resize(3));
        let other = pool.take(&account("b"), 5).expect("slots");
        assert!(!held.resize(4));
        drop(other);
        assert!(held.resize(0) && held.resize(8));
        drop(held);
        assert_eq!(pool.taken.lock().total, 0);
    }

    #[test]
    fn an_account_and_a_route_of_one_text_have_their_own_slots() {
        let pool = SlotPool::new(1, 2, 1);
        let held = pool.take(&account("/v1/health"), 1).expect("a slot");
        assert!(pool.take(&account("/v1/health"), 1).is_none());
        assert!(pool.take(&Sender::Route("/v1/health"), 1).is_some());
        drop(held);
    }

    proptest! {
        #[test]
        fn slots_never_exceed_the_pool_and_all_are_given_back(
            steps in prop::collection::vec((0..4_usize, 0..6_usize, any::<bool>()), 0..200)
        ) {
            let pool = SlotPool::new(10, 4, 1);
            let mut taken: Vec<HeldSlots> = Vec::new();
            for (number, slots, give) in steps {
                if give && !taken.is_empty() {
                    taken.swap_remove(number % taken.len());
                } else if let Some(slots) = pool.take(&account(&format!("account {number}")), slots) {
                    taken.push(slots);
                }
                let sum: usize = taken.iter().map(|slots| slots.held).sum();
                let total = pool.taken.lock().total;
                prop_assert_eq!(sum, total);
                prop_assert!(total <= 14);
            }
            drop(taken);
            prop_assert!(pool.taken.lock().senders.values().all(|entry| entry.held == 0));
        }
    }
}
