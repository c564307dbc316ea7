//! Migrates a database of an earlier format to the current format.
//!
//! A step copies records into the columns of its format, in batches. Its last batch also writes the new format number.
//! Until then, all changes remain readable in the earlier format, so an interrupted step can start again. The legacy
//! columns are dropped after the format number has changed.
//!
//! Formats 2 and 3 store the queue in the same way, as format 3 only added column families. [`from_3`] therefore
//! migrates both. [`from_1`] leads to format 4 directly, because the column of the queue in formats 2 and 3 is legacy.

mod from_1;
mod from_3;
mod step;

use super::store::{DATA_FORMAT, DATA_FORMAT_OLDEST, Store};
use crate::error::{Error, Result};
use crate::key_value::RocksEngine;

/// Runs all steps from a format to the current one. `engine` is the engine of the store, as only a database on disk can
/// have an earlier format.
pub(super) fn migrate(store: &Store, engine: &RocksEngine, from: u32) -> Result<()> {
    if from < DATA_FORMAT_OLDEST {
        return Err(Error::corrupt("data format", format!("format {from} does not exist")));
    }
    tracing::info!(from, to = DATA_FORMAT, "migrating the records to the current format");
    if from == 1 { from_1::migrate(store, engine) } else { from_3::migrate(store, engine) }
}
