//! Work that must not run on a rayon thread.

use crate::error::Result;

/// Runs parallel work while the caller holds a lock. On a rayon thread, a new thread runs it: while a rayon thread
/// waits for parallel work, it runs other queued work, which could wait for the same lock.
pub(super) fn on_own_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if rayon::current_thread_index().is_none() {
        return work();
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("open".into()).spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
