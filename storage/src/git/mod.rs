//! One bare git repository per namespace: the source of truth for memories.
//!
//! Start with [`repository`], which opens a repository and reads files, and [`writer`], which commits. A namespace has
//! one writer. It caches the directories it has read, so that the cost of a commit does not grow with the number of
//! memories.
//!
//! - Objects: [`commit`] reads commits, [`tree`] reads directories in place, [`compare`] finds the files that differ
//!   between two trees, [`changes`] returns them with their contents, [`history`] walks along first parents within a
//!   budget. [`replaced_files`] finds files that were lost when a directory and a file had one name.
//! - Files: [`pack`] writes pack files with entries from [`pack_entry`], [`pack_reader`] reads them. [`recent_files`]
//!   keeps what was written last. [`delta`] encodes large directories as deltas from another version. [`consolidate`]
//!   joins small packs into larger ones, [`replaced`] lists the packs that joined ones have replaced. [`indexes`]
//!   rebuilds lost pack indexes, [`branch`] moves and restores the branch.
//! - Elsewhere: [`ledger`] keeps a repository in another place, with the local one as its cache. [`ledger_copy`] copies a
//!   whole repository there.
//! - Other repositories: [`missing`] finds the objects that another repository lacks, [`shallow`] does so for shallow
//!   histories, [`bundle`] stores a whole history in one file, [`push`] receives objects from another git.
//! - Erasing: [`versions`] reads every version of every file, [`rewrite`] copies a history without some memories, with
//!   [`rewritten_commit`] for the text of a commit and [`pack_sequence`] for the packs. [`former`] lists and removes
//!   the files of the former history.
//! - Checks on received data: [`limits`] defines the limits, [`scan`] checks a pack before it is unpacked, [`inspect`]
//!   checks every object that a commit reaches.
//!
//! A commit is durable when [`Writer::commit`] returns. The pack, its index, their directory and the branch are synced
//! in that order, so that after a loss of power the branch is either the old head or the new one, with all of its
//! objects.

#![expect(clippy::disallowed_types, reason = "this folder hides gix")]

mod branch;
mod bundle;
mod changes;
mod commit;
mod commit_reader;
mod compare;
mod consolidate;
mod delta;
mod following;
mod former;
mod history;
mod indexes;
mod inspect;
mod ledger;
mod ledger_copy;
mod limits;
mod missing;
mod pack;
mod pack_entry;
mod pack_reader;
mod pack_sequence;
mod push;
mod recent_files;
mod replaced;
mod replaced_files;
mod repository;
mod rewrite;
mod rewritten_commit;
mod scan;
mod shallow;
mod tree;
mod versions;
mod writer;

pub use bundle::is_bundle;
pub use changes::{ChangedFile, FileChange, FileReader};
pub use commit::{CommitId, CommitInfo};
pub use commit_reader::CommitReader;
pub use history::{Histories, HistoryBudget, PathChange, PathChangeKind};
pub use inspect::Inspection;
pub use ledger::{Ledger, LedgerState, NewPack, PackId};
pub use ledger_copy::RepositorySize;
pub use limits::IntakeLimits;
pub use missing::MissingObjects;
pub use replaced_files::ReplacedFile;
pub use repository::Repository;
pub use rewrite::RewrittenHistory;
pub use scan::check_pack;
pub use shallow::ShallowFetch;
pub use versions::{FileVersion, FileVersions};
pub use writer::{CommitMessage, Edit, Writer};
