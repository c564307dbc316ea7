//! The priority of a thread that computes for long.

/// The niceness of such a thread: beside a busy thread of a request it gets a tenth of a core, and the whole core while no
/// request needs it. A higher one would make writes wait too long for a lock that the thread holds.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Lowers the priority of the calling thread, so that requests and writes go first.
#[cfg(target_os = "linux")]
pub(super) fn lower_priority() {
    // Linux takes no process for the calling thread.
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "the priority of the thread of background vectors stays as it is");
    }
}

/// Does nothing: elsewhere, a priority belongs to the whole process.
#[cfg(not(target_os = "linux"))]
pub(super) fn lower_priority() {}
