//! The sweep thread: records counters once a minute, removes expired data once an hour.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::settlement;
use crate::service::Service;

/// How often what is counted in memory is noted, and what deletions left is removed.
const NOTE_INTERVAL: Duration = Duration::from_secs(60);

/// Rounds of notes between two sweeps of what is old: an hour.
const NOTES_PER_SWEEP: u32 = 60;

/// Notes what is counted and sweeps out what is old, until the other end of the channel is dropped.
pub(super) fn run(service: &Service, stopped: &Receiver<()>) {
    // After the start has been served, not before.
    keep_reserve(service);
    if let Err(error) = service.purge() {
        tracing::error!(%error, "sweeping out what is old failed");
    }
    let mut notes = 0u32;
    while stopped.recv_timeout(NOTE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
        record(service);
        service.namespaces.sweep();
        service.finish_removals();
        keep_reserve(service);
        notes += 1;
        if notes.is_multiple_of(NOTES_PER_SWEEP) {
            sweep(service);
        }
    }
}

fn keep_reserve(service: &Service) {
    if let Err(error) = service.reserve.keep() {
        tracing::warn!(%error, "space for deletions and starts could not be kept back");
    }
}

/// Notes what is counted in memory.
pub(super) fn record(service: &Service) {
    if let Err(error) = service.models.note_calls() {
        tracing::error!(%error, "calls of models could not be noted");
    }
    if let Err(error) = service.note_running() {
        tracing::error!(%error, "the running time could not be noted");
    }
}

/// Sweeps out what is old, and settles wallets.
fn sweep(service: &Service) {
    let swept = service
        .purge()
        .and_then(|_| service.sweep_media())
        .and_then(|()| super::reembedding::drop_unused_vectors(service));
    if let Err(error) = swept {
        tracing::error!(%error, "sweeping out what is old failed");
    }
    settlement::settle_all(service);
}
