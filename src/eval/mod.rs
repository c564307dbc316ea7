//! Measures retrieval quality in process, on conversations in the LoCoMo format.
//!
//! [`locomo`] reads the file; [`measure`] ingests the conversations, asks the questions and computes the figures. A
//! piece of evidence (a turn of the dialogue) counts as found when one hit contains at least 80 % of its content words.
//! Recall is reported within the first 1,000, 2,000 and 4,000 words of content and within the first 24 hits.

pub mod locomo;
pub mod measure;
