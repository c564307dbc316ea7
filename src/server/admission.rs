//! Limits on concurrent work, so that no account takes all of it.
//!
//! A request takes a slot ([`super::slots`]), or is refused with `503` if none is free for its sender. Then it waits
//! until few enough requests of its sender run. It keeps the slot while it waits and runs.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use super::sender::Sender;
use super::slots::{HeldSlots, SlotPool};
use crate::api::routes::ResponseSize;
use crate::api::{Reply, error};
use crate::cluster::Ownership;
use crate::config::Config;
use crate::service::reads::Reads;

/// Concurrent git requests.
const TRANSFERS_MAX: usize = 32;
/// Packs of one account that are made at once. A pack that waits for its client does not count.
const PACKS_PER_ACCOUNT: usize = 2;
/// Files that are sent at once.
const FILES_MAX: usize = 64;
/// Requests that wait for their write at once. Each holds a connection, and there are 1024 by default.
const WRITE_WAITS_MAX: usize = 512;
/// Concurrent requests to the MCP endpoint.
const TOOL_CALLS_MAX: usize = 64;
/// Requests of one account to the MCP endpoint that run at once.
const TOOL_CALLS_PER_ACCOUNT: usize = 16;
/// Concurrent requests without a credential.
const OPEN_REQUESTS_MAX: usize = 1024;
/// Requests without a credential that run at once on one route.
const OPEN_REQUESTS_PER_ROUTE: usize = 16;
/// Requests of one account that run at once on the blocking pool. The others wait, so that they do not occupy the
/// threads that other accounts need.
const REQUESTS_PER_ACCOUNT: usize = 32;
/// Retrievals of one account that run at once, per retrieval thread. It keeps all threads busy, and another account's
/// retrieval still gets a thread soon.
const RETRIEVALS_PER_THREAD: usize = 4;
/// Large answers of one account that are made at once.
const LARGE_ANSWERS_PER_ACCOUNT: usize = 2;

/// The slots of every kind of work.
pub(super) struct Admission {
    retrievals: Arc<SlotPool>,
    requests: Arc<SlotPool>,
    /// The subset of `requests` with large answers.
    large_requests: Arc<SlotPool>,
    /// Requests without a credential, by route instead of account.
    open_requests: Arc<SlotPool>,
    /// Git requests. They are separate from `requests`, since a clone takes as long as its client.
    transfers: Arc<SlotPool>,
    /// Requests to the MCP endpoint, in addition to the requests that their tools make.
    tool_calls: Arc<SlotPool>,
    /// Files that are being sent.
    files: Arc<SlotPool>,
    /// Requests that wait for the end of their write.
    write_waits: Arc<SlotPool>,
    /// Requests that wait for the answer of the node that owns their namespace. They are separate from `requests` and
    /// `retrievals`, since they occupy a connection and memory here, but no thread.
    forwarded: Arc<SlotPool>,
}

/// The slots of a request that runs. Dropping it admits the next one.
pub(super) struct RunPermit {
    _slot: HeldSlots,
    _request_slot: Option<HeldSlots>,
    _running: OwnedSemaphorePermit,
}

impl Admission {
    /// Makes the pools as configured. The retrievals are divided among the nodes that share the storage.
    pub(super) fn new(config: &Config, reads: &Reads, ownership: &Arc<Ownership>) -> Self {
        let requests = config.server.requests.get();
        let retrievals = config.retrieval.concurrency.get();
        // A retrieval that waits for the vector of a hosted model or for another node occupies no retrieval thread.
        let running_retrievals = if reads.may_wait_for_network() {
            retrievals
        } else {
            reads.searchers().pool().current_num_threads() * RETRIEVALS_PER_THREAD
        };
        Self {
            retrievals: SlotPool::divided(ownership, retrievals, (retrievals / 2).max(2), running_retrievals),
            requests: SlotPool::new(requests, (requests / 4).max(1), REQUESTS_PER_ACCOUNT),
            large_requests: SlotPool::new(usize::MAX, 0, LARGE_ANSWERS_PER_ACCOUNT),
            open_requests: SlotPool::new(OPEN_REQUESTS_MAX, OPEN_REQUESTS_MAX / 16, OPEN_REQUESTS_PER_ROUTE),
            transfers: SlotPool::new(TRANSFERS_MAX, TRANSFERS_MAX / 2, PACKS_PER_ACCOUNT),
            tool_calls: SlotPool::new(TOOL_CALLS_MAX, TOOL_CALLS_MAX / 4, TOOL_CALLS_PER_ACCOUNT),
            files: SlotPool::new(FILES_MAX, FILES_MAX / 2, FILES_MAX),
            write_waits: SlotPool::new(WRITE_WAITS_MAX / 2, WRITE_WAITS_MAX / 2, WRITE_WAITS_MAX),
            forwarded: SlotPool::new(requests, (requests / 4).max(1), requests),
        }
    }

    /// Admits a retrieval. Only a few retrievals of an account with large answers run at once.
    pub(super) async fn retrieval(&self, sender: &Sender, size: ResponseSize) -> Result<RunPermit, Reply> {
        let permits = match size {
            ResponseSize::Small => 1,
            ResponseSize::Large => self.retrievals.running_max().div_ceil(LARGE_ANSWERS_PER_ACCOUNT),
        };
        admit(&self.retrievals, sender, permits).await
    }

    /// Admits a request of an account.
    pub(super) async fn request(&self, sender: &Sender) -> Result<RunPermit, Reply> {
        admit(&self.requests, sender, 1).await
    }

    /// Admits a request of an account with a large answer.
    pub(super) async fn large_request(&self, sender: &Sender) -> Result<RunPermit, Reply> {
        let slot = take(&self.requests, sender)?;
        let permit = admit(&self.large_requests, sender, 1).await?;
        Ok(RunPermit { _request_slot: Some(slot), ..permit })
    }

    /// Admits a request without a credential.
    pub(super) async fn open_request(&self, sender: &Sender) -> Result<RunPermit, Reply> {
        admit(&self.open_requests, sender, 1).await
    }

    /// Admits a request to the MCP endpoint.
    pub(super) async fn tool_call(&self, sender: &Sender) -> Result<RunPermit, Reply> {
        admit(&self.tool_calls, sender, 1).await
    }

    /// Admits a git request. It does not wait.
    pub(super) fn transfer(&self, sender: &Sender) -> Result<HeldSlots, Reply> {
        take(&self.transfers, sender)
    }

    /// Admits the sending of a file. It does not wait.
    pub(super) fn file(&self, sender: &Sender) -> Result<HeldSlots, Reply> {
        take(&self.files, sender)
    }

    /// Admits a request that another node answers. It does not wait.
    pub(super) fn forwarded(&self, sender: &Sender) -> Result<HeldSlots, Reply> {
        take(&self.forwarded, sender)
    }

    /// Admits a wait for a write. Returns none if too many requests of the sender wait.
    pub(super) fn write_wait(&self, sender: &Sender) -> Option<HeldSlots> {
        self.write_waits.take(sender, 1)
    }
}

fn take(pool: &Arc<SlotPool>, sender: &Sender) -> Result<HeldSlots, Reply> {
    pool.take(sender, 1).ok_or_else(error::unavailable)
}

/// Takes a slot, then waits for `permits` of those that limit the running requests of the sender.
async fn admit(pool: &Arc<SlotPool>, sender: &Sender, permits: usize) -> Result<RunPermit, Reply> {
    let slot = take(pool, sender)?;
    let permits = u32::try_from(permits).unwrap_or(1);
    let running = slot.running().acquire_many_owned(permits).await.map_err(|_| error::unavailable())?;
    Ok(RunPermit { _slot: slot, _request_slot: None, _running: running })
}
