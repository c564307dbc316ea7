//! A test write, which shows whether the disk accepts writes.

use std::fs::File;
use std::io::{Result, Write};
use std::path::Path;

/// Bytes that a test write has at least.
pub(super) const PROBE_BYTES_MIN: usize = 1 << 20;
/// Bytes that are written at once.
const PART_BYTES: usize = 64 << 10;

/// Tests whether the disk of a folder accepts a number of bytes.
pub(super) fn probe(folder: &Path, bytes: usize) -> Result<()> {
    let path = folder.join("probe");
    let probed = write_probe(&path, bytes);
    // The reason of a refused write is more exact than that of a file that cannot be removed, or was not created.
    match std::fs::remove_file(&path) {
        Err(error) if probed.is_ok() => Err(error),
        _ => probed,
    }
}

fn write_probe(path: &Path, bytes: usize) -> Result<()> {
    let mut file = File::create(path)?;
    for _ in 0..bytes.div_ceil(PART_BYTES) {
        file.write_all(&[0; PART_BYTES])?;
    }
    file.sync_all()
}
