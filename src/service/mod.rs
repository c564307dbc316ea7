//! The operations of the product, without HTTP. The API, the command line and the jobs call them.
//!
//! [`Service`] is an open data directory; start with `open.rs`. Each other file adds the methods of one subject:
//!
//! - `intake.rs` accepts writes into the queue, `purge.rs` deletes expired records;
//! - [`retrieval`] searches memories, [`answer`] answers questions;
//! - [`memories`], [`skills`] and [`vocabulary`] read and write by name;
//! - [`conversations`] and [`media`] are stored next to the memories;
//! - [`sources`] are the conversations that memories were extracted from;
//! - [`push`] accepts commits from git clients.
//!
//! The single writer of each namespace is in `src/namespace`.

pub mod accounts;
pub mod answer;
mod conversation_locks;
pub mod conversations;
mod data_directory;
pub mod dead_letters;
pub mod deletion;
mod intake;
pub mod media;
mod media_store;
pub mod memories;
mod open;
mod purge;
pub mod push;
pub mod retrieval;
mod running_time;
pub mod skills;
pub mod sources;
pub mod state;
pub mod vocabulary;

pub use self::open::Service;
