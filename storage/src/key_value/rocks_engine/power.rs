//! Detects whether the machine may have lost power since a database was last opened.
//!
//! Linux gives every boot an id. A file in the database's folder records the boot id of the last opening. Without a
//! reboot the writes of a process are not lost, so a damaged log then means a damaged disk and must not be ignored.

use std::fs;
use std::path::Path;

const BOOT_FILE: &str = "BOOT";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Whether the machine was rebooted since [`record_boot`]. True if that is unknown.
pub(super) fn was_lost(database: &Path) -> bool {
    let Ok(recorded) = fs::read_to_string(database.join(BOOT_FILE)) else { return true };
    let Ok(current) = fs::read_to_string(BOOT_ID) else { return true };
    recorded != current
}

/// Records the current boot id with the database. If that fails, the next start assumes a loss of power.
pub(super) fn record_boot(database: &Path) {
    let file = database.join(BOOT_FILE);
    if write_boot_id(&file).is_err() {
        let _ = fs::remove_file(file);
    }
}

fn write_boot_id(file: &Path) -> std::io::Result<()> {
    let id = fs::read_to_string(BOOT_ID)?;
    fs::write(file, id)
}
