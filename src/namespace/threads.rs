//! Running work outside rayon's threads.

use crate::error::Result;

/// Runs work under a lock whose parts several threads do. On one of rayon's threads it is run by a thread of its own: a
/// thread of rayon's that waits for a part takes up queued work meanwhile, and that may wait for the very lock.
pub(super) fn on_own_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if rayon::current_thread_index().is_none() {
        return work();
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("open".into()).spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
