//! The sweep thread: records counters once a minute, removes expired data once an hour.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::{reembedding, settlement};
use crate::error::Result;
use crate::service::Service;

/// Interval at which counters are recorded and remains of deletions are removed.
const RECORD_INTERVAL: Duration = Duration::from_secs(60);

/// Record intervals per sweep of expired data: an hour.
const RECORDS_PER_SWEEP: u32 = 60;

/// Records counters and removes expired data until the other end of the channel is dropped.
pub(super) fn run(service: &Service, stopped: &Receiver<()>) {
    // Here and not at the start, which it would delay.
    keep_reserve(service);
    if let Err(error) = service.purge() {
        tracing::error!(%error, "expired data could not be removed");
    }
    let mut intervals = 0u32;
    while stopped.recv_timeout(RECORD_INTERVAL) == Err(RecvTimeoutError::Timeout) {
        record(service);
        service.namespaces.sweep();
        service.finish_removals();
        keep_reserve(service);
        intervals += 1;
        if intervals.is_multiple_of(RECORDS_PER_SWEEP) {
            sweep(service);
        }
    }
}

fn keep_reserve(service: &Service) {
    if let Err(error) = service.reserve.ensure() {
        tracing::warn!(%error, "disk space for deletions and starts could not be reserved");
    }
}

/// Records the counters that are kept in memory.
pub(super) fn record(service: &Service) {
    if let Err(error) = service.models.note_calls() {
        tracing::error!(%error, "the number of model calls could not be recorded");
    }
    if let Err(error) = service.write_running_time() {
        tracing::error!(%error, "the running time could not be recorded");
    }
}

/// Removes expired data and settles wallets.
fn sweep(service: &Service) {
    if let Err(error) = remove_expired(service) {
        tracing::error!(%error, "expired data could not be removed");
    }
    settlement::settle_all(service);
}

fn remove_expired(service: &Service) -> Result<()> {
    service.purge()?;
    service.sweep_media()?;
    reembedding::drop_unused_vectors(service)
}
