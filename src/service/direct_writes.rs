//! [`DirectWrites`]: writes and removals of one memory by its path. `push.rs` adds pushes of commits.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;

use cuebase_storage::MessageId;
use cuebase_storage::memory_file::MemoryPath;
use cuebase_storage::records::{FingerprintSubject, Meter, NamespaceRecord, QueuedWork, WriteSender};

use super::intake::{Intake, NewWrite};
use crate::billing::Billing;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::ingest::direct::{self, DirectWrite};
use crate::model::Models;
use crate::namespace::registry::Namespaces;

/// Writes of one memory by its path, and pushes from git clients.
pub struct DirectWrites {
    pub(super) namespaces: Arc<Namespaces>,
    pub(super) billing: Arc<Billing>,
    pub(super) models: Arc<Models>,
    /// Accepts removals into the queue.
    intake: Arc<Intake>,
    /// The data directory, which pushes are unpacked in.
    pub(super) data: PathBuf,
    clock: Clock,
}

/// The result of a direct write.
#[derive(Debug)]
pub struct DirectWriteResult {
    /// Whether the path had no memory before.
    pub is_new: bool,
    /// Id of the commit.
    pub commit: String,
}

impl DirectWrites {
    /// Returns the direct writes to `namespaces`.
    pub fn new(
        namespaces: Arc<Namespaces>,
        billing: Arc<Billing>,
        models: Arc<Models>,
        intake: Arc<Intake>,
        data: PathBuf,
        clock: Clock,
    ) -> Self {
        Self { namespaces, billing, models, intake, data, clock }
    }

    /// Writes a memory. It is committed, and visible to the next read, when this returns.
    pub fn write(&self, namespace: &NamespaceRecord, write: &DirectWrite) -> Result<DirectWriteResult> {
        let account = &namespace.account;
        self.billing.require_balance(account)?;
        self.namespaces.require_undamaged(namespace)?;
        let permit = self.billing.reserve(account, Meter::Writes)?;
        let lease = self.namespaces.lease_key(&namespace.key())?;
        // The API returns milliseconds, and the file must have the same time.
        let now = self.clock.now().round(jiff::Unit::Millisecond).map_err(Error::internal)?;
        let texts = write.cue_texts();
        lease.prepare(&texts, self.models.query_deadline());
        // The plan may be made more than once; the last value counts.
        let is_new = Cell::new(true);
        let commit = lease.write(Some(permit), now, |context| {
            is_new.set(!context.contains(write.path.as_str())?);
            direct::write(context, write, now)
        })?;
        let Some(commit) = commit else { return Err(Error::internal("a direct write made no commit")) };
        if let Err(error) = lease.consolidate_after_direct_write() {
            tracing::error!(%error, "cannot join packs; the next write tries again");
        }
        Ok(DirectWriteResult { is_new: is_new.get(), commit: commit.to_string() })
    }

    /// Queues the removal of a memory.
    pub fn forget(
        &self,
        namespace: &NamespaceRecord,
        path: &MemoryPath,
        sender: Option<WriteSender>,
    ) -> Result<MessageId> {
        let subjects = [FingerprintSubject::path(path.as_str())];
        let work = QueuedWork::Forget { paths: vec![path.to_string()] };
        self.intake.accept(namespace, NewWrite { work, sender }, None, &subjects)
    }
}
