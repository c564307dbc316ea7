//! The in-memory queue of accepted writes: which worker gets which write, and which writes wait.
//!
//! The writes themselves are durable in the records, and the workers that process them are in `jobs`. [`dispatch`]
//! assigns writes to workers, in the [`order`] within a namespace and in turns between accounts. [`hold`] decides which
//! writes wait while the chat model does not respond. [`waits`] notifies callers that wait for a write, and [`progress`]
//! says how far long writes are.

pub mod dispatch;
pub mod hold;
pub mod order;
pub mod progress;
pub mod waits;
