//! Retrieval quality on conversations in the LoCoMo format, in process.
//!
//! [`locomo`] reads the file; [`measure`] ingests, asks and counts. The rules: a piece of evidence (a dialogue turn)
//! counts as found when at least 80 % of its content words stand in one hit's content; recall is given within the first
//! 1,000, 2,000 and 4,000 words of content and within the first 24 hits.

pub mod locomo;
pub mod measure;
