//! From a queue message to a commit that can be retrieved from.
//!
//! [`conversation`] is what a client posted; [`extract`] makes drafts of memories from it, or
//! [`model_extract`] does, with a chat model; [`naming`] gives each a path;
//! [`files`] turns drafts into memory files and memory files into what the index takes. [`skills`], [`vocabulary`] and
//! [`direct`] are what a client writes itself, [`edited`] what a person wrote as files. [`reextract`] extracts memories from
//! a kept conversation again. [`queue`] hands accepted writes to workers, in order within a namespace; [`hold`] keeps back
//! what waits for a model that does not answer, and [`outage`] is what a worker does then;
//! [`worker`] does the work, and [`steps`] count and interrupt what it does to a text.

pub mod conversation;
pub mod direct;
pub mod edited;
pub mod extract;
pub mod files;
pub mod hold;
pub mod model_extract;
pub mod naming;
pub mod outage;
pub mod queue;
mod reextract;
pub mod skills;
pub mod steps;
pub mod vocabulary;
pub mod worker;
