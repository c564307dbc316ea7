//! The engine that stores its keys on disk, with RocksDB.
//!
//! Start with [`database`], which reads and writes. [`open`] creates and opens the files. [`power`] detects a loss of
//! power, and [`manifest`] repairs the manifest that it tore. [`sync`] makes writes durable, with one sync for all
//! callers that wait. RocksDB accepts no writes after a refused one: [`reopen`] opens it again once [`probe`] finds
//! that the disk accepts writes. [`purge`] removes deleted entries from the files. [`legacy`] reads what earlier formats
//! left. [`errors`] converts RocksDB's errors.

#![expect(clippy::disallowed_types, reason = "this folder hides RocksDB")]

mod database;
mod errors;
mod legacy;
mod manifest;
mod open;
mod power;
mod probe;
mod purge;
mod reopen;
mod reopen_attempts;
mod scan;
mod sync;

pub use database::RocksEngine;
pub use open::EngineMemory;
