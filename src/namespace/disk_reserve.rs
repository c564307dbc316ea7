//! Reserved disk space, so that namespaces can be deleted and the service can start when the disk is full.
//!
//! A deletion and a start both write a little before they free anything. The reserve is a file that is removed to give
//! them this space, and created again once there is enough free space.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file's name in the data directory.
const NAME: &str = "reserve";
/// Size of the reserve: enough for the log of RocksDB, its manifest and a few of its tables.
const RESERVE_BYTES: u64 = 16 << 20;
/// Free space needed to create the reserve, so that the reserve does not fill the disk itself.
const FREE_BYTES_MIN: u64 = 128 << 20;
/// Free space below which a start releases the reserve.
const START_BYTES_MIN: u64 = 8 << 20;

/// The reserved space of a data directory.
pub struct DiskReserve {
    path: PathBuf,
}

impl DiskReserve {
    /// Returns the reserve of a data directory, which may not exist yet.
    pub fn of(data: &Path) -> Self {
        Self { path: data.join(NAME) }
    }

    /// Releases the space. Returns true if the reserve existed.
    pub fn release(&self) -> bool {
        fs::remove_file(&self.path).is_ok()
    }

    /// Releases the space if there is too little for a start.
    pub fn release_for_start(&self) {
        if self.free_bytes().is_ok_and(|free| free < START_BYTES_MIN) && self.release() {
            tracing::warn!("the disk is full: the reserved space was released for the start");
        }
    }

    /// Reserves the space if it is not reserved and the disk has enough free space.
    pub fn ensure(&self) -> io::Result<()> {
        if fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() == RESERVE_BYTES)
            || self.free_bytes()? < FREE_BYTES_MIN
        {
            return Ok(());
        }
        let written = self.write();
        if written.is_err() {
            self.release();
        }
        written
    }

    fn write(&self) -> io::Result<()> {
        let mut file = File::create(&self.path)?;
        // Zeros are written because a file system may not allocate space for a hole.
        let zeros = [0; 64 << 10];
        for _ in 0..RESERVE_BYTES / zeros.len() as u64 {
            file.write_all(&zeros)?;
        }
        Ok(())
    }

    /// Bytes that a process without privileges can still write.
    fn free_bytes(&self) -> io::Result<u64> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let stat = nix::sys::statvfs::statvfs(folder)?;
        Ok(stat.blocks_available().saturating_mul(stat.fragment_size()))
    }
}
