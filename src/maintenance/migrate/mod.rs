//! Migration: copies all data from a data directory into a cluster, or from a cluster into a data directory, while
//! nothing runs on either.
//!
//! 1. Both sides are checked: no server, no node, an unused target. Both get the mark of the migration ([`marker`]).
//! 2. The records are copied, then the [`repositories`] of the namespaces in them, then the uploaded files ([`media`]).
//! 3. Everything is compared, and the mark of the target is removed. Until then, nothing starts on it.
//!
//! An interrupted migration continues when the command is run again: each step skips what the target has. Indexes are
//! derived from the repositories and are not copied.

mod cluster;
mod marker;
pub(super) mod media;
pub(super) mod repositories;

use std::path::Path;

use anyhow::{Context, ensure};
use cuebase_storage::records::{compare_records, copy_records};
use cuebase_storage::{Error as StorageError, Store};

pub use self::cluster::Cluster;
pub(super) use self::cluster::media_object;
use super::progress::Progress;

/// What a migration copied, now or in an interrupted run before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MigrationReport {
    /// Number of records.
    pub records: u64,
    /// Number of namespaces.
    pub namespaces: u64,
    /// Number of packs of all repositories.
    pub packs: u64,
    /// Number of uploaded files.
    pub files: u64,
    /// Bytes of records, packs and files.
    pub bytes: u64,
}

/// Copies a data directory into a cluster.
///
/// # Errors
///
/// If a server or a node runs, if the cluster is not empty, if the source is damaged, or if the comparison finds a
/// difference. Each error names the remedy. The call can be repeated.
pub fn to_cluster(data: &Path, cluster: &Cluster, on_progress: &dyn Fn(Progress)) -> anyhow::Result<MigrationReport> {
    cluster.require_stopped()?;
    let directory = marker::begin_to_cluster(data, cluster)?;
    copy(&directory, &cluster.store, on_progress)?;
    repositories::publish(data, &directory, cluster, on_progress)?;
    media::upload(data, &directory, cluster, on_progress)?;
    let totals = compare(&directory, &cluster.store, on_progress)?;
    let report = compare_files(data, &directory, cluster, totals, on_progress)?;
    require_still_stopped(cluster)?;
    marker::finish(data, &directory, &cluster.store)?;
    Ok(report)
}

/// Copies a cluster into an empty or missing data directory.
///
/// # Errors
///
/// As [`to_cluster`].
pub fn to_directory(data: &Path, cluster: &Cluster, on_progress: &dyn Fn(Progress)) -> anyhow::Result<MigrationReport> {
    cluster.require_stopped()?;
    let directory = marker::begin_to_directory(data, cluster)?;
    copy(&cluster.store, &directory, on_progress)?;
    repositories::fetch(data, &directory, cluster, on_progress)?;
    media::download(data, &directory, cluster, on_progress)?;
    let totals = compare(&cluster.store, &directory, on_progress)?;
    let report = compare_files(data, &directory, cluster, totals, on_progress)?;
    require_still_stopped(cluster)?;
    marker::finish(data, &cluster.store, &directory)?;
    Ok(report)
}

/// Copies the records.
fn copy(from: &Store, to: &Store, on_progress: &dyn Fn(Progress)) -> anyhow::Result<()> {
    let copied = copy_records(from, to, &|records| on_progress(Progress::new("records copied", records, 0)));
    copied.context("cannot copy the records")
}

/// Compares the records.
fn compare(from: &Store, to: &Store, on_progress: &dyn Fn(Progress)) -> anyhow::Result<MigrationReport> {
    let compared = compare_records(from, to, &|records| on_progress(Progress::new("records compared", records, 0)));
    let failed = match &compared {
        Err(StorageError::Corrupt { .. }) => {
            "the copy differs from the source, which may have changed since the migration began: empty the target and \
             migrate again"
        }
        _ => "cannot compare the records",
    };
    let totals = compared.context(failed)?;
    Ok(MigrationReport { records: totals.records, bytes: totals.bytes, ..MigrationReport::default() })
}

/// Compares repositories and uploaded files, and adds their sizes to a report.
fn compare_files(
    data: &Path,
    directory: &Store,
    cluster: &Cluster,
    mut report: MigrationReport,
    on_progress: &dyn Fn(Progress),
) -> anyhow::Result<MigrationReport> {
    let namespaces = directory.all_namespaces()?;
    let all = namespaces.len() as u64;
    for namespace in &namespaces {
        let repository = repositories::compare(data, cluster, namespace)?;
        let media = media::compare(data, directory, cluster, namespace)?;
        report.namespaces += 1;
        report.packs += repository.packs;
        report.files += media.files;
        report.bytes += repository.bytes + media.bytes;
        on_progress(Progress::new("namespaces compared", report.namespaces, all));
    }
    Ok(report)
}

/// Fails if a node was started during the migration.
fn require_still_stopped(cluster: &Cluster) -> anyhow::Result<()> {
    ensure!(
        cluster.store.sessions()?.is_empty(),
        "a node of the cluster was started during the migration: stop it, then run this again"
    );
    Ok(())
}

#[cfg(test)]
mod tests;
