//! Advice for damaged data: which backup to restore.

use std::fs;
use std::path::Path;

/// A file of the data directory that names the newest backup.
pub const LAST_BACKUP: &str = "last-backup";

/// The newest backup that was made of a data directory, as far as it is known.
pub fn last_backup(data: &Path) -> Option<String> {
    let text = fs::read_to_string(data.join(LAST_BACKUP)).ok()?;
    Some(text.trim_end().to_owned()).filter(|text| !text.is_empty())
}

/// What to do where records or repositories of a data directory are damaged.
pub fn restore_advice(data: &Path) -> String {
    match last_backup(data) {
        Some(backup) => format!(
            "move {} away and put the backup in its place: cuebase restore {backup} --data {}",
            data.display(),
            data.display()
        ),
        None => "what is damaged can only come from a backup (`cuebase restore`), and none is known here".to_owned(),
    }
}
