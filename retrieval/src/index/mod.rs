//! The index of one namespace: changes go in, immutable snapshots come out.
//!
//! Start at [`writer`] for changes and at [`snapshot`] for reads. On disk an index is a folder:
//!
//! ```text
//! memories.log           frames of entries and memories, appended (see `log`)
//! vectors.log            rows of 8-bit integers, appended: the values, then the scale as f32 little-endian
//! layer-<first>-<count>  documents in columns and their inverted index (see `layer`), so that opening is quick
//! state                  the head that the index stands for, and how much of the two logs belongs to it
//! ```
//!
//! A change takes effect when `state` is replaced: the next open truncates both logs to the lengths in `state`. Nothing
//! is synced, because all of it is derived from git. Every byte is under a checksum, and an inconsistency is reported
//! as [`Error::Damaged`](crate::Error::Damaged). The remedy is a rebuild. [`Index::files`] lists the files for a copy.
//!
//! In memory an index is the [`table`] of documents, the [`cue_table`] of the cues' vectors, and the [`graph`] of
//! relations. The memories stay in the log and are read from it for the hits that are returned.
//!
//! Documents, slots and rows are explained in [`ids`](crate::ids).

pub(crate) mod claim_entry;
pub(crate) mod claim_history;
mod cue_table;
pub(crate) mod entry;
mod files;
mod filtering;
mod graph;
mod habits;
mod layer;
pub(crate) mod ledger;
mod log;
mod nearest_rows;
mod number_entry;
mod opening;
mod row;
mod scan;
mod settings;
mod sketch;
mod snapshot;
mod state;
mod table;
pub(crate) mod validity;
mod writer;

pub(crate) use cue_table::CueTable;
pub use files::{IndexFile, IndexFiles};
pub(crate) use filtering::allowed_documents;
pub(crate) use graph::Graph;
pub(crate) use layer::{Document, Postings};
pub(crate) use ledger::Ledger;
pub(crate) use row::Row;
pub use settings::{ENCODER_IDENTITY, IndexSettings};
pub use snapshot::Snapshot;
pub use state::STATE_FILE;
pub(crate) use table::Table;
pub(crate) use validity::ValidityFilter;
pub use validity::ValidityState;
pub use writer::{Change, Index};
