//! Extraction with a chat model.
//!
//! A conversation is read in [parts]. For each part, the [extractor] shows the model the prompt (`prompt.md`), the
//! messages as quoted data, similar memories, and the vocabulary terms that the messages mention. The model answers
//! with operations, which [`operations`] checks one by one. The extractor reports invalid ones to the model once; those
//! that are still invalid are dropped with a reason. [`plan`] turns the resulting [`Extraction`] into files.

mod extraction;
mod extractor;
mod operations;
mod parts;
pub mod plan;
mod reply;

pub use self::extraction::Extraction;
pub use self::extractor::{ModelExtractor, SimilarMemory};
pub use self::operations::Operation;
