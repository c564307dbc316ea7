//! The payloads of queued writes: what a request asks for, checked, in the form in which the queue stores it.
//!
//! They are plain values. Requests are parsed and checked in the server. The fields and their names are a stored format:
//! a field may be added as an optional one, and a different payload is a new variant of
//! [`QueuedWork`](super::QueuedWork).

mod conversation;
mod document;
mod erasure;
mod message;
mod skill;
mod term;

pub use conversation::{Conversation, Message};
pub use cuebase_language::conversation::Role;
pub use cuebase_language::memory::Moment;
pub use document::{DocumentDraft, PassageDraft};
pub use erasure::{ErasureReport, ErasureSelection};
pub use message::{MessageBody, MessageContent, SentTime};
pub use skill::SkillDraft;
pub use term::TermDraft;
