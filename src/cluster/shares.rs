//! The share of a node in the limits that all nodes have together.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use cuebase_storage::records::ownership::SESSION_TTL;
use parking_lot::Mutex;

/// The number of nodes that limits are divided by. It rises at once when a node joins. When a node leaves, it falls only
/// after the lifetime of a session: a node that is only thought to be dead uses its share until its reads end.
pub(super) struct Shares {
    /// Read by every request, therefore outside of the lock.
    nodes: AtomicUsize,
    /// The nodes that were observed since there were fewer than `nodes`. `None` if there were as many.
    fewer: Mutex<Option<FewerNodes>>,
}

/// Observations of fewer nodes than limits are divided by.
struct FewerNodes {
    /// The largest number among them.
    nodes: usize,
    /// Time of the first one.
    since: Instant,
}

impl Shares {
    /// The shares of a node that has observed no other one.
    pub(super) fn new() -> Self {
        Self { nodes: AtomicUsize::new(1), fewer: Mutex::new(None) }
    }

    /// Takes note of the number of nodes that have a session at a time.
    pub(super) fn observe(&self, nodes: usize, now: Instant) {
        let mut fewer = self.fewer.lock();
        if nodes >= self.nodes.load(Ordering::Relaxed) {
            self.nodes.store(nodes.max(1), Ordering::Relaxed);
            *fewer = None;
            return;
        }
        let (most, since) = match &*fewer {
            Some(seen) => (seen.nodes.max(nodes), seen.since),
            None => (nodes, now),
        };
        if now.saturating_duration_since(since) < SESSION_TTL {
            *fewer = Some(FewerNodes { nodes: most, since });
            return;
        }
        self.nodes.store(most.max(1), Ordering::Relaxed);
        *fewer = if nodes < most { Some(FewerNodes { nodes, since: now }) } else { None };
    }

    /// Returns the part of a limit that this node may use: at least 1, unless the limit is 0.
    pub(super) fn of(&self, limit: usize) -> usize {
        limit.div_ceil(self.nodes.load(Ordering::Relaxed).max(1))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MOMENT: Duration = Duration::from_millis(500);

    #[test]
    fn a_limit_is_divided_by_the_nodes_and_rounded_up() {
        let shares = Shares::new();
        assert_eq!(shares.of(20), 20);
        shares.observe(3, Instant::now());
        for (limit, share) in [(20, 7), (3, 1), (2, 1), (1, 1), (0, 0)] {
            assert_eq!(shares.of(limit), share, "{limit}");
        }
    }

    #[test]
    fn a_share_shrinks_at_once_and_grows_after_the_lifetime_of_a_session() {
        let (shares, start) = (Shares::new(), Instant::now());
        shares.observe(4, start);
        assert_eq!(shares.of(12), 3);
        shares.observe(3, start + MOMENT);
        shares.observe(3, start + SESSION_TTL);
        assert_eq!(shares.of(12), 3, "the node has left for less than the lifetime of a session");
        shares.observe(3, start + MOMENT + SESSION_TTL);
        assert_eq!(shares.of(12), 4);
        shares.observe(6, start + MOMENT + SESSION_TTL);
        assert_eq!(shares.of(12), 2);
    }

    #[test]
    fn a_node_that_returns_ends_the_wait() {
        let (shares, start) = (Shares::new(), Instant::now());
        shares.observe(2, start);
        shares.observe(1, start + MOMENT);
        shares.observe(2, start + 2 * MOMENT);
        shares.observe(1, start + SESSION_TTL);
        shares.observe(1, start + SESSION_TTL + MOMENT);
        assert_eq!(shares.of(12), 6, "it left again half a second ago");
        shares.observe(1, start + 2 * SESSION_TTL);
        assert_eq!(shares.of(12), 12);
    }

    #[test]
    fn a_share_grows_by_the_nodes_that_left_for_long_enough() {
        let (shares, start) = (Shares::new(), Instant::now());
        shares.observe(4, start);
        shares.observe(3, start);
        shares.observe(1, start + SESSION_TTL);
        assert_eq!(shares.of(12), 4, "the other two have just left");
        shares.observe(1, start + 2 * SESSION_TTL - MOMENT);
        assert_eq!(shares.of(12), 4);
        shares.observe(1, start + 2 * SESSION_TTL);
        assert_eq!(shares.of(12), 12);
    }

    #[test]
    fn one_observation_after_a_long_gap_is_not_enough() {
        let (shares, start) = (Shares::new(), Instant::now());
        shares.observe(2, start);
        shares.observe(1, start + 10 * SESSION_TTL);
        assert_eq!(shares.of(12), 6);
    }

    #[test]
    fn a_node_without_a_session_has_all() {
        let (shares, start) = (Shares::new(), Instant::now());
        shares.observe(0, start);
        assert_eq!(shares.of(12), 12);
        shares.observe(2, start);
        shares.observe(0, start);
        shares.observe(0, start + SESSION_TTL);
        assert_eq!(shares.of(12), 12);
    }
}
