//! Import into a namespace: histories, files, facts, documents and conversations.
//!
//! [`run`] selects the reader by format, which [`format`] detects. [`bundle`] imports a history, [`files`] writes
//! memories, [`documents`] stores files as documents, and [`conversations`] queues conversations. [`context`] holds what all of them use.
//!
//! Exports of other services are read by [`archives`] (ChatGPT, Claude), [`mem0`], [`zep`] with [`zep_messages`] (Zep,
//! Graphiti) and [`hindsight`]; [`json_file`] and [`facts`] hold what these share. [`mem0_server`] fetches memories from
//! a running server of mem0. Markdown of other programs is read
//! by [`notes`] with [`vault`] (Letta, any folder of notes) and by [`rules`] with [`rule_files`] (Claude Code, Cursor);
//! [`prose`] finds tags, links and names of files in it.
//!
//! Everything is checked before anything is written: if a part is invalid, the error lists the problems with their
//! places, and nothing is imported. Repeating an import adds only what is new.

mod archives;
mod bundle;
mod context;
mod conversations;
mod documents;
mod facts;
mod files;
pub mod format;
mod hindsight;
mod json_file;
mod listing;
mod mem0;
pub mod mem0_server;
mod notes;
mod prose;
mod rule_files;
mod rules;
mod run;
mod vault;
mod zep;
mod zep_messages;

pub use self::context::{ImportReport, Options};
pub use self::run::{import, import_mem0};
