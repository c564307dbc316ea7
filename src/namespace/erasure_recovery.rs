//! Continuing an erasure that a crash or a failure interrupted after it moved the branch.
//!
//! The recorded head is in no history then. Without the plan of the erasure that would be damage.

use std::path::Path;

use cuebase_storage::records::{ErasureRecord, NamespaceRecord, PlannedErasure};

use super::context::NamespaceContext;
use crate::error::Result;

/// Returns the record of a namespace. If an erasure moved the branch and did not change the records, changes them
/// first.
pub(super) fn complete_interrupted(
    context: &NamespaceContext,
    repository: &Path,
    record: NamespaceRecord,
) -> Result<NamespaceRecord> {
    let store = &context.store;
    match store.erasure(record.id)? {
        None => Ok(record),
        // If the branch did not move, the queued write plans again.
        Some(ErasureRecord::Planned(planned)) if !has_moved(context, repository, &record, &planned)? => Ok(record),
        Some(ErasureRecord::Planned(planned)) => Ok(store.apply_erasure(&record, &planned)?),
        // The records changed, although the call that changed them may have failed.
        Some(ErasureRecord::Applied { .. }) => match store.namespace(&record.account, &record.name)? {
            Some(newest) if newest.id == record.id => Ok(newest),
            _ => Ok(record),
        },
    }
}

/// Whether the branch is at the head of the new history.
fn has_moved(
    context: &NamespaceContext,
    repository: &Path,
    record: &NamespaceRecord,
    planned: &PlannedErasure,
) -> Result<bool> {
    if planned.head == planned.former_head {
        return Ok(false);
    }
    let opened = context.repositories.open_existing(repository, &context.store, &record.key())?;
    let Some(repository) = opened else { return Ok(false) };
    // A branch that cannot be read is damage, which the caller finds and reports.
    Ok(matches!(repository.head(), Ok(head) if head == planned.head))
}
