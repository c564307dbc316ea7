//! Reserved disk space, so that namespaces can be deleted and the service can start when the disk is full.
//!
//! A deletion and a start both write a little before they free anything. The reserve is a file that is removed to give
//! them this space, and that grows again as soon as there is free space.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};

/// The file's name in the data directory.
const NAME: &str = "reserve";
/// Size of the whole reserve, at most: enough for the log of RocksDB, its manifest and a few of its tables.
const RESERVE_BYTES_MAX: u64 = 16 << 20;
/// Size of the whole reserve, at least: enough to open RocksDB with a short log.
const RESERVE_BYTES_MIN: u64 = 2 << 20;
/// Size of a disk as a multiple of its reserve, between the two limits.
const DISK_PER_RESERVE: u64 = 16;
/// Part of the free space that the reserve leaves to others: a half.
const FREE_PER_GROWTH: u64 = 2;
/// The reserve grows by multiples of this size.
const PART_BYTES: u64 = 256 << 10;
/// Zeros that are written at once.
const ZEROS_BYTES: usize = 64 << 10;
/// Free space below which a start releases the reserve.
const START_BYTES_MIN: u64 = 8 << 20;

/// The reserved space of a data directory.
pub struct DiskReserve {
    path: PathBuf,
    /// Locked while the reserve grows, and by a deletion for as long as it needs the released space.
    growth: Mutex<()>,
}

/// Keeps the reserve from growing until it is dropped.
#[must_use = "the reserve takes the space again once this is dropped"]
pub struct ReleasedReserve<'a> {
    _growth: MutexGuard<'a, ()>,
}

/// The sizes of a file system, in bytes.
struct DiskSpace {
    /// What a process without privileges can still write.
    free: u64,
    total: u64,
}

impl DiskReserve {
    /// Returns the reserve of a data directory, which may not exist yet.
    pub fn of(data: &Path) -> Self {
        Self { path: data.join(NAME), growth: Mutex::default() }
    }

    /// Releases the space, if there is a reserve, for as long as the returned value lives.
    pub fn release(&self) -> ReleasedReserve<'_> {
        let growth = self.growth.lock();
        // Fails if there is no reserve.
        let _ = fs::remove_file(&self.path);
        ReleasedReserve { _growth: growth }
    }

    /// Releases the space if there is too little for a start.
    pub fn release_for_start(&self) {
        if self.space().is_ok_and(|space| space.free < START_BYTES_MIN) && fs::remove_file(&self.path).is_ok() {
            tracing::warn!("the disk is full: the reserved space was released for the start");
        }
    }

    /// Lets the reserve grow to its whole size, or by half of the free space if that is less. Does nothing while its
    /// space is in use.
    ///
    /// # Errors
    ///
    /// If the disk refuses the growth. The reserve then has its former size.
    pub fn grow(&self) -> io::Result<()> {
        let Some(_growth) = self.growth.try_lock() else { return Ok(()) };
        let reserved = match fs::metadata(&self.path) {
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        };
        let wanted = reserve_after_growth(reserved, &self.space()?);
        if wanted <= reserved {
            return Ok(());
        }
        let mut file = File::options().create(true).append(true).open(&self.path)?;
        let grown = append_zeros(&mut file, wanted - reserved);
        if grown.is_err() {
            file.set_len(reserved)?;
        }
        grown
    }

    fn space(&self) -> io::Result<DiskSpace> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let stat = nix::sys::statvfs::statvfs(folder)?;
        let block_bytes = stat.fragment_size();
        Ok(DiskSpace {
            free: stat.blocks_available().saturating_mul(block_bytes),
            total: stat.blocks().saturating_mul(block_bytes),
        })
    }
}

/// Returns the size to which a reserve of `reserved` bytes grows.
fn reserve_after_growth(reserved: u64, space: &DiskSpace) -> u64 {
    let whole = (space.total / DISK_PER_RESERVE).clamp(RESERVE_BYTES_MIN, RESERVE_BYTES_MAX);
    let missing = whole.saturating_sub(reserved);
    let growth = missing.min(space.free / FREE_PER_GROWTH);
    reserved + growth / PART_BYTES * PART_BYTES
}

fn append_zeros(file: &mut File, bytes: u64) -> io::Result<()> {
    // Zeros are written because a file system may not allocate space for a hole.
    let zeros = [0; ZEROS_BYTES];
    for _ in 0..bytes / ZEROS_BYTES as u64 {
        file.write_all(&zeros)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_reserve_has_a_sixteenth_of_a_small_disk_and_grows_with_the_free_space() {
        for (reserved, free, total, expected) in [
            (0, 900 * MIB, 1000 * MIB, 16 * MIB),
            (0, 200 * MIB, 256 * MIB, 16 * MIB),
            (0, 60 * MIB, 64 * MIB, 4 * MIB),
            (0, 10 * MIB, 12 * MIB, 2 * MIB),
            (0, 2 * MIB, 12 * MIB, MIB),
            (0, 0, 256 * MIB, 0),
            (0, 300 << 10, 256 * MIB, 0),
            (0, 3 * MIB, 256 * MIB, 3 * MIB / 2),
            (3 * MIB / 2, 30 * MIB, 256 * MIB, 16 * MIB),
            (16 * MIB, 900 * MIB, 1000 * MIB, 16 * MIB),
            (16 * MIB, 900 * MIB, 64 * MIB, 16 * MIB),
        ] {
            let space = DiskSpace { free, total };
            assert_eq!(reserve_after_growth(reserved, &space), expected, "{reserved} {free} {total}");
        }
    }

    #[test]
    fn a_released_reserve_grows_again_once_its_space_is_not_in_use() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let reserve = DiskReserve::of(folder.path());
        let file = folder.path().join(NAME);
        let released = reserve.release();
        reserve.grow().expect("does nothing");
        assert!(!file.exists());
        drop(released);
        reserve.grow().expect("grows");
        let bytes = file.metadata().expect("a reserve").len();
        assert!(bytes >= RESERVE_BYTES_MIN, "{bytes}");
        drop(reserve.release());
        assert!(!file.exists());
    }
}
