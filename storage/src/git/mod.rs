//! One bare git repository per namespace: the truth for memories.
//!
//! [`repository`] opens, reads and compares; [`writer`] makes commits, one at a time per namespace, and keeps the
//! directories that it has seen so that the cost of a commit does not grow with the number of memories; [`pack`] is the
//! file that a commit's objects go into; [`consolidate`] folds many small packs into few larger ones; [`inspect`]
//! audits what a commit reaches; [`bundle`] is a whole history in one file; [`missing`] is what another git lacks, [`shallow`]
//! the same of one whose history ends early, [`push`]
//! takes in what another git sends.
//!
//! A commit is durable when [`Writer::commit`] returns: pack, index, their directory and the branch are synced in that
//! order, so that a loss of power leaves either the old head or the new one, whole.

mod bundle;
mod consolidate;
mod inspect;
mod missing;
mod pack;
mod push;
mod repository;
mod shallow;
mod writer;

pub use bundle::is_bundle;
pub use inspect::Inspection;
pub use missing::Missing;
pub use repository::{Change, CommitId, CommitInfo, Repository};
pub use shallow::Shallow;
pub use writer::{CommitMessage, Edit, Writer};
