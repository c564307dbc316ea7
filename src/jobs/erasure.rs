//! Erasures: two attempts of one queued write.
//!
//! The first one rewrites history and records, and leaves a queue entry that names no text. The second one removes the
//! files that hold the former text, also those of the database, and completes the write. An attempt that fails is
//! repeated; both can be.

use cuebase_storage::records::{ErasureReport, ErasureSelection};

use super::attempt::Attempt;
use crate::error::Result;
use crate::namespace::plan::Plan;

/// Rewrites history and records. No backup may be made meanwhile: it would have the records of before and the history
/// of after. Several nodes have no such lock: a backup in progress makes the plan of the erasure fail. It is asked for
/// here too, before the history is rewritten.
pub(super) fn erase(attempt: &Attempt<'_>, selection: &ErasureSelection) -> Result<()> {
    let _no_backup = attempt.ingestion.namespaces.hold_backups()?;
    attempt.ingestion.store.require_no_backup()?;
    attempt.namespace.erase(attempt.entry, selection, attempt.now)
}

/// Removes the former files and completes the write.
pub(super) fn finish_erasure(attempt: &Attempt<'_>, report: &ErasureReport) -> Result<()> {
    let Attempt { ingestion, namespace, entry, now, .. } = *attempt;
    // A backup that is being made has links to the former files of the database.
    let _no_backup = ingestion.namespaces.hold_backups()?;
    namespace.remove_erased()?;
    ingestion.store.purge_erased(&entry.namespace_key())?;
    tracing::info!(
        account = %entry.account,
        namespace = %entry.namespace,
        message = %entry.id,
        memories = report.memories,
        commits = report.commits,
        sources_removed = report.sources_removed,
        sources_changed = report.sources_changed,
        conversations_removed = report.conversations_removed,
        messages_emptied = report.messages_emptied,
        vectors = report.vectors,
        dead_letters = report.dead_letters,
        later_writes = report.later_writes,
        unreadable = report.unreadable,
        "text was erased; backups, clones and exports that were made before still have it"
    );
    ingestion.namespaces.erasure_reports().add(entry.id, report.clone());
    namespace.ingest(entry, now, |_| Ok(Plan::empty()))
}
