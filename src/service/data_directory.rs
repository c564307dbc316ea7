//! The data directory: it is created for its owner alone, and errors of opening it name the cause and the remedy.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use cuebase_storage::records::MigrationEnd;
use cuebase_storage::{Error as StorageError, Store};

use crate::error::{Error, with_causes};
use crate::file_errors::{explain, explained, inaccessible_part, is_refusal};
use crate::namespace::damage::restore_advice;

/// Creates the data directory if it is missing, and removes the permissions of other users.
pub(crate) fn create_private(path: &Path) -> anyhow::Result<()> {
    if !path.exists()
        && let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(path)
    {
        anyhow::bail!("{} (set another path with --data)", explain("create the data directory", path, &error));
    }
    let metadata = fs::metadata(path).map_err(explained("read the data directory", path))?;
    anyhow::ensure!(metadata.is_dir(), "the data directory {} is a file: set another path with --data", path.display());
    let mode = metadata.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    if let Err(error) = fs::set_permissions(path, Permissions::from_mode(mode & 0o700)) {
        anyhow::bail!(
            "other users can read the data directory {} and its mode cannot be changed ({error}): \
             its owner must run chmod 700 on it",
            path.display()
        );
    }
    tracing::warn!(data = %path.display(), "other users could read the data directory; its mode is now 700");
    Ok(())
}

/// Fails if the records are the target of a migration that is not finished, and so incomplete.
pub(crate) fn require_complete(store: &Store) -> anyhow::Result<()> {
    anyhow::ensure!(
        store.migration(MigrationEnd::Target)?.is_none(),
        "the data is incomplete, because a migration to it is not finished: run `cuebase migrate` again"
    );
    Ok(())
}

/// Adds the remedy to an error of opening a data directory: how to restore damaged records, or which file the system
/// refuses, who owns it, and what to do.
pub(crate) fn with_remedy(error: anyhow::Error, data: &Path) -> anyhow::Error {
    if is_damage(&error) {
        return anyhow::anyhow!("{}: {}", with_causes(&error), restore_advice(data));
    }
    let explanation = match error.downcast_ref::<StorageError>() {
        Some(StorageError::Io { action, path, source }) if is_refusal(source) => Some(explain(action, path, source)),
        // The engine reports a refusal as text without the file, so the files are tried one by one.
        Some(StorageError::Engine { trouble: Some(_), .. }) => inaccessible_part(&data.join("records")),
        _ => None,
    };
    match explanation {
        Some(explanation) => anyhow::Error::msg(explanation),
        None => error,
    }
}

fn is_damage(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StorageError::DamagedRecords(_)))
        || matches!(error.downcast_ref(), Some(Error::Damaged(_)))
}
