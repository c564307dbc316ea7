//! The inputs of a measurement that are not files of labelled lines: what a path holds, and the readers of public sets.
//!
//! Start with [`kind`], which says what a path holds. [`beir`] reads folders of documents, queries and judgements, and
//! [`longmemeval`] reads questions with the chats that answer them. Both read from the file piece by piece, through
//! [`lines`] and [`elements`], and report what is wrong as an [`error`].

pub mod beir;
mod elements;
pub mod error;
pub mod kind;
mod lines;
pub mod longmemeval;
