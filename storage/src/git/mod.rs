//! One bare git repository per namespace: the truth for memories.
//!
//! Start with [`repository`], which opens and reads, and [`writer`], which makes commits, one at a time per namespace, and
//! keeps the directories that it has seen so that the cost of a commit does not grow with the number of memories.
//!
//! - Objects: [`tree`] reads directories in place, [`compare`] finds what differs between two of them, [`history`] walks
//!   along first parents within a budget.
//! - Files: [`pack`] is the file that objects go into, [`delta`] tells large directories as their difference from another
//!   version, [`consolidate`] folds many small packs into few larger ones, [`indexes`] builds lost pack indexes again,
//!   [`branch`] moves and restores the branch.
//! - Other repositories: [`missing`] is what another git lacks, [`shallow`] the same of one whose history ends early,
//!   [`bundle`] is a whole history in one file, [`push`] takes in what another git sends. [`limits`] bounds what comes in,
//!   [`scan`] looks at a pack before it is unpacked, [`inspect`] audits what a commit reaches.
//!
//! A commit is durable when [`Writer::commit`] returns: pack, index, their directory and the branch are synced in that
//! order, so that a loss of power leaves either the old head or the new one, whole.

mod branch;
mod bundle;
mod compare;
mod consolidate;
mod delta;
mod history;
mod indexes;
mod inspect;
mod limits;
mod missing;
mod pack;
mod push;
mod repository;
mod scan;
mod shallow;
mod tree;
mod writer;

pub use bundle::is_bundle;
pub use history::{Histories, HistoryBudget};
pub use inspect::Inspection;
pub use limits::IntakeLimits;
pub use missing::Missing;
pub use repository::{Change, ChangedFile, CommitId, CommitInfo, FileReader, Repository};
pub use scan::check_pack;
pub use shallow::Shallow;
pub use writer::{CommitMessage, Edit, Writer};
