//! The log of the hooks. A hook prints nothing when it fails, so this file is where a person finds the reason.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use jiff::Timestamp;

use super::super::places::Places;

/// Bytes of the log at which it is renamed, so that two files have at most twice as many.
const LOG_BYTES_MAX: u64 = 256 << 10;

/// Returns the path of the log.
pub fn path(places: &Places) -> PathBuf {
    places.state.join("hooks.log")
}

/// Adds a line. Fails silently: nobody could be notified.
pub fn note(places: &Places, event: &str, message: &str) {
    let path = path(places);
    if fs::create_dir_all(&places.state).is_err() {
        return;
    }
    if fs::metadata(&path).is_ok_and(|metadata| metadata.len() > LOG_BYTES_MAX) {
        let _ = fs::rename(&path, path.with_extension("log.1"));
    }
    let Ok(mut file) = File::options().create(true).append(true).open(&path) else { return };
    let time = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
    // One call, so that lines of concurrent hooks do not mix.
    let _ = file.write_all(format!("{time} {event}: {}\n", message.replace('\n', " ")).as_bytes());
}
