//! Conversion of RocksDB's errors, which state their cause only as text.

use std::path::Path;

use rocksdb::ErrorKind;

use super::probe::{PROBE_BYTES_MIN, probe};
use crate::error::{DiskTrouble, Error};

/// Converts an error of opening, writing or syncing. If its text does not state why the system refused the operation, a
/// test write in the database's folder decides.
pub(super) fn write_error(error: rocksdb::Error, folder: &Path) -> Error {
    if !is_refusal(&error) {
        return convert(error, None);
    }
    let trouble = match stated_trouble(error.as_ref()) {
        Some(stated) => stated,
        None => probed_trouble(folder),
    };
    convert(error, Some(trouble))
}

/// Converts an error of reading. If its text does not state why the system refused the read, the device fails.
pub(super) fn read_error(error: rocksdb::Error) -> Error {
    if !is_refusal(&error) {
        return convert(error, None);
    }
    let trouble = stated_trouble(error.as_ref()).unwrap_or(DiskTrouble::Failing);
    convert(error, Some(trouble))
}

fn convert(error: rocksdb::Error, trouble: Option<DiskTrouble>) -> Error {
    if error.kind() == ErrorKind::Corruption {
        return Error::DamagedRecords(Box::new(error));
    }
    Error::Engine { trouble, source: Box::new(error) }
}

/// Whether the system refused an operation. After one refusal the engine refuses all later writes, with any of these
/// kinds. `NotSupported` is how a database refuses a write that is open for reads only.
fn is_refusal(error: &rocksdb::Error) -> bool {
    use ErrorKind::{Aborted, IOError, Incomplete, NotSupported, ShutdownInProgress, TryAgain};
    matches!(error.kind(), IOError | Aborted | Incomplete | NotSupported | ShutdownInProgress | TryAgain)
}

/// Returns what an error's text states as the reason of the system. `None` if it states none, or one that is not about
/// the disk or the limit of open files.
///
/// RocksDB writes `IO error: operation: file: reason`, where the reason is the text of the error code in the C library
/// (glibc). Codes with a kind of their own are written before the operation too, or alone. See `IOError` in
/// `env/io_posix.cc` and `Status::ToString` in `util/status.cc`.
fn stated_trouble(text: &str) -> Option<DiskTrouble> {
    let (_, reason) = text.rsplit_once(": ")?;
    match reason {
        "No space left on device" | "Disk quota exceeded" => Some(DiskTrouble::Full),
        "Read-only file system" => Some(DiskTrouble::ReadOnly),
        "Too many open files" | "Too many open files in system" => Some(DiskTrouble::TooManyOpenFiles),
        "Permission denied" | "Operation not permitted" => Some(DiskTrouble::Inaccessible),
        "Input/output error"
        | "Bad message"
        | "Remote I/O error"
        | "Transport endpoint is not connected"
        | "No such device or address"
        | "No such device"
        | "Stale file handle"
        | "Structure needs cleaning" => Some(DiskTrouble::Failing),
        _ => None,
    }
}

/// Finds out with a test write what the system refuses.
pub(super) fn probed_trouble(folder: &Path) -> DiskTrouble {
    match probe(folder, PROBE_BYTES_MIN) {
        Err(refused) => DiskTrouble::from_io_error(&refused).unwrap_or(DiskTrouble::Failing),
        Ok(()) => DiskTrouble::Failing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_last_part_of_an_error_text() {
        use DiskTrouble::{Failing, Full, Inaccessible, ReadOnly, TooManyOpenFiles};
        let rows = [
            (
                "IO error: No space left on device: While appending to file: /d/000012.log: No space left on device",
                Some(Full),
            ),
            ("IO error: No space left on device", Some(Full)),
            ("IO error: While appending to file: /d/000012.log: Disk quota exceeded", Some(Full)),
            ("IO error: While open a file for appending: /d/000013.log: Read-only file system", Some(ReadOnly)),
            ("IO error: While open a file for random read: /d/14.sst: Too many open files", Some(TooManyOpenFiles)),
            ("IO error: While opendir: /d: Too many open files in system", Some(TooManyOpenFiles)),
            ("IO error: While fdatasync: /d/000012.log: Input/output error", Some(Failing)),
            ("IO error: While fsync: a directory: No such device", Some(Failing)),
            ("IO error: While mkdir if missing: /d: No such device or address", Some(Failing)),
            ("IO error: While pread 4096 bytes: /d/000014.sst: Structure needs cleaning", Some(Failing)),
            ("IO error: Stale file handle", Some(Failing)),
            ("IO error: While mkdir if missing: /d: Permission denied", Some(Inaccessible)),
            ("IO error: While open a file for appending: /d/15.log: Operation not permitted", Some(Inaccessible)),
            ("IO error: No such file or directory: While opendir: /d: No such file or directory", None),
            ("IO error: While lock file: /d/LOCK: Resource temporarily unavailable", None),
            ("IO error: While opendir: /No space left on device: x: Permission denied", Some(Inaccessible)),
            ("IO error: While opendir: /No space left on device", None),
            ("Shutdown in progress: ", None),
            ("Result incomplete", None),
        ];
        for (text, expected) in rows {
            assert_eq!(stated_trouble(text), expected, "{text}");
        }
    }

    #[test]
    fn the_c_library_describes_each_error_code_as_expected() {
        for code in [28, 122, 30, 23, 24, 1, 13, 20, 5, 6, 19, 74, 107, 116, 117, 121, 2] {
            let error = std::io::Error::from_raw_os_error(code);
            let described = error.to_string();
            let reason = described.trim_end_matches(&format!(" (os error {code})"));
            let text = format!("IO error: While fsync: /d/000012.log: {reason}");
            assert_eq!(stated_trouble(&text), DiskTrouble::from_io_error(&error), "{text}");
        }
    }

    #[test]
    fn a_failed_write_and_a_failed_read_keep_the_error_of_the_engine() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let absent = folder.path().join("absent");
        let opened = rocksdb::DB::open_for_read_only(&rocksdb::Options::default(), &absent, false);
        let refused = opened.expect_err("is refused");
        let text = refused.to_string();
        for error in [write_error(refused.clone(), folder.path()), read_error(refused)] {
            assert_eq!(error.disk_trouble(), Some(DiskTrouble::Failing), "{error:?}");
            assert_eq!(error.to_string(), format!("key-value store: {text}"));
            let source = std::error::Error::source(&error).expect("a source");
            assert!(source.downcast_ref::<rocksdb::Error>().is_some());
        }
    }
}
