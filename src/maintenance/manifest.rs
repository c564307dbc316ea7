//! The manifest of a backup: every file with its size and SHA-256.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use super::private_files::create;
use crate::file_errors::explained;
use crate::sha256::Sha256;

/// File name of the manifest in a backup's folder. It is written last: a folder without it is not a complete backup.
pub const MANIFEST: &str = "manifest.json";
/// Version of the layout of backups that this build writes, and the newest that it reads.
pub const FORMAT: u32 = 1;
/// Bytes read at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// A backup's table of contents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// See [`FORMAT`].
    pub format: u32,
    /// Version of Cuebase that created the backup.
    pub version: String,
    /// Time of the backup, RFC 3339.
    pub made_at: String,
    /// Files by their paths relative to the backup's folder.
    pub files: BTreeMap<String, FileEntry>,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Length of the file.
    pub bytes: u64,
    /// SHA-256 of the content, in hex.
    pub sha256: String,
}

impl Manifest {
    /// Reads the manifest of the backup in a folder. Returns `None` if the folder is not a complete backup.
    pub fn read(folder: &Path) -> anyhow::Result<Option<Self>> {
        let path = folder.join(MANIFEST);
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(explained("read", &path))?,
        };
        let manifest: Self = serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))?;
        ensure!(
            manifest.format <= FORMAT,
            "{} has format {}, this version reads up to {FORMAT}",
            path.display(),
            manifest.format
        );
        for name in manifest.files.keys() {
            let is_inside = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
            ensure!(is_inside && !name.contains('\0'), "{} names a file outside the backup: {name:?}", path.display());
        }
        Ok(Some(manifest))
    }

    /// Returns the size of all files, in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.values().map(|entry| entry.bytes).sum()
    }
}

/// Returns the newest complete backup in a folder of backups, or the folder itself if it is a backup.
pub fn newest(folder: &Path) -> anyhow::Result<Option<(PathBuf, Manifest)>> {
    if let Some(manifest) = Manifest::read(folder)? {
        return Ok(Some((folder.to_path_buf(), manifest)));
    }
    for path in all(folder)?.into_iter().rev() {
        if let Some(manifest) = Manifest::read(&path)? {
            return Ok(Some((path, manifest)));
        }
    }
    Ok(None)
}

/// Returns the backups in a folder of backups, oldest first. Their names are times.
pub fn all(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(explained("read", folder))?,
    };
    let mut backups = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.join(MANIFEST).exists() {
            backups.push(path);
        }
    }
    backups.sort();
    Ok(backups)
}

/// Copies the bytes of a file to a writer and returns their length and SHA-256.
pub fn copy(from: &Path, mut to: impl std::io::Write) -> std::io::Result<FileEntry> {
    let mut file = std::fs::File::open(from)?;
    let mut hash = Sha256::new();
    let (mut chunk, mut bytes) = (vec![0; CHUNK_BYTES], 0);
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(FileEntry { bytes, sha256: HEXLOWER.encode(&hash.finish()) });
        }
        hash.update(&chunk[..read]);
        to.write_all(&chunk[..read])?;
        bytes += read as u64;
    }
}

/// Copies a file of a backup. Fails if it differs from its entry in the manifest.
pub fn copy_checked(from: &Path, to: &Path, expected: &FileEntry) -> anyhow::Result<()> {
    let target = create(to).map_err(explained("write", to))?;
    let copied = copy(from, &target).with_context(|| format!("cannot copy {}", from.display()))?;
    if copied != *expected {
        bail!("{} is damaged: its size or SHA-256 differs from the backup's manifest", from.display());
    }
    Ok(())
}
