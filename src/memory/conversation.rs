//! A validated conversation: the input of extraction.
//!
//! The queue stores these values, so `storage` defines them.

pub use cuebase_storage::records::{Conversation, Message, Moment, Role};
