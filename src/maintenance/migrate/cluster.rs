//! The cluster of a migration: its database and its bucket, and the check that its nodes are stopped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use cuebase_storage::bucket::{Bucket, BucketSettings};
use cuebase_storage::key_value::PostgresEngine;
use cuebase_storage::records::ownership::NodeWatch;
use cuebase_storage::records::shared_setup::{UnsafeDatabase, check_cluster};
use cuebase_storage::records::{MediaRecord, NamespaceRecord, StoreLedger};
use cuebase_storage::{NamespaceId, Store};
use ulid::Ulid;

/// Time between two looks at the nodes.
const POLL: Duration = Duration::from_millis(200);
/// Directory of packs in the bucket.
const PACKS: &str = "packs/";
/// Directory of uploaded files in the bucket.
const MEDIA: &str = "media/";

/// The database and the bucket of a cluster.
pub struct Cluster {
    /// The records.
    pub(in crate::maintenance) store: Arc<Store>,
    /// Large packs, and uploaded files.
    pub(in crate::maintenance) bucket: Arc<Bucket>,
}

impl Cluster {
    /// Connects to the database and the bucket, and checks both as a node does that starts.
    ///
    /// # Errors
    ///
    /// If the database or the bucket cannot be opened, is unsafe, or belongs to another cluster.
    pub fn open(database_url: &str, bucket: &BucketSettings, unsafe_database: UnsafeDatabase) -> anyhow::Result<Self> {
        let process = format!("migrate-{}", Ulid::generate());
        let engine = PostgresEngine::open(database_url, &process);
        let engine = Arc::new(engine.context("the database of storage.postgres.url cannot be opened")?);
        let store = Arc::new(Store::open_shared(engine.clone())?);
        let bucket = Bucket::open(bucket).context("the bucket of storage.bucket cannot be opened")?;
        check_cluster(&engine, &store, &bucket, unsafe_database)?;
        Ok(Self { store, bucket: Arc::new(bucket) })
    }

    /// A cluster of which everything can be read that these records name.
    pub(in crate::maintenance) fn new(store: Arc<Store>, bucket: Arc<Bucket>) -> Self {
        Self { store, bucket }
    }

    /// Waits until nodes that ended without a word count as dead.
    ///
    /// # Errors
    ///
    /// If a node is running: it renewed its session, or began one.
    pub(super) fn require_stopped(&self) -> anyhow::Result<()> {
        let former = self.store.sessions()?;
        let mut watch = NodeWatch::new();
        loop {
            // Deletes the records of dead nodes, so the loop ends.
            watch.observe(&self.store, self.store.node_rows()?, Instant::now())?;
            let nodes = self.store.sessions()?;
            if nodes.is_empty() {
                return Ok(());
            }
            for node in &nodes {
                if !former.contains(node) {
                    let address = match &node.1 {
                        Some(record) => record.address.as_str(),
                        None => "an address that cannot be decoded",
                    };
                    bail!("the node at {address} is running: stop all nodes of the cluster, then run this again");
                }
            }
            thread::sleep(POLL);
        }
    }

    /// Fails if the database or the bucket holds data.
    pub(super) fn require_unused(&self) -> anyhow::Result<()> {
        if !self.store.is_unused()? {
            bail!(
                "the database of the cluster has records: name a new database in storage.postgres.url and a new bucket \
                 or prefix in storage.bucket, and migrate before a node is started on them"
            );
        }
        for directory in [PACKS, MEDIA] {
            if !self.bucket.list(directory)?.is_empty() {
                bail!(
                    "the bucket of the cluster has objects below {directory}: name a new bucket or prefix in \
                     storage.bucket, or delete them"
                );
            }
        }
        Ok(())
    }

    /// The ledger of a namespace's repository.
    pub(in crate::maintenance) fn ledger(&self, namespace: &NamespaceRecord) -> StoreLedger {
        StoreLedger::new(Arc::clone(&self.store), Arc::clone(&self.bucket), namespace.key())
    }

    /// Returns the sizes of a namespace's uploaded files by the names of their objects.
    pub(super) fn media_sizes(&self, namespace: NamespaceId) -> anyhow::Result<BTreeMap<String, u64>> {
        let mut sizes = BTreeMap::new();
        for object in self.bucket.list(&format!("{MEDIA}{namespace}/"))? {
            sizes.insert(object.name, object.bytes);
        }
        Ok(sizes)
    }
}

/// Returns the name of the object of an uploaded file. It is also the path of the file in a data directory.
pub(in crate::maintenance) fn media_object(record: &MediaRecord) -> String {
    format!("{MEDIA}{}/{}", record.namespace_id, record.id)
}
