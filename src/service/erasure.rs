//! Accepting requests to erase text for good. `jobs/erasure.rs` carries them out.

use cuebase_storage::MessageId;
use cuebase_storage::memory_file::MemoryPath;
use cuebase_storage::records::{ErasureReport, ErasureSelection, NamespaceRecord, QueuedWork, WriteSender};

use super::intake::{Intake, NewWrite};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

/// Paths of one erasure.
pub const ERASED_PATHS_MAX: usize = 1000;

impl Intake {
    /// Queues an erasure, after all writes that were accepted before it. It is durable when this returns, and does not
    /// count as a write. Text that does not exist is not an error: the report counts what was found.
    pub fn accept_erasure(
        &self,
        namespace: &NamespaceRecord,
        selection: ErasureSelection,
        sender: Option<WriteSender>,
    ) -> Result<MessageId> {
        check(&selection)?;
        self.accept(namespace, NewWrite { work: QueuedWork::Erase { selection }, sender }, None, &[])
    }

    /// Returns the report of an erasure that this process completed.
    pub fn erasure_report(&self, id: MessageId) -> Option<ErasureReport> {
        self.namespaces.erasure_reports().get(id)
    }
}

fn check(selection: &ErasureSelection) -> Result<()> {
    match selection {
        ErasureSelection::Paths(paths) => check_paths(paths),
        ErasureSelection::Session(session) if session.is_empty() => Err(empty("the session")),
        ErasureSelection::Subject(subject) if subject.trim().is_empty() => Err(empty("the subject")),
        ErasureSelection::Session(_) | ErasureSelection::Subject(_) => Ok(()),
    }
}

fn check_paths(paths: &[String]) -> Result<()> {
    if paths.is_empty() {
        return Err(empty("the list of paths"));
    }
    if paths.len() > ERASED_PATHS_MAX {
        let message = format!("{} paths: at most {ERASED_PATHS_MAX} are erased at once", paths.len());
        return Err(Error::TooLarge { code: ErrorCode::PayloadTooLarge, message });
    }
    for path in paths {
        // The history may have a memory at a path of an earlier version.
        if let Err(error) = MemoryPath::of_stored(path) {
            return Err(Error::invalid(ErrorCode::InvalidPath, format!("{path:?}: {error}")));
        }
    }
    Ok(())
}

fn empty(what: &str) -> Error {
    Error::invalid(ErrorCode::InvalidBody, format!("{what} is empty: name what to erase"))
}
