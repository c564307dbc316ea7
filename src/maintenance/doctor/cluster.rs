//! The examination of what several nodes share.
//!
//! - A namespace that this node owns or can claim is opened. Its local copy is compared with itself as in a data
//!   directory; a damaged copy is dropped and fetched again, because the records and the bucket have the original.
//! - Of a namespace of another node, only the records and the sizes of the objects are examined.
//! - Nodes, claims of dead nodes and packs without a record are listed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use cuebase_storage::bucket::Bucket;
use cuebase_storage::git::Ledger;
use cuebase_storage::records::ownership::NodeId;
use cuebase_storage::records::{NamespaceRecord, StoreLedger};
use cuebase_storage::{Error as StorageError, Store};
use jiff::Timestamp;

use super::finding::{Finding, Health, Mode};
use super::namespace::{damaged_namespace, examine_namespace, subject_of};
use crate::app::App;
use crate::error::{Error, Result};
use crate::service::orphan_objects::{ObjectKind, orphans};

/// Attempts to examine a namespace that other nodes claim meanwhile.
const ATTEMPTS_MAX: usize = 3;

/// The records and the bucket of all nodes.
pub(super) struct ClusterDoctor {
    store: Arc<Store>,
    bucket: Arc<Bucket>,
    began: Instant,
    /// The nodes at the beginning, with the number of renewals of each.
    nodes: BTreeMap<NodeId, u64>,
}

impl ClusterDoctor {
    /// Begins an examination.
    pub(super) fn begin(store: &Arc<Store>, bucket: &Arc<Bucket>) -> Result<Self> {
        let mut nodes = BTreeMap::new();
        for (id, record) in store.nodes()? {
            nodes.insert(id, record.renewals);
        }
        Ok(Self { store: Arc::clone(store), bucket: Arc::clone(bucket), began: Instant::now(), nodes })
    }

    /// Examines a namespace: everything if this node owns it or can claim it, otherwise its records.
    ///
    /// # Errors
    ///
    /// If the database or the bucket cannot be reached.
    pub(super) fn examine_namespace(
        &self,
        app: &App,
        record: &NamespaceRecord,
        mode: Mode,
        on_objects: &dyn Fn(u64),
    ) -> Result<Finding> {
        for _ in 0..ATTEMPTS_MAX {
            match app.namespaces.ownership().hold(&record.key()) {
                Ok(()) => {}
                Err(Error::Elsewhere { address }) => return self.examine_records(record, &address),
                Err(Error::NamespaceGone) => return Ok(deleted(record)),
                // The record of its owner's node cannot be decoded for now.
                Err(Error::NotOwner(_)) => continue,
                Err(Error::DamagedNamespace(reason)) => return Ok(damaged_namespace(record, reason)),
                Err(error) => return Err(error),
            }
            match self.examine_owned(app, record, mode, on_objects) {
                // Another node claimed it meanwhile.
                Err(Error::NotOwner(_)) => {}
                Err(Error::NamespaceGone) => return Ok(deleted(record)),
                examined => return examined,
            }
        }
        Ok(Finding::new(subject_of(record), Health::Sound, "not examined, because its owner changes: try again"))
    }

    /// Examines a namespace that this node owns.
    fn examine_owned(
        &self,
        app: &App,
        record: &NamespaceRecord,
        mode: Mode,
        on_objects: &dyn Fn(u64),
    ) -> Result<Finding> {
        if let Some(problem) = self.size_problem(record)? {
            let description = format!("{problem}; the data directory of this or a former owner may still have it");
            return Ok(damaged_namespace(record, description));
        }
        let finding = self.examine_copy(app, record, mode, on_objects)?;
        if finding.health != Health::Damaged {
            return Ok(finding);
        }
        if mode == Mode::Examine {
            let description = format!("the local copy is damaged, and can be fetched again: {}", finding.description);
            return Ok(Finding::new(finding.subject, Health::Repairable, description));
        }
        app.namespaces.drop_copy(record)?;
        Ok(self.examine_copy(app, record, mode, on_objects)?.after_repair())
    }

    /// Examines the local copy of a namespace that this node owns.
    ///
    /// # Errors
    ///
    /// [`Error::NotOwner`] and [`Error::NamespaceGone`] if the namespace has another owner or was deleted in the
    /// meantime, and the errors of a database or a bucket that cannot be reached: the copy is not damaged then.
    fn examine_copy(
        &self,
        app: &App,
        record: &NamespaceRecord,
        mode: Mode,
        on_objects: &dyn Fn(u64),
    ) -> Result<Finding> {
        // Open for the whole examination.
        let _lease = match app.namespaces.lease_key(&record.key()) {
            Err(error) if error.is_temporary() || matches!(error, Error::NamespaceGone) => return Err(error),
            leased => leased,
        };
        let finding = match examine_namespace(app, record, mode, on_objects) {
            Ok(finding) => finding,
            Err(error) if error.is_temporary() || matches!(error, Error::NamespaceGone) => return Err(error),
            Err(error) => damaged_namespace(record, error.to_string()),
        };
        if finding.health == Health::Damaged {
            self.store.require_owned(&record.key())?;
        }
        Ok(finding)
    }

    /// Examines the records of a namespace of another node, and the sizes of its objects.
    fn examine_records(&self, record: &NamespaceRecord, address: &str) -> Result<Finding> {
        if let Some(problem) = self.size_problem(record)? {
            return Ok(damaged_namespace(record, problem));
        }
        let state = self.ledger(record).state()?;
        let contents = match (state.head, record.head) {
            (Some(head), _) => format!("head {head}, {} packs", state.packs.len()),
            (None, None) => "empty".to_owned(),
            (None, Some(_)) if !self.store.is_live(record.id)? => return Ok(deleted(record)),
            (None, Some(recorded)) => {
                let description = format!("the repository is empty, but the recorded head is {recorded}");
                return Ok(damaged_namespace(record, description));
            }
        };
        let description =
            format!("{contents}; only records and sizes were examined, because the node at {address} owns it");
        Ok(Finding::new(subject_of(record), Health::Sound, description))
    }

    /// Returns a description of a pack that is not stored, or has another size than its record.
    fn size_problem(&self, record: &NamespaceRecord) -> Result<Option<String>> {
        let ledger = self.ledger(record);
        if ledger.check_sizes().is_ok() {
            return Ok(None);
        }
        // Again, because the owner may have replaced packs between the reads of their records and of their objects.
        match ledger.check_sizes() {
            Ok(()) => Ok(None),
            Err(error @ StorageError::Corrupt { .. }) => {
                Ok(if self.store.is_live(record.id)? { Some(error.to_string()) } else { None })
            }
            Err(error) => Err(error.into()),
        }
    }

    fn ledger(&self, record: &NamespaceRecord) -> StoreLedger {
        StoreLedger::new(Arc::clone(&self.store), Arc::clone(&self.bucket), record.key())
    }

    /// Examines what belongs to no single namespace.
    ///
    /// # Errors
    ///
    /// If the database or the bucket cannot be reached.
    pub(super) fn examine_shared(&self) -> Result<Vec<Finding>> {
        let now_ms = Timestamp::now().as_millisecond();
        Ok(vec![self.examine_nodes()?, self.examine_owners()?, self.examine_packs(now_ms)?])
    }

    /// Lists the nodes, and says whether they renewed their sessions during the examination.
    fn examine_nodes(&self) -> Result<Finding> {
        let seconds = self.began.elapsed().as_secs();
        let mut nodes = Vec::new();
        for (id, record) in self.store.nodes()? {
            let renewed = match self.nodes.get(&id) {
                Some(renewals) if *renewals == record.renewals => format!("no renewal seen for {seconds} s"),
                _ => format!("renewed its session in the last {} s", seconds + 1),
            };
            nodes.push(format!("{} (version {}, {renewed})", record.address, record.version));
        }
        let description = format!("{} have a session: {}", nodes.len(), nodes.join(", "));
        Ok(Finding::new("nodes", Health::Sound, description))
    }

    fn examine_owners(&self) -> Result<Finding> {
        let description = match self.store.stale_owners()? {
            0 => "every claim is that of a node with a session".to_owned(),
            stale => format!("{stale} namespaces belong to nodes that have ended: the next use claims them"),
        };
        Ok(Finding::new("owners", Health::Sound, description))
    }

    /// Counts the packs in the bucket that have no record although they are old enough for one.
    fn examine_packs(&self, now_ms: i64) -> Result<Finding> {
        let description = match orphans(&self.store, &self.bucket, ObjectKind::Pack, now_ms)?.len() {
            0 => "every object older than a day has a record".to_owned(),
            orphans => format!("{orphans} objects older than a day have no record: the hourly removal deletes them"),
        };
        Ok(Finding::new("packs", Health::Sound, description))
    }
}

fn deleted(record: &NamespaceRecord) -> Finding {
    Finding::new(subject_of(record), Health::Sound, "deleted in the meantime")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use cuebase_storage::git::{CommitId, NewPack, PackId};
    use cuebase_storage::key_value::MemoryEngine;
    use cuebase_storage::records::ownership::NodeSession;
    use cuebase_storage::{AccountId, NamespaceId, NamespaceName};
    use ulid::Ulid;

    use super::*;

    const TWO_DAYS_MS: i64 = 2 * 24 * 60 * 60 * 1000;

    /// A node with a namespace that has one large pack.
    struct Node {
        store: Arc<Store>,
        bucket: Arc<Bucket>,
        session: NodeSession,
        namespace: NamespaceRecord,
    }

    impl Node {
        fn start() -> Self {
            let store = Arc::new(Store::open_shared(Arc::new(MemoryEngine::new())).expect("opens"));
            let bucket = Arc::new(Bucket::in_memory().expect("creates"));
            let session = NodeSession::begin(&store, "node:1", "1.0.0", Instant::now()).expect("begins");
            let id = NamespaceId::new(Ulid::from(1));
            let wanted = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
            let namespace = store.create_namespace(&wanted).expect("creates").0;
            store.claim(session.id(), &namespace.key()).expect("claims");
            let head = CommitId::from_bytes([2; 20]);
            let node = Self { store, bucket, session, namespace };
            node.publish(head);
            Self { namespace: NamespaceRecord { head: Some(head), ..node.namespace.clone() }, ..node }
        }

        fn publish(&self, head: CommitId) {
            let folder = tempfile::tempdir().expect("temporary directory");
            let (pack, index) = (folder.path().join("a.pack"), folder.path().join("a.idx"));
            fs::write(&pack, vec![7; 100_000]).expect("writes");
            fs::write(&index, b"index").expect("writes");
            let ledger = StoreLedger::new(Arc::clone(&self.store), Arc::clone(&self.bucket), self.namespace.key());
            let new = NewPack { id: PackId::from_bytes([1; 20]), pack, index };
            ledger.publish(None, head, &[new]).expect("publishes");
        }

        fn doctor(&self) -> ClusterDoctor {
            ClusterDoctor::begin(&self.store, &self.bucket).expect("begins")
        }

        fn examine(&self) -> Finding {
            self.doctor().examine_records(&self.namespace, "node:1").expect("examines")
        }
    }

    #[test]
    fn the_records_of_a_foreign_namespace_are_examined() {
        let node = Node::start();
        let finding = node.examine();
        assert_eq!(finding.health, Health::Sound, "{finding:?}");
        assert!(finding.description.contains("1 packs"), "{finding:?}");
        assert!(finding.description.contains("the node at node:1 owns it"), "{finding:?}");
        let empty = NamespaceRecord { id: NamespaceId::new(Ulid::from(5)), head: None, ..node.namespace.clone() };
        let finding = node.doctor().examine_records(&empty, "node:1").expect("examines");
        assert!(finding.description.starts_with("empty"), "{finding:?}");
    }

    #[test]
    fn a_missing_or_shortened_pack_is_damage() {
        let node = Node::start();
        let name = node.bucket.list("packs/").expect("lists").pop().expect("a pack").name;
        node.bucket.delete(&name).expect("deletes");
        assert_eq!(node.examine().health, Health::Damaged);
        node.bucket.put(&name, b"short".to_vec()).expect("writes");
        assert_eq!(node.examine().health, Health::Damaged);
    }

    #[test]
    fn nodes_and_claims_of_dead_nodes_are_listed() {
        let node = Node::start();
        let doctor = node.doctor();
        let finding = doctor.examine_nodes().expect("lists");
        assert!(finding.description.contains("node:1 (version 1.0.0, no renewal seen for"), "{finding:?}");
        node.session.renew(Instant::now()).expect("renews");
        let finding = doctor.examine_nodes().expect("lists");
        assert!(finding.description.contains("renewed its session in the last"), "{finding:?}");
        let finding = doctor.examine_owners().expect("reads");
        assert!(finding.description.starts_with("every claim"), "{finding:?}");
        node.session.end().expect("ends");
        let finding = doctor.examine_owners().expect("reads");
        assert!(finding.description.starts_with("1 namespaces"), "{finding:?}");
    }

    #[test]
    fn packs_without_a_record_are_counted() {
        let node = Node::start();
        let stored_at_ms = node.bucket.list("").expect("lists")[0].stored_at_ms;
        let finding = node.doctor().examine_packs(stored_at_ms + TWO_DAYS_MS).expect("lists");
        assert!(finding.description.starts_with("every object"), "{finding:?}");
        let orphan = format!("packs/{}/{}.pack", Ulid::from(3), Ulid::from(4));
        node.bucket.put(&orphan, b"orphan".to_vec()).expect("writes");
        let finding = node.doctor().examine_packs(stored_at_ms + TWO_DAYS_MS).expect("lists");
        assert!(finding.description.starts_with("1 objects"), "{finding:?}");
    }
}
