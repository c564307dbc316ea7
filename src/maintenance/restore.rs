//! A data directory made of a backup.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use super::Progress;
use super::manifest::{self, copy_checked};
use super::private_files::{create_folder, remove_if_there};

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The backup.
    pub backup: PathBuf,
    /// When it was made, RFC 3339.
    pub made_at: String,
    /// Where it is now.
    pub data: PathBuf,
    /// Its files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Makes a data directory of the newest backup in a folder of backups, or of the backup that the folder is. Nothing is
/// written over: the data directory must be absent or empty. Every file is checked against the backup's manifest before
/// the data directory is there.
pub fn restore(backups: &Path, data: &Path, tell: &dyn Fn(Progress)) -> anyhow::Result<Report> {
    let found = manifest::newest(backups)?;
    let (backup, manifest) = found.with_context(|| format!("there is no backup in {}", backups.display()))?;
    let taken = fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_some());
    ensure!(!taken, "{} is not empty: move it out of the way, or restore to another place with --data", data.display());
    let mut unfinished = data.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    remove_if_there(&unfinished)?;
    create_folder(&unfinished)?;
    let all = manifest.files.len() as u64;
    for (done, (name, entry)) in (0..).zip(&manifest.files) {
        let to = unfinished.join(name);
        create_folder(to.parent().unwrap_or(&unfinished))?;
        copy_checked(&backup.join(name), &to, entry)?;
        tell(Progress::new("files restored", done, all));
    }
    // A repository needs these folders, and an empty one has no files in them.
    for name in manifest.files.keys().filter_map(|name| name.strip_suffix(".git/HEAD")) {
        for part in ["objects/pack", "refs/heads"] {
            create_folder(&unfinished.join(format!("{name}.git")).join(part))?;
        }
    }
    nix::unistd::syncfs(fs::File::open(&unfinished)?).context("cannot make the data directory durable")?;
    remove_if_there(data)?;
    fs::rename(&unfinished, data).with_context(|| format!("cannot move the data directory to {}", data.display()))?;
    let parent = data.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(parent)?.sync_all()?;
    Ok(Report {
        backup,
        made_at: manifest.made_at.clone(),
        data: data.to_path_buf(),
        files: all,
        bytes: manifest.bytes(),
    })
}
