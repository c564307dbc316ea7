//! What a backup holds: every file with its size and SHA-256.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use super::private_files::create;
use crate::file_errors::explained;

/// The name of the manifest in a backup's folder. It is written last: a folder without one is no backup.
pub const MANIFEST: &str = "manifest.json";
/// The layout of backups that this version writes and reads.
pub const FORMAT: u32 = 1;
/// Read at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// A backup's table of contents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// See [`FORMAT`].
    pub format: u32,
    /// The version of Cuebase that made it.
    pub version: String,
    /// RFC 3339.
    pub made_at: String,
    /// By path below the backup's folder.
    pub files: BTreeMap<String, Entry>,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its length.
    pub bytes: u64,
    /// Of its content, in hex.
    pub sha256: String,
}

impl Manifest {
    /// The manifest of the backup in a folder; none where there is no whole backup.
    pub fn read(folder: &Path) -> anyhow::Result<Option<Self>> {
        let path = folder.join(MANIFEST);
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(explained("read", &path))?,
        };
        let manifest: Self = serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))?;
        let found = manifest.format;
        ensure!(found <= FORMAT, "{} has format {found}, this version reads up to {FORMAT}", path.display());
        for name in manifest.files.keys() {
            let plain = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
            ensure!(plain && !name.contains('\0'), "{} names a file outside the backup: {name:?}", path.display());
        }
        Ok(Some(manifest))
    }

    /// All bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.values().map(|entry| entry.bytes).sum()
    }
}

/// The newest whole backup in a folder of backups, or the folder itself where it is a backup.
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

/// The backups in a folder of backups, oldest first: their names are times.
pub fn all(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(explained("read", folder))?,
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.join(MANIFEST).exists());
    found.sort();
    Ok(found)
}

/// Passes a file's bytes on and returns what they are.
pub fn copy(from: &Path, mut to: impl std::io::Write) -> std::io::Result<Entry> {
    let mut file = std::fs::File::open(from)?;
    let mut context = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
    let (mut chunk, mut bytes) = (vec![0; CHUNK_BYTES], 0);
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(Entry { bytes, sha256: HEXLOWER.encode(context.finish().as_ref()) });
        }
        context.update(&chunk[..read]);
        to.write_all(&chunk[..read])?;
        bytes += read as u64;
    }
}

/// Copies a file of a backup to its place and fails where it is not what the manifest says.
pub fn copy_checked(from: &Path, to: &Path, expected: &Entry) -> anyhow::Result<()> {
    let target = create(to).map_err(explained("write", to))?;
    let found = copy(from, &target).with_context(|| format!("cannot copy {}", from.display()))?;
    if found != *expected {
        bail!("{} is damaged: its checksum is not the one that the backup was made with", from.display());
    }
    Ok(())
}
