//! Slots for work that takes much memory: a fixed number at the same time, of which each account has at most one.

use std::time::{Duration, Instant};

use cuebase_storage::AccountId;
use parking_lot::{Condvar, Mutex};

/// The slots of one kind of work.
pub struct AccountSlots {
    slots_max: usize,
    /// The account of each slot in use.
    users: Mutex<Vec<AccountId>>,
    /// Notified when a slot is free again.
    freed: Condvar,
}

/// A slot that an account uses. It is free again when it is dropped.
#[must_use = "the slot is free when this is dropped"]
pub struct AccountSlot<'a> {
    slots: &'a AccountSlots,
    account: &'a AccountId,
}

impl AccountSlots {
    /// A number of free slots.
    pub const fn new(slots_max: usize) -> Self {
        Self { slots_max, users: Mutex::new(Vec::new()), freed: Condvar::new() }
    }

    /// Takes a slot, and waits for it at most for a time. `None` if all were in use, or the account had one.
    pub fn wait_for<'a>(&'a self, account: &'a AccountId, time: Duration) -> Option<AccountSlot<'a>> {
        let deadline = Instant::now() + time;
        let mut users = self.users.lock();
        while self.is_refused(&users, account) {
            if self.freed.wait_until(&mut users, deadline).timed_out() {
                return None;
            }
        }
        users.push(account.clone());
        Some(AccountSlot { slots: self, account })
    }

    /// Takes a slot, and waits until one is free and the account has none.
    pub fn wait<'a>(&'a self, account: &'a AccountId) -> AccountSlot<'a> {
        let mut users = self.users.lock();
        while self.is_refused(&users, account) {
            self.freed.wait(&mut users);
        }
        users.push(account.clone());
        AccountSlot { slots: self, account }
    }

    fn is_refused(&self, users: &[AccountId], account: &AccountId) -> bool {
        users.len() >= self.slots_max || users.contains(account)
    }
}

impl Drop for AccountSlot<'_> {
    fn drop(&mut self) {
        self.slots.users.lock().retain(|user| user != self.account);
        // Each waits for something else: a free slot, or the end of its account's work.
        self.slots.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::new(id).expect("is valid")
    }

    #[test]
    fn an_account_has_at_most_one_slot_and_leaves_the_other() {
        let slots = AccountSlots::new(2);
        let [a, b, c] = ["a", "b", "c"].map(account);
        let first = slots.wait_for(&a, Duration::ZERO).expect("free");
        assert!(slots.wait_for(&a, Duration::ZERO).is_none());
        let second = slots.wait_for(&b, Duration::ZERO).expect("left by the first account");
        assert!(slots.wait_for(&c, Duration::ZERO).is_none());
        drop(first);
        assert!(slots.wait_for(&b, Duration::ZERO).is_none());
        let third = slots.wait_for(&c, Duration::ZERO).expect("free again");
        drop((second, third));
        assert!(slots.users.lock().is_empty());
    }

    #[test]
    fn work_waits_for_the_same_account_and_not_for_others() {
        let slots = AccountSlots::new(2);
        let [a, b] = ["a", "b"].map(account);
        let first = slots.wait(&a);
        drop(slots.wait(&b));
        let (took, has_taken) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let slot = slots.wait(&a);
                took.send(()).expect("the test waits");
                drop(slot);
            });
            assert!(has_taken.try_recv().is_err(), "the account has a slot");
            drop(first);
            has_taken.recv_timeout(Duration::from_secs(30)).expect("the slot is free");
        });
    }
}
