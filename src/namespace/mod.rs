//! Open namespaces: the one writer of each, its plans, and what is derived from git.
//!
//! A write takes the writer's lock. A [plan](plan) lists the files to write; they are committed to git, then indexed, then
//! the record gets the new head. Readers never take the lock: they load the newest published snapshot.
//!
//! Start with [`open`], one open namespace. [`registry`] keeps a few of them open; [`sync`] brings what is derived to git's
//! head after a crash or a push; [`reembed`] computes vectors again; [`backlog`] lists the namespaces that need it.

pub mod backlog;
pub mod context;
pub mod damage;
pub mod disk_reserve;
pub mod ids;
pub mod key;
pub mod names;
pub mod open;
pub mod pending;
pub mod plan;
pub mod registry;
pub mod retention;
pub mod write;

mod compare;
mod recover;
mod reembed;
pub mod sync;
mod threads;
