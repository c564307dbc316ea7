//! Operations on a data directory: backup, restore, checks, export, import, re-extraction and erasure.
//!
//! [`backup`] copies everything while the service runs, and [`restore`] creates a data directory from such a copy.
//! [`doctor`] checks everything and repairs derived data. [`export`] and [`import`] write and read single namespaces.
//! [`reextract`] extracts memories again from the kept conversations of a namespace. [`erase`] erases text for good.
//! [`migrate`] copies everything between a data directory and a cluster.
//!
//! Most functions take an open `App`; how a command reaches it is the subject of `control`.

pub mod backup;
pub mod doctor;
pub mod erase;
pub mod export;
pub mod import;
pub mod manifest;
pub mod migrate;
mod private_files;
mod progress;
pub mod reextract;
pub mod restore;
mod wait;

pub use self::progress::Progress;
