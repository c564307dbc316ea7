//! What whoever runs the service does with a data directory: copy it, put a copy in its place, see whether it is sound.
//!
//! [`backup`] copies everything while the service works; [`restore`] makes a data directory of such a copy; [`doctor`]
//! looks at everything and mends what is derived; [`export`] and [`import`] take single namespaces out and in;
//! [`reextract`] has memories extracted again from the conversations of one.

pub mod backup;
pub mod doctor;
pub mod export;
pub mod import;
pub mod manifest;
mod private_files;
pub mod reextract;
pub mod restore;

use std::collections::BTreeSet;
use std::time::Duration;

use cuebase_storage::records::NamespaceId;
use serde::{Deserialize, Serialize};
use ulid::Ulid;

use crate::error::Result;
use crate::service::Service;

/// How often it is looked whether writes are ingested.
const POLL: Duration = Duration::from_millis(50);

/// How far a long task is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// What is being done, for people.
    pub doing: String,
    /// So much of it is done.
    pub done: u64,
    /// So much there is to do; zero where that is not known.
    pub all: u64,
}

impl Progress {
    /// A step of a task.
    pub fn new(doing: impl Into<String>, done: u64, all: u64) -> Self {
        Self { doing: doing.into(), done, all }
    }
}

/// Waits until queued writes to a namespace are ingested, or have failed for good. Returns at once where the service stops:
/// the writes are durable, and resume at the next start.
fn wait_until_ingested(
    service: &Service,
    namespace: NamespaceId,
    mut waiting: BTreeSet<Ulid>,
    tell: &dyn Fn(Progress),
) -> Result<()> {
    let all = waiting.len() as u64;
    while let Some(next) = waiting.first().copied() {
        if !service.store.is_queued(namespace, next)? {
            waiting.remove(&next);
            tell(Progress::new("conversations ingested", all - waiting.len() as u64, all));
        } else if service.queue.is_stopping() {
            return Ok(());
        } else {
            std::thread::sleep(POLL);
        }
    }
    Ok(())
}
