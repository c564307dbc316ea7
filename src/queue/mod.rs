//! The queue of accepted writes in memory: which worker gets which write, and which writes wait.
//!
//! The writes themselves are durable in the records. [`dispatch`] hands them to workers, in order within a namespace and
//! in turns between accounts; [`hold`] decides which writes wait while the chat model does not respond.

pub mod dispatch;
pub mod hold;
