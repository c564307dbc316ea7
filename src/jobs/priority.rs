//! The priority of a thread that computes for long.

/// The niceness of such a thread. It gets about a tenth of a core that a request uses as well, and all of an idle core. With
/// a higher niceness, writes would wait longer for the lock that the thread holds.
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
