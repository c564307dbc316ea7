//! The settings that all nodes must have in common, such as prices and the embedding model.
//!
//! A record in the database has the values and the nodes that use them. A node uses values only once the record has
//! both, and replaces the values only while none of these nodes is alive. Nodes that start at the same time with
//! different values change the same record under a condition, so the later ones find a live node with other values and
//! do not start.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::SetupError;
use crate::error::{Error, Result};
use crate::key_value::Column;
use crate::records::Store;
use crate::records::ownership::{NodeId, NodeRecord, NodeRows, NodeWatch};
use crate::records::stored::Stored;

/// Key in [`Column::Meta`]: the common settings.
const SETTINGS_KEY: &[u8] = b"cluster-settings";
/// Pause between two looks at the records of other nodes.
const PAUSE: Duration = Duration::from_millis(100);

/// The common settings, and who uses them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct CommonSettings {
    /// Value by name of the setting.
    values: BTreeMap<String, String>,
    /// The nodes that started with these values. Some may have ended.
    nodes: BTreeSet<NodeId>,
}

impl CommonSettings {
    /// The names of the settings that have another value. A name that only one side has is left out: a node of another
    /// version may not know the setting.
    fn differences(&self, wanted: &BTreeMap<String, String>) -> Vec<String> {
        let mut names = Vec::new();
        for (name, value) in wanted {
            if let Some(current) = self.values.get(name)
                && current != value
            {
                names.push(name.clone());
            }
        }
        names
    }

    /// The record after a node has joined with the same values, and perhaps with further settings. Leaves out nodes
    /// without a session.
    fn joined(&self, node: NodeId, wanted: &BTreeMap<String, String>, alive: &[(NodeId, Option<NodeRecord>)]) -> Self {
        let mut values = self.values.clone();
        for (name, value) in wanted {
            values.insert(name.clone(), value.clone());
        }
        let mut nodes = BTreeSet::from([node]);
        for (id, _) in alive {
            if self.nodes.contains(id) {
                nodes.insert(*id);
            }
        }
        Self { values, nodes }
    }
}

/// Agrees with the other nodes on common settings, given as value by name. Replaces the values of former nodes if no
/// other node with them is alive.
///
/// The caller has begun the session of `node` and keeps renewing it during the call. If the values differ from those of
/// a node whose session may be over, the call waits until that node renewed its session or is declared dead: up to
/// [`SESSION_TTL`](crate::records::ownership::SESSION_TTL).
///
/// A value that is secret is given as a hash. A setting that is absent is given as an empty value.
///
/// # Errors
/// [`SetupError::OtherSettings`] if another node is alive and has other values. The caller ends the session then.
pub fn agree_on_settings(store: &Store, node: NodeId, wanted: &BTreeMap<String, String>) -> Result<(), SetupError> {
    loop {
        let stored: Stored<CommonSettings> = store.get_stored(Column::Meta, SETTINGS_KEY)?;
        let current = stored.record.clone().unwrap_or_default();
        let names = current.differences(wanted);
        let next = if names.is_empty() {
            current.joined(node, wanted, &store.sessions()?)
        } else {
            if let Some(address) = wait_for_live_node(store, Others::of(&current, node))? {
                return Err(SetupError::OtherSettings { address, names });
            }
            CommonSettings { values: wanted.clone(), nodes: BTreeSet::from([node]) }
        };
        // If another node changed the record, the next round compares with its values.
        if replace(store, &stored, &next)? {
            return Ok(());
        }
    }
}

/// Replaces the record, durably. Returns false if it changed since it was read.
fn replace(store: &Store, stored: &Stored<CommonSettings>, next: &CommonSettings) -> Result<bool> {
    let mut batch = store.batch();
    batch.replace(Column::Meta, SETTINGS_KEY, stored, next)?;
    match store.commit_synced(batch) {
        Ok(()) => Ok(true),
        Err(Error::ConditionFailed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Waits until one of the nodes renews its session, and returns its address, or until all are dead.
fn wait_for_live_node(store: &Store, mut others: Others) -> Result<Option<String>> {
    loop {
        let rows = store.node_rows()?;
        match others.observe(store, rows, Instant::now())? {
            Liveness::Alive(address) => return Ok(Some(address)),
            Liveness::Dead => return Ok(None),
            Liveness::Unknown => thread::sleep(PAUSE),
        }
    }
}

/// Other nodes with common settings, observed until it is known whether one is alive.
struct Others {
    ids: BTreeSet<NodeId>,
    /// Their records as they were seen first.
    first: BTreeMap<NodeId, NodeRecord>,
    /// Declares those dead that do not renew their session.
    watch: NodeWatch,
}

/// What is known about the other nodes.
#[derive(Debug, PartialEq, Eq)]
enum Liveness {
    /// All are dead.
    Dead,
    /// One is alive, at this address.
    Alive(String),
    /// Some have a session, but did not renew it since they were seen first.
    Unknown,
}

impl Others {
    /// The nodes that use common settings, except for this node.
    fn of(settings: &CommonSettings, node: NodeId) -> Self {
        let mut ids = settings.nodes.clone();
        ids.remove(&node);
        Self { ids, first: BTreeMap::new(), watch: NodeWatch::new() }
    }

    /// Takes note of the records of all nodes. `now` is a time after `rows` were read.
    fn observe(&mut self, store: &Store, rows: NodeRows, now: Instant) -> Result<Liveness> {
        self.watch.observe(store, rows, now)?;
        let mut liveness = Liveness::Dead;
        for (id, record) in store.sessions()? {
            if !self.ids.contains(&id) {
                continue;
            }
            liveness = Liveness::Unknown;
            // The node of a record that cannot be decoded may be alive.
            let Some(record) = record else { continue };
            match self.first.get(&id) {
                Some(first) if *first != record => return Ok(Liveness::Alive(record.address)),
                Some(_) => {}
                None => {
                    self.first.insert(id, record);
                }
            }
        }
        Ok(liveness)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::key_value::{Batch, Durability, MemoryEngine};
    use crate::records::ownership::{NodeSession, SESSION_TTL};

    fn store() -> Arc<Store> {
        Arc::new(Store::open_shared(Arc::new(MemoryEngine::new())).expect("opens"))
    }

    fn session(store: &Arc<Store>, address: &str) -> NodeSession {
        NodeSession::begin(store, address, "1.0.0", Instant::now()).expect("begins")
    }

    fn settings(values: &[(&str, &str)]) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::new();
        for (name, value) in values {
            settings.insert((*name).to_owned(), (*value).to_owned());
        }
        settings
    }

    fn current(store: &Store) -> CommonSettings {
        store.get_record(Column::Meta, SETTINGS_KEY).expect("reads").expect("is present")
    }

    /// Agrees while another node renews its session.
    fn agree_while_alive(
        store: &Store,
        alive: &NodeSession,
        node: NodeId,
        wanted: &BTreeMap<String, String>,
    ) -> Result<(), SetupError> {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    alive.renew(Instant::now()).expect("renews");
                    thread::yield_now();
                }
            });
            let agreed = agree_on_settings(store, node, wanted);
            is_over.store(true, Ordering::SeqCst);
            agreed
        })
    }

    #[test]
    fn nodes_with_the_same_settings_start() {
        let store = store();
        let wanted = settings(&[("model", "a"), ("prices", "1")]);
        let sessions = [session(&store, "a:1"), session(&store, "b:1")];
        for session in &sessions {
            agree_on_settings(&store, session.id(), &wanted).expect("agrees");
            agree_on_settings(&store, session.id(), &wanted).expect("agrees again");
        }
        let nodes = BTreeSet::from([sessions[0].id(), sessions[1].id()]);
        assert_eq!(current(&store), CommonSettings { values: wanted.clone(), nodes });
        sessions[0].end().expect("ends");
        agree_on_settings(&store, sessions[1].id(), &wanted).expect("agrees");
        assert_eq!(current(&store).nodes, BTreeSet::from([sessions[1].id()]));
    }

    #[test]
    fn a_node_with_other_settings_does_not_start_while_another_is_alive() {
        let store = store();
        let first = session(&store, "a:1");
        let used = settings(&[("keep_sources", "true"), ("model", "a"), ("prices", "1")]);
        agree_on_settings(&store, first.id(), &used).expect("is the first");
        let second = session(&store, "b:1");
        let wanted = settings(&[("keep_sources", "false"), ("model", "a"), ("prices", "2")]);
        let refused = agree_while_alive(&store, &first, second.id(), &wanted);
        let message = refused.expect_err("is refused").to_string();
        assert!(message.contains("node at a:1 is running with other values of keep_sources, prices:"), "{message}");
        assert_eq!(current(&store), CommonSettings { values: used, nodes: BTreeSet::from([first.id()]) });
    }

    #[test]
    fn a_node_replaces_the_settings_of_nodes_that_have_ended() {
        let store = store();
        let first = session(&store, "a:1");
        agree_on_settings(&store, first.id(), &settings(&[("model", "a"), ("old", "1")])).expect("is the first");
        first.end().expect("ends");
        let second = session(&store, "b:1");
        let wanted = settings(&[("model", "b")]);
        agree_on_settings(&store, second.id(), &wanted).expect("is alone");
        assert_eq!(current(&store), CommonSettings { values: wanted, nodes: BTreeSet::from([second.id()]) });
    }

    #[test]
    fn a_node_that_does_not_renew_its_session_is_dead_after_a_while() {
        let store = store();
        let first = session(&store, "a:1");
        let used = CommonSettings { values: BTreeMap::new(), nodes: BTreeSet::from([first.id()]) };
        let second = session(&store, "b:1");
        let mut others = Others::of(&used, second.id());
        let start = Instant::now();
        for (now, expected) in [
            (start, Liveness::Unknown),
            (start + SESSION_TTL / 2, Liveness::Unknown),
            (start + SESSION_TTL, Liveness::Dead),
        ] {
            let rows = store.node_rows().expect("reads");
            assert_eq!(others.observe(&store, rows, now).expect("observes"), expected, "{now:?}");
        }
        assert_eq!(store.node(first.id()).expect("reads"), None);
    }

    #[test]
    fn a_node_whose_record_cannot_be_decoded_may_be_alive() {
        let store = store();
        let first = session(&store, "a:1");
        let used = CommonSettings { values: BTreeMap::new(), nodes: BTreeSet::from([first.id()]) };
        let mut damage = Batch::new();
        damage.put(Column::Nodes, first.id().to_bytes(), b"garbage".to_vec());
        store.kv.write(&damage, Durability::Synced).expect("writes");
        let mut others = Others::of(&used, NodeId::generate());
        let now = Instant::now();
        let rows = store.node_rows().expect("reads");
        assert_eq!(others.observe(&store, rows, now).expect("observes"), Liveness::Unknown);
        let joined = used.joined(NodeId::generate(), &BTreeMap::new(), &store.sessions().expect("reads"));
        assert!(joined.nodes.contains(&first.id()), "{joined:?}");
    }

    #[test]
    fn a_node_that_renews_its_session_is_alive() {
        let store = store();
        let first = session(&store, "a:1");
        let used = CommonSettings { values: BTreeMap::new(), nodes: BTreeSet::from([first.id()]) };
        let mut others = Others::of(&used, NodeId::generate());
        let now = Instant::now();
        let rows = store.node_rows().expect("reads");
        assert_eq!(others.observe(&store, rows, now).expect("observes"), Liveness::Unknown);
        first.renew(now).expect("renews");
        let rows = store.node_rows().expect("reads");
        assert_eq!(others.observe(&store, rows, now).expect("observes"), Liveness::Alive("a:1".to_owned()));
    }

    #[test]
    fn a_setting_that_only_one_version_knows_does_not_differ() {
        let store = store();
        let sessions = [session(&store, "a:1"), session(&store, "b:1"), session(&store, "c:1")];
        agree_on_settings(&store, sessions[0].id(), &settings(&[("model", "a")])).expect("is the first");
        let later = settings(&[("model", "a"), ("new", "1")]);
        agree_on_settings(&store, sessions[1].id(), &later).expect("is a later version");
        assert_eq!(current(&store).values, later);
        let other = settings(&[("model", "a"), ("new", "2")]);
        let refused = agree_while_alive(&store, &sessions[1], sessions[2].id(), &other);
        assert!(matches!(&refused, Err(SetupError::OtherSettings { names, .. }) if *names == ["new"]), "{refused:?}");
    }

    #[test]
    fn nodes_that_start_at_once_never_run_with_different_settings() {
        for _ in 0..5 {
            let store = store();
            let sessions = [session(&store, "a:1"), session(&store, "b:1"), session(&store, "c:1")];
            let is_over = AtomicBool::new(false);
            let mut started = Vec::new();
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !is_over.load(Ordering::SeqCst) {
                        for session in &sessions {
                            session.renew(Instant::now()).expect("renews");
                        }
                        thread::yield_now();
                    }
                });
                let mut starts = Vec::new();
                for (session, value) in sessions.iter().zip(["1", "2", "1"]) {
                    let store = &store;
                    starts.push(scope.spawn(move || {
                        let agreed = agree_on_settings(store, session.id(), &settings(&[("prices", value)]));
                        agreed.is_ok().then_some(value)
                    }));
                }
                for start in starts {
                    started.extend(start.join().expect("ends"));
                }
                is_over.store(true, Ordering::SeqCst);
            });
            let values: BTreeSet<&str> = started.iter().copied().collect();
            assert_eq!(values.len(), 1, "{started:?}");
            let used = *started.first().expect("one starts");
            assert_eq!(started.len(), if used == "1" { 2 } else { 1 });
            assert_eq!(current(&store).values, settings(&[("prices", used)]));
        }
    }
}
