//! Import into a namespace: histories, files, facts and conversations.
//!
//! [`run`] selects the reader by format, which [`format`] detects. [`bundle`] imports a history, [`files`] writes
//! memories, and [`conversations`] queues conversations. Exports of other services are read by [`archives`] (ChatGPT,
//! Claude), [`mem0`], and [`notes`] (Letta, any folder of markdown). [`context`] holds what all of them use.
//!
//! Everything is checked before anything is written: if a part is invalid, the error lists the problems with their
//! places, and nothing is imported. Repeating an import adds only what is new.

mod archives;
mod bundle;
mod context;
mod conversations;
mod files;
pub mod format;
mod mem0;
mod notes;
mod run;

pub use self::context::{ImportReport, Options};
pub use self::run::import;
