//! What a memory is before it is stored: conversations, drafts, skills, terms, and the files made from them.
//!
//! [`request`] reads the JSON of a caller; [`conversation`], [`draft`], [`skill`] and [`terms`] are the values; [`files`]
//! turns drafts into memory files and memory files into index entries; [`file_names`] gives new memories their paths.

pub mod conversation;
pub mod cues;
pub mod draft;
pub mod file_names;
pub mod files;
pub mod request;
pub mod skill;
pub mod tags;
pub mod terms;
pub mod time;
