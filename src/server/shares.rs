//! Places that are shared between accounts: requests, retrievals, git transfers, memory.
//!
//! An account that is alone may take all common places. A few spare places stand behind them for accounts that hold
//! little, so that one account that takes everything it can get leaves room for the others.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// Accounts that are remembered while they hold nothing, so that their next request allocates nothing.
const REMEMBERED_MAX: usize = 1024;

/// Places of one kind.
pub(super) struct Shares {
    /// Places that any account may take.
    common: usize,
    /// Further places, for accounts that hold at most half as many.
    spare: usize,
    /// Requests of one account that run at once; its others wait in order of arrival.
    turns: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Places that are taken, by all accounts together.
    held: usize,
    accounts: HashMap<Arc<str>, Holding>,
}

/// What one account holds.
struct Holding {
    held: usize,
    turns: Arc<Semaphore>,
}

/// An account's places, until they are dropped.
pub(super) struct Share {
    shares: Arc<Shares>,
    account: Arc<str>,
    held: usize,
    turns: Arc<Semaphore>,
}

impl Shares {
    /// `common` places, `spare` ones behind them, and `turns` running requests of one account.
    pub(super) fn new(common: usize, spare: usize, turns: usize) -> Arc<Self> {
        // More permits than a semaphore can have are as good as no limit.
        let turns = turns.clamp(1, Semaphore::MAX_PERMITS);
        Arc::new(Self { common, spare, turns, state: Mutex::default() })
    }

    /// Places that one account can hold at most.
    pub(super) fn common(&self) -> usize {
        self.common
    }

    /// Requests of one account that run at once.
    pub(super) fn turns(&self) -> usize {
        self.turns
    }

    /// Takes places for an account; none when it would hold more than the rules allow.
    pub(super) fn take(self: &Arc<Self>, account: &str, places: usize) -> Option<Share> {
        let mut state = self.state.lock();
        let own = state.accounts.get(account).map_or(0, |holding| holding.held);
        if !self.allows(state.held, own, places) {
            return None;
        }
        if !state.accounts.contains_key(account) {
            let holding = Holding { held: 0, turns: Arc::new(Semaphore::new(self.turns)) };
            state.accounts.insert(Arc::from(account), holding);
        }
        let account = state.accounts.get_key_value(account).map(|(name, _)| Arc::clone(name))?;
        let holding = state.accounts.get_mut(&account)?;
        holding.held += places;
        let turns = Arc::clone(&holding.turns);
        state.held += places;
        drop(state);
        Some(Share { shares: Arc::clone(self), account, held: places, turns })
    }

    /// Whether an account that holds `own` of all `held` places may take some more.
    fn allows(&self, held: usize, own: usize, more: usize) -> bool {
        let all = held.saturating_add(more);
        if all <= self.common {
            return true;
        }
        let few = self.spare.div_ceil(2);
        if own.saturating_add(more) > few {
            return false;
        }
        // The last of the spare places are for whoever holds nothing.
        let room = if own == 0 { self.spare } else { self.spare / 2 };
        all <= self.common.saturating_add(room)
    }

    /// Gives back a whole share. An account that holds nothing any more is forgotten where there are many.
    fn give_back(&self, account: &str, places: usize) {
        let mut state = self.state.lock();
        state.held -= places;
        let many = state.accounts.len() > REMEMBERED_MAX;
        let Some(holding) = state.accounts.get_mut(account) else { return };
        holding.held -= places;
        if holding.held == 0 && many {
            state.accounts.remove(account);
        }
    }

    /// Gives back a part of a share that goes on.
    fn give_back_part(&self, account: &str, places: usize) {
        let mut state = self.state.lock();
        state.held -= places;
        if let Some(holding) = state.accounts.get_mut(account) {
            holding.held -= places;
        }
    }
}

impl Share {
    /// The account's turns: requests that wait for one hold their places meanwhile.
    pub(super) fn turns(&self) -> Arc<Semaphore> {
        Arc::clone(&self.turns)
    }

    /// Holds `places` from now on; false, and as before, when there are not enough.
    pub(super) fn resize(&mut self, places: usize) -> bool {
        if places <= self.held {
            self.shares.give_back_part(&self.account, self.held - places);
            self.held = places;
            return true;
        }
        let more = places - self.held;
        let mut state = self.shares.state.lock();
        let all = state.held;
        let Some(holding) = state.accounts.get_mut(&self.account) else { return false };
        if !self.shares.allows(all, holding.held, more) {
            return false;
        }
        holding.held += more;
        state.held += more;
        drop(state);
        self.held = places;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shares.give_back(&self.account, self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_account_takes_all_common_places_and_another_still_gets_some() {
        let shares = Shares::new(20, 10, 4);
        let all: Vec<Share> = (0..20).map(|_| shares.take("greedy", 1).expect("a place")).collect();
        assert!(shares.take("greedy", 1).is_none());
        let others: Vec<Share> = (0..5).map(|_| shares.take("modest", 1).expect("a spare place")).collect();
        assert!(shares.take("modest", 1).is_none());
        assert!(shares.take("third", 1).is_some());
        drop(others);
        drop(all);
        assert!(shares.take("greedy", 20).is_some());
        assert_eq!(shares.state.lock().held, 0);
    }

    #[test]
    fn a_share_grows_and_shrinks_within_what_is_free() {
        let shares = Shares::new(8, 2, 1);
        let mut share = shares.take("a", 1).expect("a place");
        assert!(share.resize(8) && !share.resize(9));
        assert!(share.resize(3));
        let other = shares.take("b", 5).expect("places");
        assert!(!share.resize(4));
        drop(other);
        assert!(share.resize(0) && share.resize(8));
        drop(share);
        assert_eq!(shares.state.lock().held, 0);
    }

    proptest! {
        #[test]
        fn places_are_never_more_than_there_are_and_all_come_back(
            steps in prop::collection::vec((0..4_usize, 0..6_usize, any::<bool>()), 0..200)
        ) {
            let shares = Shares::new(10, 4, 1);
            let mut taken: Vec<Share> = Vec::new();
            for (account, places, give) in steps {
                if give && !taken.is_empty() {
                    taken.swap_remove(account % taken.len());
                } else if let Some(share) = shares.take(&format!("account {account}"), places) {
                    taken.push(share);
                }
                let sum: usize = taken.iter().map(|share| share.held).sum();
                let held = shares.state.lock().held;
                prop_assert_eq!(sum, held);
                prop_assert!(held <= 14);
            }
            drop(taken);
            prop_assert!(shares.state.lock().accounts.values().all(|holding| holding.held == 0));
        }
    }
}
