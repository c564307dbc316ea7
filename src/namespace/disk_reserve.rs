//! A little space on the disk that is kept back, so that a full disk can be made less full.
//!
//! Deleting a namespace and starting the service both write a little before they free or need much. On a disk without any
//! space left neither would be possible. The file is given up for them, and made again once there is room.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file's name in the data directory.
const NAME: &str = "reserve";
/// What is kept back: enough for the engine's log, its manifest and a few of its tables.
const RESERVE_BYTES: u64 = 16 << 20;
/// The reserve is made only where so much more is free, so that it does not fill the disk itself.
const FREE_BYTES_MIN: u64 = 128 << 20;
/// With less than this free a start gives the reserve up.
const START_BYTES_MIN: u64 = 8 << 20;

/// The space kept back in one data directory.
pub struct Reserve {
    path: PathBuf,
}

impl Reserve {
    /// The reserve of a data directory.
    pub fn of(data: &Path) -> Self {
        Self { path: data.join(NAME) }
    }

    /// Gives the space up. True where there was some.
    pub fn release(&self) -> bool {
        fs::remove_file(&self.path).is_ok()
    }

    /// Gives the space up where there is too little to start.
    pub fn release_for_start(&self) {
        if self.free_bytes().is_ok_and(|free| free < START_BYTES_MIN) && self.release() {
            tracing::warn!("the disk is full: the space that was kept back is given up for the start");
        }
    }

    /// Keeps the space back where it is not and there is room.
    pub fn keep(&self) -> io::Result<()> {
        if fs::metadata(&self.path).is_ok_and(|found| found.len() == RESERVE_BYTES)
            || self.free_bytes()? < FREE_BYTES_MIN
        {
            return Ok(());
        }
        let kept = self.write();
        if kept.is_err() {
            self.release();
        }
        kept
    }

    fn write(&self) -> io::Result<()> {
        let mut file = File::create(&self.path)?;
        // Written, not only declared: a file system may give a hole no space.
        let zeros = [0; 64 << 10];
        for _ in 0..RESERVE_BYTES / zeros.len() as u64 {
            file.write_all(&zeros)?;
        }
        Ok(())
    }

    /// Bytes that an ordinary process may still write.
    fn free_bytes(&self) -> io::Result<u64> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let found = nix::sys::statvfs::statvfs(folder)?;
        Ok(found.blocks_available().saturating_mul(found.fragment_size()))
    }
}
