//! [`NodeStatistics`]: what a node counted for an account, and its state. `GET /v1/statistics` merges those of all nodes.

use std::collections::{BTreeMap, BTreeSet};

use cuebase_storage::{AccountId, NamespaceId};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::Result;
use crate::metrics::day::counts::DayCounts;
use crate::service::inspector::DiskSpace;
use crate::service::peers::PeerTopic;

/// What a node counted for an account, and its state.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NodeStatistics {
    /// The last day of the account. `None` if nothing was counted.
    pub(super) day: Option<DayCounts>,
    /// The state of the node.
    pub(super) state: NodeState,
    /// Number of namespaces of the account that the node owns.
    pub(super) owned: usize,
}

/// The state of a node, or of several, as far as it concerns an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NodeState {
    /// The disk; of several nodes, the one with the least free space.
    pub(super) disk: Option<DiskSpace>,
    /// Namespaces of the account that are known to be damaged.
    pub(super) damaged: BTreeSet<NamespaceId>,
    /// Namespaces of the account whose memories wait for vectors.
    pub(super) behind: BTreeSet<NamespaceId>,
    /// Whether the chat model responds, if there is one.
    pub(super) chat: ChatState,
}

/// Whether the chat model responds. Of several nodes, the greatest state counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum ChatState {
    Ready,
    /// Conversations wait for the model.
    Unavailable,
}

impl NodeStatistics {
    /// Returns the statistics of this node.
    ///
    /// # Errors
    ///
    /// The namespaces of the account cannot be read.
    pub(super) fn of(app: &App, account: &AccountId) -> Result<Self> {
        let namespaces = app.inspector.namespaces(account, usize::MAX)?;
        Ok(Self {
            day: app.jobs.metrics().days().counts(account),
            state: NodeState::of(app, account),
            owned: app.namespaces.owned_among(&namespaces),
        })
    }

    /// Returns the statistics of the other nodes by address. A node that does not answer is left out: what it counted is
    /// lost if it has failed. A node that started again is asked once, although its former session may seem to live.
    ///
    /// # Errors
    ///
    /// The nodes are unknown, because the records cannot be read.
    pub(super) fn of_others(app: &App, account: &AccountId) -> Result<BTreeMap<String, Self>> {
        let peers = app.reads.peers();
        let mut statistics = BTreeMap::new();
        for address in peers.others()? {
            if statistics.contains_key(&address) {
                continue;
            }
            match peers.ask(&address, account, PeerTopic::Statistics, &()) {
                Ok(other) => {
                    statistics.insert(address, other);
                }
                Err(error) => {
                    tracing::warn!(address, failure = error.code(), "the statistics of a node are missing");
                }
            }
        }
        Ok(statistics)
    }
}

impl NodeState {
    /// Returns the state of this node.
    pub(super) fn of(app: &App, account: &AccountId) -> Self {
        let mut damaged = BTreeSet::new();
        for (key, _) in app.namespaces.damaged() {
            if key.account == *account {
                damaged.insert(key.id);
            }
        }
        let mut behind = BTreeSet::new();
        for (key, _) in app.jobs.backlog() {
            if key.account == *account {
                behind.insert(key.id);
            }
        }
        let chat = match app.jobs.outage() {
            Some(_) => ChatState::Unavailable,
            None => ChatState::Ready,
        };
        Self { disk: app.inspector.disk_space().ok(), damaged, behind, chat }
    }

    /// Adds the state of another node.
    pub(super) fn merge(&mut self, other: Self) {
        let Self { disk, damaged, behind, chat } = other;
        self.disk = match (self.disk, disk) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self.damaged.extend(damaged);
        self.behind.extend(behind);
        self.chat = self.chat.max(chat);
    }
}

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;
    use crate::service::peers::{decode, encode};

    fn id(number: u128) -> NamespaceId {
        NamespaceId::new(Ulid::from(number))
    }

    fn nodes() -> [NodeState; 3] {
        let disk = |free_bytes| Some(DiskSpace { free_bytes, total_bytes: 100 });
        [
            NodeState { disk: disk(7), damaged: [id(1)].into(), behind: BTreeSet::new(), chat: ChatState::Ready },
            NodeState {
                disk: None,
                damaged: [id(1), id(2)].into(),
                behind: [id(3)].into(),
                chat: ChatState::Unavailable,
            },
            NodeState { disk: disk(5), damaged: BTreeSet::new(), behind: [id(4)].into(), chat: ChatState::Ready },
        ]
    }

    fn merged(mut first: NodeState, others: &[&NodeState]) -> NodeState {
        for other in others {
            first.merge(decode(&encode(*other).expect("encodes")).expect("decodes"));
        }
        first
    }

    #[test]
    fn a_namespace_counts_once_and_the_fullest_disk_is_shown() {
        let [a, b, c] = nodes();
        let all = merged(a, &[&b, &c]);
        assert_eq!(all.disk, Some(DiskSpace { free_bytes: 5, total_bytes: 100 }));
        assert_eq!((all.damaged, all.behind), (BTreeSet::from([id(1), id(2)]), BTreeSet::from([id(3), id(4)])));
        assert_eq!(all.chat, ChatState::Unavailable);
    }

    #[test]
    fn states_are_merged_alike_in_any_order_and_grouping() {
        let [a, b, c] = nodes();
        let expected = merged(a.clone(), &[&b, &c]);
        for (first, second, third) in [(&a, &c, &b), (&b, &a, &c), (&b, &c, &a), (&c, &a, &b), (&c, &b, &a)] {
            assert_eq!(merged(first.clone(), &[second, third]), expected);
            let grouped = merged(second.clone(), &[third]);
            assert_eq!(merged(first.clone(), &[&grouped]), expected);
        }
    }
}
