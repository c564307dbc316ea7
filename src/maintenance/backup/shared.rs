//! The source of a backup of several nodes: the records at one moment, and the objects that they name.
//!
//! The backup is a data directory that any server can use: the records are written into a new database, and the packs of
//! each repository, small ones from the records and large ones from the bucket, into a folder. Uploaded files come from
//! the bucket.
//!
//! While it runs, a hold keeps all nodes from deleting what the snapshot of the records names. No backup has half of an
//! erasure: it waits until no erasure is in progress, and erasures wait until it has ended.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use cuebase_storage::Store;
use cuebase_storage::bucket::Bucket;
use cuebase_storage::git::{Ledger, LedgerState, Repository};
use cuebase_storage::records::ownership::NodeId;
use cuebase_storage::records::{BackupHold, NamespaceRecord, copy_records};

use super::copy::{BackupCopy, Comparison};
use crate::app::App;
use crate::maintenance::migrate::{Cluster, media, media_object, repositories};
use crate::maintenance::private_files::{create_folder, remove_if_exists};
use crate::maintenance::progress::Progress;
use crate::namespace::registry::repository_folder;

/// Longest time to wait for erasures in progress.
const ERASURES_MAX: Duration = Duration::from_secs(60);
/// Time between two looks at the erasures in progress.
const POLL: Duration = Duration::from_millis(200);

/// The records at one moment and the bucket, of which nothing is deleted meanwhile.
pub(super) struct SharedSource {
    hold: BackupHold,
    cluster: Cluster,
}

impl SharedSource {
    /// Begins a backup in a process that is one of the nodes.
    pub(super) fn of_node(app: &App, bucket: &Arc<Bucket>) -> anyhow::Result<Self> {
        let node = app.namespaces.ownership().node_id();
        let node = node.context("this node has no session, because the database cannot be reached: try again")?;
        Self::begin(app.inspector.store(), bucket, node, ERASURES_MAX)
    }

    /// Begins a backup by a node that has a session. Waits for erasures in progress.
    fn begin(store: &Arc<Store>, bucket: &Arc<Bucket>, node: NodeId, patience: Duration) -> anyhow::Result<Self> {
        let end = Instant::now() + patience;
        loop {
            let hold = BackupHold::begin(store, node).context("this backup cannot begin")?;
            let snapshot = Arc::new(store.snapshot()?);
            if !snapshot.has_unfinished_erasures()? {
                return Ok(Self { hold, cluster: Cluster::new(snapshot, Arc::clone(bucket)) });
            }
            // An erasure that is attempted again would wait for this hold.
            drop(snapshot);
            drop(hold);
            ensure!(
                Instant::now() < end,
                "an erasure is not finished, and a backup must not have the text: wait until it is, or see whether it \
                 failed with `cuebase dead-letters list`"
            );
            thread::sleep(POLL);
        }
    }

    /// Writes everything into a backup. `data` is a folder for temporary files. Returns the hold, which also keeps other
    /// backups from beginning until it is dropped.
    pub(super) fn copy_to(self, copy: &mut BackupCopy<'_>, data: &Path, name: &str) -> anyhow::Result<BackupHold> {
        let Self { hold, cluster } = self;
        let trash = data.join("trash");
        create_folder(&trash)?;
        let records = trash.join(format!("records-{name}"));
        let copied = copy_through(cluster, copy, &records);
        // If it cannot be removed now, the next start removes it.
        let _ = remove_if_exists(&records);
        copied?;
        hold.require_held().context("objects may have been deleted while they were copied: try again")?;
        Ok(hold)
    }
}

/// Copies everything, by way of a database in a temporary folder.
fn copy_through(cluster: Cluster, copy: &mut BackupCopy<'_>, records: &Path) -> anyhow::Result<()> {
    let on_progress = copy.progress();
    {
        let directory = Arc::new(Store::open(records)?);
        let report = |count| on_progress(Progress::new("records copied", count, 0));
        copy_records(&cluster.store, &directory, &report).context("cannot copy the records")?;
        let namespaces = directory.all_namespaces()?;
        let all = namespaces.len() as u64;
        for (done, namespace) in (1..).zip(&namespaces) {
            copy_repository(&cluster, copy, namespace)?;
            on_progress(Progress::new("repositories copied", done, all));
        }
        let bucket = Arc::clone(&cluster.bucket);
        // Ends the transaction of the snapshot, which keeps the server from reusing the space of deleted rows.
        drop(cluster);
        copy_media(&Cluster::new(directory, bucket), copy)?;
    }
    // The database is closed.
    copy.folder(records, "records", Comparison::ByContent)
}

fn copy_repository(cluster: &Cluster, copy: &mut BackupCopy<'_>, namespace: &NamespaceRecord) -> anyhow::Result<()> {
    let folder = repository_folder(&copy.target, &namespace.account, &namespace.name, namespace.id);
    let name = folder.strip_prefix(&copy.target)?.to_string_lossy().into_owned();
    let state = cluster.ledger(namespace).state()?;
    if state != LedgerState::default() {
        // Only a missing folder can be created as a repository.
        drop(Repository::open_or_create(&folder)?);
    }
    for pack in state.packs {
        let stem = format!("{name}/objects/pack/{}", pack.stem());
        // An index without its pack would be written again.
        if copy.link_by_name(&format!("{stem}.pack"))? {
            copy.link_by_name(&format!("{stem}.idx"))?;
        }
    }
    repositories::fetch_one(&copy.target, cluster, namespace)?;
    if folder.exists() { copy.add_folder(&name) } else { Ok(()) }
}

fn copy_media(cluster: &Cluster, copy: &mut BackupCopy<'_>) -> anyhow::Result<()> {
    create_folder(&copy.target.join("media"))?;
    for namespace in cluster.store.all_namespaces()? {
        for record in cluster.store.media_of_namespace(namespace.id)? {
            let name = media_object(&record);
            if copy.previous_entry(&name).is_some_and(|entry| entry.sha256 == record.sha256) {
                copy.link_by_name(&name)?;
            }
        }
    }
    media::download(&copy.target, &cluster.store, cluster, copy.progress())?;
    copy.add_folder("media")
}

#[cfg(test)]
mod tests;
