//! Claims: what statements say about the attributes of persons and things, and which claims a question asks for.
//!
//! [`attributes`] is the table of attributes. [`names`] makes subjects, attributes and values comparable.

pub mod attributes;
pub mod frames;
pub mod names;
pub mod question;
