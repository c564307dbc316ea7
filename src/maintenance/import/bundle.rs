//! Import of a whole history from a git bundle.

use std::fs;
use std::path::Path;

use cuebase_storage::git::{ChangedFile, CommitId, IntakeLimits, Repository};
use ulid::Ulid;

use super::context::{Import, ImportReport};
use crate::error::{Error, Result};
use crate::ingest::edited;

pub(super) fn import(import: &Import<'_>) -> Result<ImportReport> {
    // The bundle is unpacked into a scratch repository on the same file system, and checked there.
    let scratch = import.app.inspector.data().join("trash").join(Ulid::generate().to_string());
    let report = import_through(import, &scratch);
    let _ = fs::remove_dir_all(&scratch);
    report
}

fn import_through(import: &Import<'_>, scratch: &Path) -> Result<ImportReport> {
    fs::create_dir_all(scratch)?;
    let history = Repository::open_or_create(&scratch.join("history.git"))?;
    import.progress("objects read", 0, 0);
    let Unbundled { head, files } = match unbundle(&history, import.from) {
        Ok(unbundled) => unbundled,
        // The disk is at fault, not the bundle.
        Err(error) if error.disk_trouble().is_some() => return Err(error.into()),
        Err(error) => return Err(import.invalid(&error.to_string())),
    };
    let inspection = history.inspect(head, |objects| import.progress("objects checked", objects, 0))?;
    import.ensure_no_problems(&inspection.problems)?;
    import.ensure_no_problems(&misnamed_directories(&files))?;
    if import.options.dry_run && import.existing_namespace()?.is_none() {
        return Ok(ImportReport { histories: 1, ..ImportReport::default() });
    }
    let namespace = import.create_namespace()?;
    let lease = import.app.namespaces.lease_key(&namespace.key())?;
    let before = lease.repository().head()?;
    if import.options.dry_run {
        if let Some(before) = before
            && !history.is_ancestor(before, head)?
        {
            return Err(refusal(import, "history: it does not continue the namespace's own history"));
        }
    } else {
        match lease.import_history(&history, head) {
            Ok(()) => {}
            Err(Error::Invalid { message, .. }) => return Err(refusal(import, &message)),
            Err(error) => return Err(error),
        }
    }
    Ok(ImportReport { histories: u64::from(before != Some(head)), ..ImportReport::default() })
}

/// A history from a bundle.
struct Unbundled {
    head: CommitId,
    /// The files of the head.
    files: Vec<ChangedFile>,
}

/// Unpacks a bundle and checks that its objects and files are within the limits of an import.
fn unbundle(history: &Repository, from: &Path) -> cuebase_storage::Result<Unbundled> {
    let head = history.unbundle(from)?;
    history.missing(&[head], &[])?.check_limits(&IntakeLimits::IMPORT)?;
    let files = history.changed_files(None, head, &IntakeLimits::IMPORT)?;
    Ok(Unbundled { head, files })
}

/// Describes the files in a directory that has the name of a memory.
fn misnamed_directories(files: &[ChangedFile]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files {
        if let Err(problem) = edited::check_directories(&file.path) {
            problems.push(format!("{}: {problem}", file.path));
        }
    }
    problems
}

/// Creates the error for a history that the namespace cannot continue with.
fn refusal(import: &Import<'_>, reason: &str) -> Error {
    import.invalid(&format!("{reason}: import it into an empty namespace, or its files as a folder"))
}
