//! The repositories of a migration: each is published to the ledger of its namespace, or fetched from it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use cuebase_storage::Store;
use cuebase_storage::git::{Ledger, LedgerState, Repository, RepositorySize};
use cuebase_storage::records::NamespaceRecord;
use cuebase_storage::records::ownership::{Claim, NodeSession};

use super::cluster::Cluster;
use crate::maintenance::progress::Progress;
use crate::namespace::registry::repository_folder;

/// The address of the node that publishes repositories, which answers no requests.
const ADDRESS: &str = "cuebase-migrate";

/// Publishes the repositories of a data directory. The cluster has its records already.
pub(super) fn publish(
    data: &Path,
    directory: &Store,
    cluster: &Cluster,
    on_progress: &dyn Fn(Progress),
) -> anyhow::Result<()> {
    // The session is not renewed. No node starts on the target of an unfinished migration, so nobody claims what this
    // one owns, even if somebody declares it dead. After such a claim, every batch would fail with `NotOwner`.
    let session = NodeSession::begin(&cluster.store, ADDRESS, env!("CARGO_PKG_VERSION"), Instant::now())?;
    let published = publish_all(data, directory, cluster, &session, on_progress);
    let ended = session.end();
    published?;
    ended?;
    // Removes what the session left among the meters.
    cluster.store.fold_usage()?;
    Ok(())
}

fn publish_all(
    data: &Path,
    directory: &Store,
    cluster: &Cluster,
    session: &NodeSession,
    on_progress: &dyn Fn(Progress),
) -> anyhow::Result<()> {
    let namespaces = directory.all_namespaces()?;
    let all = namespaces.len() as u64;
    for (done, namespace) in (1..).zip(&namespaces) {
        publish_one(data, cluster, session, namespace).with_context(|| failed(namespace))?;
        on_progress(Progress::new("repositories copied", done, all));
    }
    Ok(())
}

fn publish_one(
    data: &Path,
    cluster: &Cluster,
    session: &NodeSession,
    namespace: &NamespaceRecord,
) -> anyhow::Result<()> {
    let path = path_of(data, namespace);
    let Some(repository) = Repository::open_existing(&path)? else {
        let path = path.display();
        ensure!(namespace.head.is_none(), "its repository {path} is missing: restore a backup with `cuebase restore`");
        return Ok(());
    };
    let ledger = cluster.ledger(namespace);
    // Nothing to do for a repository without commits, or one that an interrupted run published. An error of the
    // comparison returns when the repository is published.
    if repository.compare_with_ledger(&ledger).is_ok() {
        return Ok(());
    }
    match cluster.store.claim(session.id(), &namespace.key())? {
        Claim::Held => {}
        Claim::OwnedBy(_, node) => bail!("the node at {} owns it: stop all nodes of the cluster", node.address),
        Claim::Gone => bail!("the records of the cluster lack it"),
    }
    repository.publish_all(&ledger)?;
    Ok(cluster.store.release(namespace.id)?)
}

/// Fetches the repositories of a cluster. The data directory has its records already.
pub(super) fn fetch(
    data: &Path,
    directory: &Store,
    cluster: &Cluster,
    on_progress: &dyn Fn(Progress),
) -> anyhow::Result<()> {
    let namespaces = directory.all_namespaces()?;
    let all = namespaces.len() as u64;
    for (done, namespace) in (1..).zip(&namespaces) {
        fetch_one(data, cluster, namespace)?;
        on_progress(Progress::new("repositories copied", done, all));
    }
    Ok(())
}

/// Fetches the repository of one namespace. Packs that the folder has are left as they are.
pub(in crate::maintenance) fn fetch_one(
    data: &Path,
    cluster: &Cluster,
    namespace: &NamespaceRecord,
) -> anyhow::Result<()> {
    let ledger = cluster.ledger(namespace);
    if ledger.state().with_context(|| failed(namespace))? == LedgerState::default() {
        ensure!(namespace.head.is_none(), "{}: its repository is missing in the records", failed(namespace));
        return Ok(());
    }
    let opened = Repository::open_with_ledger(&path_of(data, namespace), Arc::new(ledger));
    // From now on it is a repository without a ledger.
    drop(opened.with_context(|| failed(namespace))?);
    Ok(())
}

/// Compares the repository of a namespace on both sides. Returns its size.
pub(super) fn compare(data: &Path, cluster: &Cluster, namespace: &NamespaceRecord) -> anyhow::Result<RepositorySize> {
    let ledger = cluster.ledger(namespace);
    let Some(repository) = Repository::open_existing(&path_of(data, namespace))? else {
        ensure!(
            ledger.state()? == LedgerState::default(),
            "the repository of the namespace {:?} is missing in the data directory",
            namespace.name
        );
        return Ok(RepositorySize::default());
    };
    let size = repository.compare_with_ledger(&ledger).with_context(|| failed(namespace))?;
    ledger.check_sizes().with_context(|| failed(namespace))?;
    Ok(size)
}

fn path_of(data: &Path, namespace: &NamespaceRecord) -> PathBuf {
    repository_folder(data, &namespace.account, &namespace.name, namespace.id)
}

fn failed(namespace: &NamespaceRecord) -> String {
    format!("cannot copy the namespace {:?} of the account {:?}", namespace.name, namespace.account)
}
