//! Backups: consistent copies of all data, taken while the service runs.
//!
//! ```text
//! DIR/2026-05-04T090000.123Z/   one backup: a data directory without derived data
//!   records/  repositories/  media/
//!   manifest.json               written last
//! ```
//!
//! The records are copied first, as of one moment. Then each repository is copied while nobody writes to it. A copied
//! repository can therefore be ahead of the records but never behind, exactly as after a crash: its newer commits name
//! their queue messages. Files that did not change since the newest backup are hard links to it, so that every backup
//! is complete and takes only the space of what is new.
//!
//! Several nodes keep their data elsewhere: [`shared`] writes a backup of it in the same form. [`copy`] is the folder
//! that is being written.

mod copy;
mod shared;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use cuebase_storage::files::replace;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use self::copy::{BackupCopy, Comparison};
use self::shared::SharedSource;
use super::manifest::{self, FORMAT, MANIFEST, Manifest};
use super::private_files::{create, create_folder};
use super::progress::Progress;
use crate::app::App;
use crate::error::{Error, Result, with_causes};
use crate::file_errors::explained;
use crate::namespace::damage::LAST_BACKUP;
use crate::namespace::repository_home::RepositoryHome;

/// Prefix of the folder name of an unfinished backup.
const UNFINISHED: &str = ".unfinished-";

/// The result of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupReport {
    /// Path of the backup.
    pub backup: PathBuf,
    /// Number of files.
    pub files: u64,
    /// Size of all files, in bytes.
    pub bytes: u64,
    /// Bytes that were written; the rest is shared with the previous backup.
    pub written: u64,
}

/// Creates a backup in a folder of backups. If `keep` is given, only the newest `keep` backups remain in the folder.
pub fn backup(app: &App, folder: &Path, keep: Option<usize>, on_progress: &dyn Fn(Progress)) -> Result<BackupReport> {
    match create_backup(app, folder, keep, on_progress) {
        Ok(report) => Ok(report),
        Err(error) => Err(Error::internal(with_causes(&error))),
    }
}

fn create_backup(
    app: &App,
    folder: &Path,
    keep: Option<usize>,
    on_progress: &dyn Fn(Progress),
) -> anyhow::Result<BackupReport> {
    let data = app.inspector.data();
    create_folder(folder)?;
    ensure_outside(folder, data)?;
    ensure!(keep != Some(0), "at least one backup must be kept");
    // One backup at a time, and no namespace is deleted meanwhile.
    let shared = match app.namespaces.repositories() {
        RepositoryHome::Disk => None,
        RepositoryHome::Records(bucket) => Some(SharedSource::of_node(app, bucket)?),
    };
    let _held = if shared.is_none() { Some(app.namespaces.forbid_deletions()) } else { None };
    remove_unfinished(folder)?;
    let previous = manifest::newest(folder)?;

    let now = Timestamp::now();
    let name = now.strftime("%Y-%m-%dT%H%M%S%.3fZ").to_string();
    let unfinished = folder.join(format!("{UNFINISHED}{name}"));
    create_folder(&unfinished)?;
    let mut copy = BackupCopy::begin(&unfinished, previous, on_progress);
    let _hold = match shared {
        Some(shared) => Some(shared.copy_to(&mut copy, data, &name)?),
        None => {
            copy_directory(app, &mut copy, &name)?;
            None
        }
    };

    let BackupCopy { files, written, .. } = copy;
    let manifest =
        Manifest { format: FORMAT, version: env!("CARGO_PKG_VERSION").into(), made_at: now.to_string(), files };
    let finished = folder.join(&name);
    publish(&manifest, &unfinished, &finished)?;
    File::open(folder)?.sync_all()?;
    record_last_backup(data, &finished)?;
    if let Some(keep) = keep {
        remove_oldest(folder, keep)?;
    }
    Ok(BackupReport { backup: finished, files: manifest.files.len() as u64, bytes: manifest.bytes(), written })
}

/// Copies the data directory.
fn copy_directory(app: &App, copy: &mut BackupCopy<'_>, name: &str) -> anyhow::Result<()> {
    copy.records(&app.inspector, name)?;
    for namespace in app.inspector.all_namespaces()? {
        copy.repository(app, &namespace)?;
    }
    copy.folder(&app.inspector.data().join("media"), "media", Comparison::ByName)
}

/// Refuses a folder of backups inside the data directory.
fn ensure_outside(folder: &Path, data: &Path) -> anyhow::Result<()> {
    let real_data = data.canonicalize().map_err(explained("read", data))?;
    let real_folder = folder.canonicalize().map_err(explained("read", folder))?;
    ensure!(
        !real_folder.starts_with(real_data),
        "{} is inside the data directory: use a folder outside of it, preferably on another disk",
        folder.display()
    );
    Ok(())
}

/// Writes the manifest, syncs the backup and gives it its final name.
fn publish(manifest: &Manifest, unfinished: &Path, finished: &Path) -> anyhow::Result<()> {
    let mut file = create(&unfinished.join(MANIFEST))?;
    serde_json::to_writer(&mut file, manifest)?;
    file.flush()?;
    // One call for the whole file system syncs all files and their directory entries.
    nix::unistd::syncfs(&file).context("cannot make the backup durable")?;
    fs::rename(unfinished, finished).with_context(|| format!("cannot name the backup {}", finished.display()))
}

/// Removes all backups of a folder but the newest `keep`.
fn remove_oldest(folder: &Path, keep: usize) -> anyhow::Result<()> {
    let backups = manifest::all(folder)?;
    for old in &backups[..backups.len().saturating_sub(keep)] {
        fs::remove_dir_all(old).map_err(explained("remove", old))?;
    }
    Ok(())
}

/// Removes what interrupted backups left.
fn remove_unfinished(folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).map_err(explained("read", folder))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            fs::remove_dir_all(entry.path()).map_err(explained("remove", &entry.path()))?;
        }
    }
    Ok(())
}

/// Records the path of the newest backup in the data directory. Errors about damaged data name it.
fn record_last_backup(data: &Path, backup: &Path) -> anyhow::Result<()> {
    let path = data.join(LAST_BACKUP);
    let line = format!("{}\n", backup.display());
    replace(&path, line.as_bytes()).map_err(explained("write", &path))
}
