//! Namespaces: opening them, writing to them, and the data derived from their git repositories.
//!
//! A write takes the writer lock. Its [plan](plan) lists the files to change; they are committed to git, then indexed,
//! then the record gets the new head. Readers never take the lock: they load the newest published snapshot. What a
//! write changes is decided in `ingest`; which write comes next is decided in `queue`.
//!
//! Start with [`open`], one open namespace, and [`mod@write`], its write path. [`registry`] keeps some namespaces open.
//! [`sync`] and [`recover`] update index and vocabulary to git's head after a crash, a failed change or a push.
//! [`reembed`] computes missing vectors, [`backlog`] lists the namespaces that need it, and [`pace`] is how fast. `erase`
//! erases text for good, and `path_repair` moves files with paths of earlier versions. In a cluster, [`snapshot_state`]
//! and its neighbours keep copies of indexes in the bucket.

pub mod backlog;
pub mod context;
pub mod damage;
pub mod disk_reserve;
pub mod erasure_reports;
pub mod heads;
pub mod ids;
pub mod names;
pub mod open;
pub mod pending;
pub mod plan;
pub mod registry;
pub mod report;
pub mod repository_home;
pub mod retention;
pub mod write;

mod compare;
mod end;
mod erase;
mod erasure_plan;
mod erasure_recovery;
mod foreign_copies;
pub mod pace;
mod path_repair;
mod recover;
pub mod reembed;
mod snapshot_download;
pub mod snapshot_state;
mod snapshot_upload;
pub mod sync;
mod threads;
mod writer_state;

#[cfg(test)]
mod erase_tests;
#[cfg(test)]
mod plan_tests;
#[cfg(test)]
mod snapshot_tests;
