//! The marks of an unfinished migration, which let it continue and keep others from using an incomplete copy.
//!
//! A migration has a random id. It is in the database of the cluster, in a file of the data directory, and, if the data
//! directory is the target, also in its records. The target is complete once the mark in its records is removed.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use cuebase_storage::files::replace;
use cuebase_storage::records::MigrationEnd;
use cuebase_storage::{Error as StorageError, Store};
use ulid::Ulid;

use super::cluster::Cluster;
use crate::file_errors::explained;
use crate::service::data_directory::{create_private, with_remedy};

/// The file of the data directory that has the id.
const FILE: &str = "migration";
/// A folder that file systems create at their root; a directory that holds nothing else counts as empty.
const LOST_AND_FOUND: &str = "lost+found";

/// Begins or continues a migration from a data directory. Returns its records.
pub(super) fn begin_to_cluster(data: &Path, cluster: &Cluster) -> anyhow::Result<Arc<Store>> {
    let directory = open_records(data)?;
    ensure!(
        directory.migration(MigrationEnd::Target)?.is_none(),
        "{} is the target of an unfinished migration: finish it with `cuebase migrate to-directory`",
        data.display()
    );
    ensure!(
        !directory.has_format_1_directories()? && !directory.has_unfinished_erasures()?,
        "{} has work that only a server finishes (an erasure, or folders of an earlier format): start a server on it, \
         wait until the erasure is reported as done, and stop it",
        data.display()
    );
    let known = read_id(data)?;
    match cluster.store.migration(MigrationEnd::Target)? {
        Some(id) if known == Some(id) => {}
        Some(_) => bail!(
            "the cluster is the target of an unfinished migration from another data directory: finish that one, or \
             name a new database and a new bucket or prefix"
        ),
        None => {
            cluster.require_unused()?;
            let id = Ulid::generate();
            write_id(data, id)?;
            cluster.store.begin_migration(MigrationEnd::Target, id)?;
        }
    }
    Ok(directory)
}

/// Begins or continues a migration into a data directory. Returns its records.
pub(super) fn begin_to_directory(data: &Path, cluster: &Cluster) -> anyhow::Result<Arc<Store>> {
    ensure!(
        cluster.store.migration(MigrationEnd::Target)?.is_none(),
        "the cluster is the target of an unfinished migration: finish it with `cuebase migrate to-cluster`"
    );
    ensure!(!cluster.store.is_unused()?, "the database of the cluster has no records: check storage.postgres.url");
    ensure!(
        !cluster.store.has_unfinished_erasures()?,
        "an erasure in the cluster is not finished: start a node, wait until it is reported as done, and stop the node"
    );
    let id = match read_id(data)? {
        Some(id) => id,
        None => {
            ensure!(is_empty(data)?, "{} is not empty: name an empty or missing folder with --data", data.display());
            create_private(data)?;
            let id = Ulid::generate();
            write_id(data, id)?;
            id
        }
    };
    let directory = open_records(data)?;
    if directory.migration(MigrationEnd::Target)? == Some(id) {
        ensure!(
            cluster.store.migration(MigrationEnd::Source)? == Some(id),
            "{} is the target of an unfinished migration from another cluster: finish that one, or remove the folder",
            data.display()
        );
        return Ok(directory);
    }
    ensure!(directory.is_unused()?, "{} has records: name an empty or missing folder with --data", data.display());
    cluster.store.begin_migration(MigrationEnd::Source, id)?;
    directory.begin_migration(MigrationEnd::Target, id)?;
    Ok(directory)
}

/// Ends a migration. The target is complete.
pub(super) fn finish(data: &Path, from: &Store, to: &Store) -> anyhow::Result<()> {
    to.finish_migration(MigrationEnd::Target)?;
    from.finish_migration(MigrationEnd::Source)?;
    let file = data.join(FILE);
    fs::remove_file(&file).map_err(explained("remove", &file))
}

fn open_records(data: &Path) -> anyhow::Result<Arc<Store>> {
    match Store::open(&data.join("records")) {
        Ok(store) => Ok(Arc::new(store)),
        Err(StorageError::Locked(_)) => {
            bail!("a server or a command uses {}: stop it, then run this again", data.display())
        }
        Err(error) => Err(with_remedy(error.into(), data)),
    }
}

/// Whether a directory is missing or holds nothing.
fn is_empty(data: &Path) -> anyhow::Result<bool> {
    let entries = match fs::read_dir(data) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        entries => entries.map_err(explained("read", data))?,
    };
    for entry in entries {
        if entry.map_err(explained("read", data))?.file_name() != LOST_AND_FOUND {
            return Ok(false);
        }
    }
    Ok(true)
}

fn read_id(data: &Path) -> anyhow::Result<Option<Ulid>> {
    let file = data.join(FILE);
    let text = match fs::read_to_string(&file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text.map_err(explained("read", &file))?,
    };
    let id = Ulid::from_string(text.trim_end());
    Ok(Some(id.with_context(|| format!("{} does not hold the id of a migration: remove it", file.display()))?))
}

fn write_id(data: &Path, id: Ulid) -> anyhow::Result<()> {
    let file = data.join(FILE);
    replace(&file, format!("{id}\n").as_bytes()).map_err(explained("write", &file))
}
