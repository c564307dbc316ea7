//! The folder of a backup that is being written, with its manifest so far.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cuebase_storage::records::NamespaceRecord;

use crate::app::App;
use crate::file_errors::explained;
use crate::maintenance::manifest::{self, FileEntry, Manifest};
use crate::maintenance::private_files::{create, create_folder};
use crate::maintenance::progress::Progress;
use crate::service::inspector::Inspector;

/// Files between two reports of progress.
const PROGRESS_INTERVAL: u64 = 64;

/// How a file is compared with the file of the same name in the previous backup.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// By name and size: files of these folders never change after they got their names.
    ByName,
    /// By content.
    ByContent,
}

/// A backup that is being written.
pub(super) struct BackupCopy<'a> {
    pub(super) target: PathBuf,
    /// Folder and manifest of the previous backup.
    previous: Option<(PathBuf, Manifest)>,
    pub(super) files: BTreeMap<String, FileEntry>,
    /// Bytes that were written rather than linked.
    pub(super) written: u64,
    on_progress: &'a dyn Fn(Progress),
}

impl<'a> BackupCopy<'a> {
    /// Begins a backup in an empty folder.
    pub(super) fn begin(
        target: &Path,
        previous: Option<(PathBuf, Manifest)>,
        on_progress: &'a dyn Fn(Progress),
    ) -> Self {
        Self { target: target.to_path_buf(), previous, files: BTreeMap::new(), written: 0, on_progress }
    }

    /// Reports progress.
    pub(super) fn progress(&self) -> &'a dyn Fn(Progress) {
        self.on_progress
    }
}

impl BackupCopy<'_> {
    /// Copies the records by way of a checkpoint in the trash folder.
    pub(super) fn records(&mut self, inspector: &Inspector, name: &str) -> anyhow::Result<()> {
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
    pub(super) fn repository(&mut self, app: &App, record: &NamespaceRecord) -> anyhow::Result<()> {
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
    pub(super) fn folder(&mut self, from: &Path, name: &str, comparison: Comparison) -> anyhow::Result<()> {
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

    /// The file in the previous backup.
    pub(super) fn previous_entry(&self, name: &str) -> Option<&FileEntry> {
        let (_, manifest) = self.previous.as_ref()?;
        manifest.files.get(name)
    }

    /// Links a file whose name says what it holds to the previous backup, if that has it. Returns whether it was linked.
    pub(super) fn link_by_name(&mut self, name: &str) -> anyhow::Result<bool> {
        let Some(entry) = self.previous_entry(name) else { return Ok(false) };
        let bytes = entry.bytes;
        let target = self.target.join(name);
        if let Some(folder) = target.parent() {
            create_folder(folder)?;
        }
        // With this comparison, only the previous backup is read.
        Ok(self.link(&target, name, bytes, Comparison::ByName)?)
    }

    /// Adds the files of a folder of this backup that are not in the manifest yet. Removes those that have no place in a
    /// backup.
    pub(super) fn add_folder(&mut self, name: &str) -> anyhow::Result<()> {
        let folder = self.target.join(name);
        for entry in fs::read_dir(&folder).map_err(explained("read", &folder))? {
            let entry = entry?;
            let part = entry.file_name().to_string_lossy().into_owned();
            let (path, name) = (entry.path(), format!("{name}/{part}"));
            if entry.file_type()?.is_dir() {
                self.add_folder(&name)?;
            } else if is_left_out(&part) {
                fs::remove_file(&path).map_err(explained("remove", &path))?;
            } else if !self.files.contains_key(&name) {
                let written = manifest::copy(&path, io::sink()).map_err(explained("read", &path))?;
                self.written += written.bytes;
                self.add(&name, written);
            }
        }
        Ok(())
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
