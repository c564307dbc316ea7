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

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use cuebase_storage::files::replace;
use cuebase_storage::records::NamespaceRecord;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::manifest::{self, FORMAT, FileEntry, MANIFEST, Manifest};
use super::private_files::{create, create_folder};
use super::progress::Progress;
use crate::app::App;
use crate::error::{Error, Result, with_causes};
use crate::file_errors::explained;
use crate::namespace::damage::LAST_BACKUP;
use crate::service::inspector::Inspector;

/// Prefix of the folder name of an unfinished backup.
const UNFINISHED: &str = ".unfinished-";
/// Files between two reports of progress.
const PROGRESS_INTERVAL: u64 = 64;

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
    let _held = app.namespaces.forbid_deletions();
    remove_unfinished(folder)?;
    let previous = manifest::newest(folder)?;

    let now = Timestamp::now();
    let name = now.strftime("%Y-%m-%dT%H%M%S%.3fZ").to_string();
    let unfinished = folder.join(format!("{UNFINISHED}{name}"));
    create_folder(&unfinished)?;
    let mut copy = BackupCopy { target: unfinished.clone(), previous, files: BTreeMap::new(), written: 0, on_progress };
    copy.records(&app.inspector, &name)?;
    for namespace in app.inspector.all_namespaces()? {
        copy.repository(app, &namespace)?;
    }
    copy.folder(&data.join("media"), "media", Comparison::ByName)?;

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

/// How a file is compared with the file of the same name in the previous backup.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// By name and size: files of these folders never change after they got their names.
    ByName,
    /// By content.
    ByContent,
}

/// A backup that is being written.
struct BackupCopy<'a> {
    target: PathBuf,
    /// Folder and manifest of the previous backup.
    previous: Option<(PathBuf, Manifest)>,
    files: BTreeMap<String, FileEntry>,
    /// Bytes that were written rather than linked.
    written: u64,
    on_progress: &'a dyn Fn(Progress),
}

impl BackupCopy<'_> {
    /// Copies the records by way of a checkpoint in the trash folder.
    fn records(&mut self, inspector: &Inspector, name: &str) -> anyhow::Result<()> {
        let trash = inspector.data().join("trash");
        create_folder(&trash)?;
        let checkpoint = trash.join(format!("checkpoint-{name}"));
        let copied = match inspector.checkpoint(&checkpoint) {
            Ok(()) => self.folder(&checkpoint, "records", Comparison::ByContent),
            Err(error) => Err(error.into()),
        };
        // The checkpoint consists of hard links. If it cannot be removed now, the next start removes it.
        let _ = fs::remove_dir_all(&checkpoint);
        copied
    }

    /// Copies a repository: most objects while it may be written to, then newer objects and its branches while writes
    /// are held back.
    fn repository(&mut self, app: &App, record: &NamespaceRecord) -> anyhow::Result<()> {
        let from = app.namespaces.repository_path(record);
        if !from.join("HEAD").exists() {
            // Nothing was ever written to this namespace.
            return Ok(());
        }
        let data = app.inspector.data();
        let name = from.strip_prefix(data)?.to_string_lossy().into_owned();
        self.folder(&from.join("objects"), &format!("{name}/objects"), Comparison::ByName)?;
        app.namespaces.with_writes_paused(record, || self.quiet_repository(data, &from, &name))
    }

    /// Copies the rest of a repository that nobody writes to.
    fn quiet_repository(&mut self, data: &Path, from: &Path, name: &str) -> anyhow::Result<()> {
        let objects = format!("{name}/objects");
        self.folder(&from.join("objects"), &objects, Comparison::ByName)?;
        for entry in fs::read_dir(from)?.flatten() {
            let part = entry.file_name().to_string_lossy().into_owned();
            // Files named cuebase-… belong to running commits; they have no use in a copy.
            if part == "objects" || part.starts_with("cuebase-") {
                continue;
            }
            let name = format!("{name}/{part}");
            if entry.file_type()?.is_dir() {
                self.folder(&entry.path(), &name, Comparison::ByContent)?;
            } else {
                self.file(&entry.path(), &name, Comparison::ByContent)?;
            }
        }
        self.drop_missing(data, &objects)
    }

    /// Copies the contents of a folder, without unfinished files and files that are copied already.
    fn folder(&mut self, from: &Path, name: &str, comparison: Comparison) -> anyhow::Result<()> {
        create_folder(&self.target.join(name))?;
        let entries = match fs::read_dir(from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(explained("read", from))?,
        };
        for entry in entries {
            let entry = entry?;
            let part = entry.file_name().to_string_lossy().into_owned();
            // Cuebase creates no symbolic links.
            if is_left_out(&part) || entry.file_type()?.is_symlink() {
                continue;
            }
            let name = format!("{name}/{part}");
            if entry.file_type()?.is_dir() {
                self.folder(&entry.path(), &name, comparison)?;
            } else if !self.files.contains_key(&name) {
                self.file(&entry.path(), &name, comparison)?;
            }
        }
        Ok(())
    }

    /// Links or copies one file. A file that was removed meanwhile is left out.
    fn file(&mut self, from: &Path, name: &str, comparison: Comparison) -> anyhow::Result<()> {
        if self.previous_has(name) {
            let metadata = match fs::metadata(from) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                metadata => metadata?,
            };
            if self.link(from, name, metadata.len(), comparison)? {
                return Ok(());
            }
        }
        let target = self.target.join(name);
        let copied = match create(&target) {
            Ok(file) => manifest::copy(from, file),
            Err(error) => Err(error),
        };
        match copied {
            Ok(entry) => {
                self.written += entry.bytes;
                self.add(name, entry);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(fs::remove_file(&target)?),
            Err(error) => Err(error).with_context(|| format!("cannot copy {} to {}", from.display(), target.display())),
        }
    }

    fn previous_has(&self, name: &str) -> bool {
        match &self.previous {
            Some((_, manifest)) => manifest.files.contains_key(name),
            None => false,
        }
    }

    /// Links a file to the previous backup if that has the same file. Returns whether it was linked.
    fn link(&mut self, from: &Path, name: &str, bytes: u64, comparison: Comparison) -> io::Result<bool> {
        let Some((folder, previous)) = &self.previous else { return Ok(false) };
        let Some(entry) = previous.files.get(name) else { return Ok(false) };
        if bytes != entry.bytes {
            return Ok(false);
        }
        if comparison == Comparison::ByContent && manifest::copy(from, io::sink())? != *entry {
            return Ok(false);
        }
        let former = folder.join(name);
        let has_former = fs::metadata(&former).is_ok_and(|metadata| metadata.len() == entry.bytes);
        // On a file system without hard links, the file is copied.
        if !has_former || fs::hard_link(&former, self.target.join(name)).is_err() {
            return Ok(false);
        }
        let entry = entry.clone();
        self.add(name, entry);
        Ok(true)
    }

    /// Adds a file to the manifest.
    fn add(&mut self, name: &str, entry: FileEntry) {
        self.files.insert(name.to_owned(), entry);
        let done = self.files.len() as u64;
        if done.is_multiple_of(PROGRESS_INTERVAL) {
            let expected = match &self.previous {
                Some((_, manifest)) => manifest.files.len() as u64,
                None => 0,
            };
            (self.on_progress)(Progress::new("files copied", done, expected.max(done)));
        }
    }

    /// Removes copied files of a folder that no longer exist, such as packs that were joined meanwhile.
    fn drop_missing(&mut self, data: &Path, below: &str) -> anyhow::Result<()> {
        let prefix = format!("{below}/");
        let mut missing = Vec::new();
        for name in self.files.range(prefix.clone()..).map(|(name, _)| name) {
            if !name.starts_with(&prefix) {
                break;
            }
            if !data.join(name).exists() {
                missing.push(name.clone());
            }
        }
        for name in missing {
            fs::remove_file(self.target.join(&name))?;
            self.files.remove(&name);
        }
        Ok(())
    }
}

/// Returns whether a file or folder has no place in a backup: unfinished files, lock files and logs of RocksDB.
fn is_left_out(name: &str) -> bool {
    let is_unfinished = name.starts_with("tmp_") || name.ends_with(".lock") || name.ends_with(".new");
    is_unfinished || matches!(name, "LOCK" | "BOOT" | "PROCESS") || name.starts_with("LOG")
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
