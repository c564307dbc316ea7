//! A test write, which shows whether the disk accepts writes.

use std::fs::File;
use std::io::{Result, Write};
use std::path::Path;

/// Bytes that must be writable before the database is reopened: the engine writes files of its own when it opens.
const PROBE_BYTES: usize = 1 << 20;

/// Tests whether the disk of a folder accepts writes.
pub(super) fn probe(folder: &Path) -> Result<()> {
    let path = folder.join("probe");
    let probed = write_probe(&path);
    std::fs::remove_file(&path)?;
    probed
}

fn write_probe(path: &Path) -> Result<()> {
    let mut file = File::create(path)?;
    file.write_all(&[0; PROBE_BYTES])?;
    file.sync_all()
}
