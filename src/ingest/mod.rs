//! The content of writes: extraction of memories from conversations, and the plans of all writes.
//!
//! [`extraction`] extracts drafts from a conversation's text, and [`model_extract`] does so with a chat model. [`session`]
//! reads the messages before it, and [`forgetting`] what its users ask to forget.
//! [`remember`], [`skills`], [`vocabulary`] and [`direct`] make plans of files from drafts and requests. [`repetition`]
//! finds out what was said before, and [`answered`] which questions a write answers. [`reextract`]
//! plans the replacement of a kept conversation's memories; [`commits`] knows the commits of a write. [`dropped`] names the messages that became no memory, and
//! [`edited`] checks files that a person wrote. The workers that call these functions are in `jobs`, and the namespace
//! that executes a plan is in `namespace`.

mod answered;
mod commits;
pub mod direct;
pub mod documents;
pub mod dropped;
pub mod edited;
pub mod extraction;
pub mod forgetting;
pub mod model_extract;
pub mod reextract;
pub mod remember;
mod repetition;
pub mod session;
pub mod skills;
pub mod vocabulary;
