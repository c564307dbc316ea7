//! How many files and connections the process may have open.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raised to so many, where the system allows it.
const WANTED: u64 = 65_536;
/// The service's own: records, packs, indexes, sockets of its own.
const OWN: u64 = 512;
/// Connections are never fewer.
const CONNECTIONS_MIN: usize = 16;

/// Raises the limit of open files as far as the system allows, and returns how many connections that leaves room for, at
/// most `wanted`.
pub(super) fn connections(wanted: usize) -> usize {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return wanted };
    let raised = hard.min(WANTED).max(soft);
    let limit = if setrlimit(Resource::RLIMIT_NOFILE, raised, hard).is_ok() { raised } else { soft };
    let room = usize::try_from(limit.saturating_sub(OWN)).unwrap_or(usize::MAX).max(CONNECTIONS_MIN);
    if room < wanted {
        tracing::warn!(
            limit,
            connections = room,
            "few files may be open: fewer connections are taken than server.connections says"
        );
    }
    wanted.min(room)
}
