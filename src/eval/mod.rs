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
//! [`namespace`] ingests texts and asks questions for all of them, and [`features`] writes what a ranking is fitted on.

pub mod admission;
mod admitted;
mod calibration;
pub mod changes;
pub mod features;
pub mod locomo;
pub mod measure;
pub mod namespace;
pub mod parts;
pub mod questions;
pub mod ranks;
pub mod suite;
