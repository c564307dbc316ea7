//! Memories before they are stored: conversations, skills, terms, and the files made from them.
//!
//! [`request`] decodes and checks the JSON of a request; [`fields`] declares the fields with their types, and
//! [`values`] describes those that several bodies have. [`json_errors`] describes what is wrong with a text that is not
//! JSON. [`conversation`], [`skill`] and [`terms`] define the values. [`files`] makes memory files of drafts,
//! and index entries of memory files. [`quotations`] reads what memories quote of each other. [`file_names`] chooses the paths of new memories. Storing and indexing are in
//! `namespace`.

pub mod conversation;
pub mod cues;
pub mod fields;
pub mod file_names;
pub mod files;
pub mod json_errors;
pub mod metadata;
pub mod quotations;
pub mod request;
pub mod skill;
pub mod statement;
pub mod tags;
pub mod terms;
pub mod time;
pub mod values;
