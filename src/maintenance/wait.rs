//! Waiting for the ingestion of queued writes, and for the vectors that follow.

use std::collections::BTreeSet;
use std::time::Duration;

use cuebase_storage::{AccountId, MessageId, NamespaceKey, NamespaceName};

use super::progress::Progress;
use crate::app::App;
use crate::error::Result;

/// Time between two checks of the queue.
const POLL: Duration = Duration::from_millis(50);

/// Waits until queued writes to a namespace are ingested or have failed permanently. Returns at once if the service
/// stops: the writes are durable, and ingestion resumes at the next start.
pub(super) fn wait_until_ingested(
    app: &App,
    namespace: &NamespaceKey,
    mut waiting: BTreeSet<MessageId>,
    on_progress: &dyn Fn(Progress),
) -> Result<()> {
    let all = waiting.len() as u64;
    while let Some(next) = waiting.first().copied() {
        if !app.inspector.is_queued(namespace, next)? {
            waiting.remove(&next);
            on_progress(Progress::new("conversations ingested", all - waiting.len() as u64, all));
        } else if app.jobs.is_stopping() {
            return Ok(());
        } else {
            std::thread::sleep(POLL);
        }
    }
    Ok(())
}

/// Waits until the memories of a namespace have their vectors, if these follow in the background. Returns at once if the
/// service stops: the memories are durable, and their vectors are computed after the next start.
pub(super) fn wait_until_embedded(
    app: &App,
    account: &AccountId,
    namespace: &NamespaceName,
    on_progress: &dyn Fn(Progress),
) -> Result<()> {
    let mut all = 0;
    loop {
        let waiting = app.intake.vectors.waiting_in(account, namespace)?;
        all = all.max(waiting);
        if all > 0 {
            on_progress(Progress::new("memories embedded", all - waiting, all));
        }
        if waiting == 0 || app.jobs.is_stopping() {
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
}
