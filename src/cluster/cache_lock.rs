//! The lock of a data directory that is the cache of a node: two processes must not use the same copies.

use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::{Context, bail};

/// The file that is locked.
const FILE: &str = "node.lock";
/// A file of the records of a single process.
const RECORDS: &str = "records/CURRENT";

/// The lock, held until it is dropped.
pub struct CacheLock(#[expect(dead_code, reason = "the lock ends with the file")] File);

impl CacheLock {
    /// Locks a data directory for this process.
    ///
    /// # Errors
    ///
    /// If another process uses the directory, or if it holds the records of a single process.
    pub fn take(data: &Path) -> anyhow::Result<Self> {
        let shown = data.display();
        if data.join(RECORDS).exists() {
            bail!(
                "the data directory {shown} has records of its own, which a node with storage.engine = postgres does \
                 not use: set another path with --data, or copy the records with `cuebase migrate to-cluster`"
            );
        }
        let path = data.join(FILE);
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => bail!("the data directory {shown} is in use by another process"),
            Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_used_by_one_process_and_has_no_records() {
        let data = tempfile::tempdir().expect("temporary directory");
        let first = CacheLock::take(data.path()).expect("locks");
        let refused = CacheLock::take(data.path()).err().expect("is in use").to_string();
        assert!(refused.contains("in use by another process"), "{refused}");
        drop(first);
        CacheLock::take(data.path()).expect("locks again");
        std::fs::create_dir(data.path().join("records")).expect("creates");
        std::fs::write(data.path().join(RECORDS), "").expect("writes");
        assert!(CacheLock::take(data.path()).is_err());
    }
}
