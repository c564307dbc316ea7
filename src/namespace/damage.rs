//! Advice for damaged data: which backup to restore.

use std::fs;
use std::path::Path;

/// The file of the data directory that names the newest backup.
pub const LAST_BACKUP: &str = "last-backup";

/// Returns the newest known backup of a data directory.
pub fn last_backup(data: &Path) -> Option<String> {
    let text = fs::read_to_string(data.join(LAST_BACKUP)).ok()?;
    let backup = text.trim_end();
    if backup.is_empty() { None } else { Some(backup.to_owned()) }
}

/// Returns advice for damaged records or repositories of a data directory.
pub fn restore_advice(data: &Path) -> String {
    match last_backup(data) {
        Some(backup) => format!(
            "move {} away and put the backup in its place: cuebase restore {backup} --data {}",
            data.display(),
            data.display()
        ),
        None => "restore a backup with `cuebase restore`; no backup of this data directory is known".to_owned(),
    }
}
