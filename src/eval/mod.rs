//! Measures retrieval quality in process.
//!
//! [`locomo`] reads conversations in the LoCoMo format, and [`measure`] asks their questions. A piece of evidence (a turn
//! of the dialogue) counts as found when one hit contains at least 80 % of its content words. Recall is reported within
//! the first 1,000, 2,000 and 4,000 words of content and within the first 24 hits.
//!
//! [`suite`] reads files with labelled messages and documents:
//!
//! - [`questions`] measures where what answers a question ranks ([`ranks`]) and whether it is admitted ([`admission`]);
//! - [`changes`] measures whether facts that change are answered with the value that holds;
//! - [`parts`] measures whether a memory is admitted for each thing that a query asks for.
//!
//! [`input`] recognises what a path holds, and reads public sets as labelled questions: folders in the BEIR format, and
//! LongMemEval, for which [`longmemeval`] adds that benchmark's own measures.
//!
//! [`namespace`] ingests texts and asks questions for all of them, [`open_space`] for labelled questions. [`features`]
//! writes what a ranking is fitted on, and [`report`] writes a page with the figures and the [`misses`].

pub mod admission;
mod admitted;
mod calibration;
pub mod changes;
pub mod features;
pub mod input;
pub mod locomo;
pub mod longmemeval;
pub mod measure;
pub mod misses;
pub mod namespace;
pub mod open_space;
pub mod parts;
pub mod questions;
pub mod ranks;
pub mod report;
pub mod suite;
