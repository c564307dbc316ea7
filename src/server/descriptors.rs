//! The limit of open files, and the number of connections that it allows.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// The limit of open files that is requested from the system.
const FILES_WANTED: u64 = 65_536;
/// Files that the service itself needs: records, packs, indexes, sockets.
const FILES_RESERVED: u64 = 512;
/// Connections that are always allowed.
const CONNECTIONS_MIN: usize = 16;

/// Raises the limit of open files as far as the system allows. Returns how many connections it leaves room for, at most
/// `configured`.
pub(super) fn connections(configured: usize) -> usize {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return configured };
    let raised = hard.min(FILES_WANTED).max(soft);
    let limit = if setrlimit(Resource::RLIMIT_NOFILE, raised, hard).is_ok() { raised } else { soft };
    let room = usize::try_from(limit.saturating_sub(FILES_RESERVED)).unwrap_or(usize::MAX);
    let room = room.max(CONNECTIONS_MIN);
    if room < configured {
        tracing::warn!(
            limit,
            connections = room,
            "the limit of open files allows fewer connections than server.connections"
        );
    }
    configured.min(room)
}
