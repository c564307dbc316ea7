//! What a queued write changes: extraction of memories from conversations, and the plans of all other writes.
//!
//! [`extract`] makes drafts from a conversation's text; [`model_extract`] does so with a chat model. [`remember`],
//! [`skills`], [`vocabulary`] and [`direct`] turn what was extracted or sent into a plan of files; [`edited`] checks files
//! that a person wrote; [`reextract`] plans the replacement of a kept conversation's memories. The workers that call
//! these functions are in `jobs`.

pub mod direct;
pub mod edited;
pub mod extract;
pub mod model_extract;
pub mod reextract;
pub mod remember;
pub mod skills;
pub mod vocabulary;
