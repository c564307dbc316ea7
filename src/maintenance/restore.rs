//! Restoring a data directory from a backup.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use super::manifest::{self, Manifest, copy_checked};
use super::private_files::{create_folder, remove_if_exists};
use super::progress::Progress;

/// The result of a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreReport {
    /// Path of the backup.
    pub backup: PathBuf,
    /// Time of the backup, RFC 3339.
    pub made_at: String,
    /// Path of the restored data directory.
    pub data: PathBuf,
    /// Number of files.
    pub files: u64,
    /// Size of all files, in bytes.
    pub bytes: u64,
}

/// Restores a data directory from a backup, or from the newest backup in a folder of backups.
///
/// The data directory must be absent or empty. It appears only after every file was checked against the manifest.
pub fn restore(backups: &Path, data: &Path, on_progress: &dyn Fn(Progress)) -> anyhow::Result<RestoreReport> {
    let newest = manifest::newest(backups)?;
    let (backup, manifest) = newest.with_context(|| format!("no backup found in {}", backups.display()))?;
    let is_occupied = fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_some());
    ensure!(!is_occupied, "{} is not empty: move it away, or restore to another path with --data", data.display());
    let mut unfinished = data.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    remove_if_exists(&unfinished)?;
    create_folder(&unfinished)?;
    let all = manifest.files.len() as u64;
    for (done, (name, entry)) in (0..).zip(&manifest.files) {
        let to = unfinished.join(name);
        create_folder(to.parent().unwrap_or(&unfinished))?;
        copy_checked(&backup.join(name), &to, entry)?;
        on_progress(Progress::new("files restored", done, all));
    }
    create_repository_folders(&manifest, &unfinished)?;
    nix::unistd::syncfs(fs::File::open(&unfinished)?).context("cannot make the data directory durable")?;
    remove_if_exists(data)?;
    fs::rename(&unfinished, data).with_context(|| format!("cannot move the data directory to {}", data.display()))?;
    let parent = match data.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::File::open(parent)?.sync_all()?;
    Ok(RestoreReport {
        backup,
        made_at: manifest.made_at.clone(),
        data: data.to_path_buf(),
        files: all,
        bytes: manifest.bytes(),
    })
}

/// Creates the folders that git requires in each repository. An empty repository has no files in them, and the manifest
/// lists only files.
fn create_repository_folders(manifest: &Manifest, data: &Path) -> anyhow::Result<()> {
    for name in manifest.files.keys() {
        if let Some(name) = name.strip_suffix(".git/HEAD") {
            for part in ["objects/pack", "refs/heads"] {
                create_folder(&data.join(format!("{name}.git")).join(part))?;
            }
        }
    }
    Ok(())
}
