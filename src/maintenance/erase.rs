//! Erasing text for good: queues the request and waits until it is carried out.

use std::collections::BTreeSet;

use cuebase_storage::records::{ErasureReport, ErasureSelection};
use cuebase_storage::{AccountId, NamespaceName};

use super::progress::Progress;
use super::wait::wait_until_ingested;
use crate::app::App;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

/// Erases text in a namespace. Returns what was erased.
///
/// # Errors
///
/// If the erasure failed permanently, or if the server stopped first. Then it is still in the queue or among the dead
/// letters.
pub fn erase(
    app: &App,
    account: &AccountId,
    name: &NamespaceName,
    selection: ErasureSelection,
    on_progress: &dyn Fn(Progress),
) -> Result<ErasureReport> {
    let Some(namespace) = app.inspector.namespace(account, name)? else {
        return Err(Error::not_found(ErrorCode::NamespaceNotFound, format!("the namespace {name:?} does not exist")));
    };
    let id = app.intake.accept_erasure(&namespace, selection, None)?;
    wait_until_ingested(app, &namespace.key(), BTreeSet::from([id]), on_progress)?;
    if let Some(report) = app.intake.erasure_report(id) {
        return Ok(report);
    }
    if app.inspector.is_dead(account, id)? {
        return Err(Error::internal(format!(
            "the erasure {id} failed: `cuebase dead-letters list` shows the reason, `cuebase dead-letters retry {id}` \
             tries again"
        )));
    }
    Err(Error::internal(format!("the erasure {id} is queued and continues at the next start")))
}
