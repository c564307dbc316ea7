//! A consistent copy of everything, taken while the service works.
//!
//! ```text
//! DIR/2026-05-04T090000.123Z/   one backup: a data directory without what is derived
//!   records/  repositories/  media/
//!   manifest.json               written last
//! ```
//!
//! The records are copied first, as they are at one moment, then each repository while nobody writes to it. So a
//! repository may be ahead of the records, never behind: its further commits name the queue messages that they are of,
//! as after a crash. What has not changed since the newest backup is linked to it, so that every backup is whole and
//! costs what is new.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use cuebase_storage::records::NamespaceRecord;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Progress;
use super::manifest::{self, Entry, FORMAT, MANIFEST, Manifest};
use super::private_files::{create, create_folder};
use crate::error::{Error, Result};
use crate::file_errors::explained;
use crate::namespace::damage::LAST_BACKUP;
use crate::service::Service;

/// Before the name of a backup that is being made.
const UNFINISHED: &str = ".unfinished-";

/// What a backup came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Its folder.
    pub backup: PathBuf,
    /// Files in it.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that had to be written; the rest is shared with the backup before.
    pub written: u64,
}

/// Makes a backup in a folder of backups. Of the ones in it the newest `keep` stay.
pub fn backup(service: &Service, folder: &Path, keep: Option<usize>, tell: &dyn Fn(Progress)) -> Result<Report> {
    make(service, folder, keep, tell).map_err(|error| Error::internal(format!("{error:#}")))
}

fn make(service: &Service, folder: &Path, keep: Option<usize>, tell: &dyn Fn(Progress)) -> anyhow::Result<Report> {
    let data = &service.config.data;
    create_folder(folder)?;
    let real_data = data.canonicalize().map_err(explained("read", data))?;
    let inside = folder.canonicalize().map_err(explained("read", folder))?.starts_with(real_data);
    ensure!(
        !inside,
        "{} is inside the data directory: a backup belongs elsewhere, best on another disk",
        folder.display()
    );
    ensure!(keep != Some(0), "at least one backup must be kept");
    // One backup at a time, and no namespace that disappears meanwhile.
    let _held = service.namespaces.forbid_deletions();
    remove_unfinished(folder)?;
    let before = manifest::newest(folder)?;

    let now = Timestamp::now();
    let name = now.strftime("%Y-%m-%dT%H%M%S%.3fZ").to_string();
    let unfinished = folder.join(format!("{UNFINISHED}{name}"));
    create_folder(&unfinished)?;
    let mut copying = Copying { target: unfinished.clone(), before, files: BTreeMap::new(), written: 0, tell };

    let checkpoint = data.join("trash").join(format!("checkpoint-{name}"));
    create_folder(&data.join("trash"))?;
    let copied = service.store.checkpoint(&checkpoint).map_err(anyhow::Error::from);
    let copied = copied.and_then(|()| copying.folder(&checkpoint, "records", Kind::Compared));
    // The checkpoint is links only; what could not be removed is at the next start.
    let _ = fs::remove_dir_all(&checkpoint);
    copied?;

    for account in service.accounts()? {
        for namespace in service.store.namespaces(&account.account, None, usize::MAX)? {
            copying.repository(service, &namespace)?;
        }
    }
    copying.folder(&data.join("media"), "media", Kind::Immutable)?;

    let Copying { files, written, .. } = copying;
    let made = Manifest { format: FORMAT, version: env!("CARGO_PKG_VERSION").into(), made_at: now.to_string(), files };
    let mut file = create(&unfinished.join(MANIFEST))?;
    serde_json::to_writer(&mut file, &made)?;
    file.flush()?;
    // Everything that was written, and that it is there: one call for the whole file system.
    nix::unistd::syncfs(&file).context("cannot make the backup durable")?;
    let finished = folder.join(&name);
    fs::rename(&unfinished, &finished).with_context(|| format!("cannot name the backup {}", finished.display()))?;
    File::open(folder)?.sync_all()?;
    note(data, &finished)?;
    if let Some(keep) = keep {
        let all = manifest::all(folder)?;
        for old in &all[..all.len().saturating_sub(keep)] {
            fs::remove_dir_all(old).map_err(explained("remove", old))?;
        }
    }
    Ok(Report { backup: finished, files: made.files.len() as u64, bytes: made.bytes(), written })
}

/// How a file is told to be the one that the backup before has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// By its name and size: what has that name never changes.
    Immutable,
    /// By its content.
    Compared,
}

struct Copying<'a> {
    target: PathBuf,
    before: Option<(PathBuf, Manifest)>,
    files: BTreeMap<String, Entry>,
    written: u64,
    tell: &'a dyn Fn(Progress),
}

impl Copying<'_> {
    /// Copies a repository: its objects while it is written to, then what came meanwhile and its branches while it is
    /// not.
    fn repository(&mut self, service: &Service, record: &NamespaceRecord) -> anyhow::Result<()> {
        let from = service.namespaces.repository_path(record);
        if !from.join("HEAD").exists() {
            // A namespace that nothing was ever written to.
            return Ok(());
        }
        let data = &service.config.data;
        let below = from.strip_prefix(data)?.to_string_lossy().into_owned();
        let objects = format!("{below}/objects");
        self.folder(&from.join("objects"), &objects, Kind::Immutable)?;
        service.namespaces.with_writes_paused(record, || {
            self.folder(&from.join("objects"), &objects, Kind::Immutable)?;
            for entry in fs::read_dir(&from)?.flatten() {
                let part = entry.file_name().to_string_lossy().into_owned();
                // A commit under way leaves a note of its own, which means nothing in a copy.
                if part == "objects" || part.starts_with("cuebase-") {
                    continue;
                }
                let name = format!("{below}/{part}");
                if entry.file_type()?.is_dir() {
                    self.folder(&entry.path(), &name, Kind::Compared)?;
                } else {
                    self.file(&entry.path(), &name, Kind::Compared)?;
                }
            }
            self.drop_missing(data, &objects)
        })
    }

    /// Copies what a folder holds, but for files that are being written and what is copied already.
    fn folder(&mut self, from: &Path, name: &str, kind: Kind) -> anyhow::Result<()> {
        create_folder(&self.target.join(name))?;
        let entries = match fs::read_dir(from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(explained("read", from))?,
        };
        for entry in entries {
            let entry = entry?;
            let part = entry.file_name().to_string_lossy().into_owned();
            let unfinished = part.starts_with("tmp_") || part.ends_with(".lock") || part.ends_with(".new");
            // Nothing of ours is a symbolic link; whatever one points at is not ours.
            if unfinished
                || matches!(part.as_str(), "LOCK" | "BOOT" | "PROCESS")
                || part.starts_with("LOG")
                || entry.file_type()?.is_symlink()
            {
                continue;
            }
            let name = format!("{name}/{part}");
            if entry.file_type()?.is_dir() {
                self.folder(&entry.path(), &name, kind)?;
            } else if !self.files.contains_key(&name) {
                self.file(&entry.path(), &name, kind)?;
            }
        }
        Ok(())
    }

    /// Copies or links one file; one that has gone meanwhile is left out.
    fn file(&mut self, from: &Path, name: &str, kind: Kind) -> anyhow::Result<()> {
        let target = self.target.join(name);
        let former = self
            .before
            .as_ref()
            .and_then(|(folder, manifest)| manifest.files.get(name).map(|entry| (folder.join(name), entry.clone())));
        if let Some((linked, entry)) = former {
            let metadata = match fs::metadata(from) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                metadata => metadata?,
            };
            let same = metadata.len() == entry.bytes
                && (kind == Kind::Immutable || manifest::copy(from, io::sink())? == entry);
            // A file system without links has it copied.
            if same
                && fs::metadata(&linked).is_ok_and(|found| found.len() == entry.bytes)
                && fs::hard_link(&linked, &target).is_ok()
            {
                self.note(name, entry);
                return Ok(());
            }
        }
        let copied = create(&target).and_then(|file| manifest::copy(from, file));
        match copied {
            Ok(entry) => {
                self.written += entry.bytes;
                self.note(name, entry);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(fs::remove_file(&target)?),
            Err(error) => Err(error).with_context(|| format!("cannot copy {} to {}", from.display(), target.display())),
        }
    }

    fn note(&mut self, name: &str, entry: Entry) {
        self.files.insert(name.to_owned(), entry);
        let done = self.files.len() as u64;
        let all = self.before.as_ref().map_or(0, |(_, manifest)| manifest.files.len() as u64);
        if done.is_multiple_of(64) {
            (self.tell)(Progress::new("files copied", done, all.max(done)));
        }
    }

    /// Takes out what was copied first and is no longer there: packs that were joined meanwhile.
    fn drop_missing(&mut self, data: &Path, below: &str) -> anyhow::Result<()> {
        let prefix = format!("{below}/");
        let gone =
            self.files.range(prefix.clone()..).map(|(name, _)| name).take_while(|name| name.starts_with(&prefix));
        let gone: Vec<String> = gone.filter(|name| !data.join(name).exists()).cloned().collect();
        for name in gone {
            fs::remove_file(self.target.join(&name))?;
            self.files.remove(&name);
        }
        Ok(())
    }
}

/// Removes what an interrupted backup left.
fn remove_unfinished(folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).map_err(explained("read", folder))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            fs::remove_dir_all(entry.path()).map_err(explained("remove", &entry.path()))?;
        }
    }
    Ok(())
}

/// Notes where the newest backup is, for the day on which it is needed.
fn note(data: &Path, backup: &Path) -> anyhow::Result<()> {
    let temporary = data.join(format!("{LAST_BACKUP}.new"));
    fs::write(&temporary, format!("{}\n", backup.display())).map_err(explained("write", &temporary))?;
    Ok(fs::rename(&temporary, data.join(LAST_BACKUP))?)
}
