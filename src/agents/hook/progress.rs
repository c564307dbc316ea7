//! How much of a session's transcript is stored.
//!
//! Two hooks of a session may run at the same time, so a lock guards the record. The end of a part is recorded before
//! the part is sent. If a hook is killed in between, the next one sends the same body again, which the server
//! recognizes.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::super::places::{Places, RECORD_FORMAT, read, write};
use crate::file_errors::explained;

/// A prompt may be written this long before the hook of its session's start runs.
const START_SLACK: SignedDuration = SignedDuration::from_secs(5);
/// Age at which the record of a session is removed.
const RECORD_AGE_MAX: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// How much of a transcript is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Progress {
    /// Bytes of the transcript that are stored.
    pub(super) stored: u64,
    /// The end of the part that was being sent when the record was written.
    pub(super) sending: Option<u64>,
    /// The start of the session. A forked session begins with a copy of an earlier one, which is not stored again.
    pub(super) since: Option<Timestamp>,
}

/// Progress as its record holds it.
#[derive(Serialize)]
struct StoredProgress<'a> {
    #[serde(flatten)]
    progress: &'a Progress,
    format: u32,
}

/// The locked record of a session.
pub(super) struct ProgressRecord {
    path: PathBuf,
    /// Holds the lock until the record is dropped.
    _lock: File,
}

impl ProgressRecord {
    /// Locks the record of a session, and waits while another hook holds it.
    pub(super) fn lock(places: &Places, session: &str) -> anyhow::Result<Self> {
        let folder = places.transcript_records();
        fs::create_dir_all(&folder).map_err(explained("create", &folder))?;
        let path = places.transcript_record(session);
        let lock_path = path.with_extension("lock");
        let lock = File::options().create(true).append(true).open(&lock_path).map_err(explained("open", &lock_path))?;
        lock.lock().map_err(explained("lock", &lock_path))?;
        Ok(Self { path, _lock: lock })
    }

    /// Reads the record. `None` if nothing of the session was stored and its start is unknown.
    pub(super) fn read(&self) -> anyhow::Result<Option<Progress>> {
        match read(&self.path)? {
            Some(text) => Ok(Some(serde_json::from_str(&text)?)),
            None => Ok(None),
        }
    }

    /// Writes the record.
    pub(super) fn write(&self, progress: &Progress) -> anyhow::Result<()> {
        let record = StoredProgress { progress, format: RECORD_FORMAT };
        write(&self.path, &serde_json::to_string(&record)?)
    }
}

/// Records the start of a session, unless it is known. Removes the records of old sessions.
pub(super) fn begin(places: &Places, session: &str) -> anyhow::Result<()> {
    let record = ProgressRecord::lock(places, session)?;
    if record.read()?.is_some() {
        return Ok(());
    }
    remove_old_records(places);
    let since = Timestamp::now().checked_sub(START_SLACK)?;
    record.write(&Progress { since: Some(since), ..Progress::default() })
}

/// Removes the records of sessions that nobody continues. A record that cannot be removed stays.
fn remove_old_records(places: &Places) {
    let Some(oldest) = SystemTime::now().checked_sub(RECORD_AGE_MAX) else { return };
    for entry in fs::read_dir(places.transcript_records()).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        if modified.is_ok_and(|time| time < oldest) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_recorded_once_and_progress_is_kept() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let home = folder.path().display().to_string();
        let places = Places::resolve(|name| (name == "HOME").then(|| home.clone())).expect("resolves");
        begin(&places, "one").expect("records");
        let record = ProgressRecord::lock(&places, "one").expect("locks");
        let first = record.read().expect("reads").expect("a record");
        assert!(first.since.is_some() && first.stored == 0);
        record.write(&Progress { stored: 7, sending: Some(9), ..first }).expect("writes");
        drop(record);
        begin(&places, "one").expect("records");
        let record = ProgressRecord::lock(&places, "one").expect("locks");
        let kept = Progress { stored: 7, sending: Some(9), since: first.since };
        assert_eq!(record.read().expect("reads"), Some(kept));
        assert_eq!(ProgressRecord::lock(&places, "two").expect("locks").read().expect("reads"), None);
    }
}
