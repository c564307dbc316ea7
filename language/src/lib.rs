//! What a text says, without a model. Start with [`extract::extract`] for writes, and with [`relevance::parts()`] and
//! [`claims::question`] for queries.
//!
#![doc = include_str!("../README.md")]

pub mod claims;
pub mod conversation;
pub mod dates;
pub mod extract;
pub mod memory;
pub mod relevance;
pub mod standing;
pub mod text;
pub mod tokenize;
pub mod wishes;
