//! Measures retrieval quality in process.
//!
//! [`locomo`] reads conversations in the LoCoMo format, and [`measure`] asks their questions. A piece of evidence (a turn
//! of the dialogue) counts as found when one hit contains at least 80 % of its content words. Recall is reported within
//! the first 1,000, 2,000 and 4,000 words of content and within the first 24 hits.
//!
//! [`suite`] reads files of dialogues whose messages are labelled. [`changes`] measures whether facts that change are
//! answered with the value that holds, [`admission`] whether nothing is admitted for questions without an answer, and
//! [`parts`] whether a memory is admitted for each thing that a query asks for. [`namespace`] ingests conversations and
//! asks questions for all of them.

pub mod admission;
mod admitted;
pub mod changes;
pub mod locomo;
pub mod measure;
pub mod namespace;
pub mod parts;
pub mod suite;
