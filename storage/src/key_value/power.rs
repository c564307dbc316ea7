//! Whether the machine lost its power since a database was last open.
//!
//! Linux gives every boot an id. The one under which a database was opened is noted beside it. While the machine runs,
//! nothing that a process wrote gets lost, so a damaged log then means a damaged disk, and must not be passed over.

use std::fs;
use std::path::Path;

const NOTE: &str = "BOOT";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Whether the machine was started anew since the note was made; true also where that is not known.
pub(super) fn was_lost(database: &Path) -> bool {
    let noted = fs::read_to_string(database.join(NOTE)).ok();
    noted.is_none() || noted != fs::read_to_string(BOOT_ID).ok()
}

/// Notes under which boot the database is open. Where that fails the next start is the more forgiving.
pub(super) fn note(database: &Path) {
    let note = database.join(NOTE);
    let noted = fs::read_to_string(BOOT_ID).and_then(|id| fs::write(&note, id));
    if noted.is_err() {
        let _ = fs::remove_file(note);
    }
}
