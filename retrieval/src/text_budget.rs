//! A limit on the memories that a search or a listing reads from the log.

/// Room for the memories of one result.
pub trait TextBudget: Send + Sync {
    /// Takes room for a memory of `bytes` bytes, before it is read. Returns false if there is none. The search then
    /// fails with [`Error::OverBudget`](crate::Error::OverBudget).
    fn take(&self, bytes: usize) -> bool;
}

/// Room for any number of memories.
pub(crate) struct Unlimited;

impl TextBudget for Unlimited {
    fn take(&self, _bytes: usize) -> bool {
        true
    }
}
