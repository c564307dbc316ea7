//! Copying all records from one database to another, and comparing both, while nobody writes to either.
//!
//! The databases are that of a data directory and that of a cluster, in either direction. Keys are copied in order and
//! every batch is synced. In each column, the target therefore has the first keys of the source, and an interrupted
//! copy continues after the last key of the target. Two columns are small and copied in whole each time:
//! [`Column::Meta`], where each database has entries of its own, and [`Column::Usage`], where each process of a cluster
//! has a part of a meter: the target gets the sum.
//!
//! [`Column::OF_CLUSTER`] is left out. Repositories are copied with
//! [`Repository::publish_all`](crate::git::Repository::publish_all).

use std::collections::BTreeMap;

use super::copy_marker::is_left_out;
use super::store::{Store, decode, encode};
use super::usage_keys::split_part_key;
use super::usage_record::UsageRecord;
use crate::error::{Error, Result};
use crate::key_value::{Batch, Column, Durability, KeyValuePair};

/// Entries of a batch at most. A page that was read has at most about 1 MiB, so a batch has no more.
const BATCH_ENTRIES: usize = 1000;
/// Compared records between two reports of progress.
const PROGRESS_INTERVAL: u64 = 10_000;

/// The number and size of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordTotals {
    /// Number of records.
    pub records: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
}

/// The entries of one column, in key order.
type Entries<'a> = Box<dyn Iterator<Item = Result<KeyValuePair>> + 'a>;

/// Copies all records, or continues an interrupted copy. `on_progress` receives the number of records that this call
/// has copied. The records are durable on return.
///
/// # Errors
/// The errors of both engines, and [`Error::Corrupt`] if a meter cannot be decoded.
pub fn copy_records(from: &Store, to: &Store, on_progress: &dyn Fn(u64)) -> Result<()> {
    let mut copy = RecordCopy { from, to, copied: 0, on_progress };
    for &column in Column::ALL {
        if Column::OF_CLUSTER.contains(&column) {
            continue;
        }
        match converted(from, column)? {
            Some(entries) => copy.write(column, entries)?,
            None => copy.copy_rest(column)?,
        }
    }
    Ok(())
}

/// Compares all records of two databases, byte by byte. `on_progress` receives the number of compared records.
///
/// # Errors
/// [`Error::Corrupt`] if a record is missing in the target, differs, or is not in the source.
pub fn compare_records(from: &Store, to: &Store, on_progress: &dyn Fn(u64)) -> Result<RecordTotals> {
    let mut totals = RecordTotals::default();
    for &column in Column::ALL {
        if Column::OF_CLUSTER.contains(&column) {
            continue;
        }
        compare_column(column, entries(from, column)?, entries(to, column)?, &mut totals, on_progress)?;
    }
    Ok(totals)
}

/// A copy that is being made.
struct RecordCopy<'a> {
    from: &'a Store,
    to: &'a Store,
    /// Number of copied records.
    copied: u64,
    on_progress: &'a dyn Fn(u64),
}

impl RecordCopy<'_> {
    /// Copies the entries of a column after the last key that the target has.
    fn copy_rest(&mut self, column: Column) -> Result<()> {
        let newest = self.to.kv.scan_back(column, b"", None, 1)?;
        let mut after = newest.into_iter().next().map(|(key, _)| key);
        loop {
            let page = self.from.kv.read_page(column, after.as_deref())?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(last.clone());
            self.write(column, page)?;
        }
    }

    /// Writes entries in batches.
    fn write(&mut self, column: Column, entries: Vec<KeyValuePair>) -> Result<()> {
        let mut batch = Batch::new();
        let mut count = 0;
        for (key, value) in entries {
            batch.put(column, key, value);
            count += 1;
            if count == BATCH_ENTRIES {
                self.write_batch(&batch, count)?;
                batch = Batch::new();
                count = 0;
            }
        }
        if count > 0 {
            self.write_batch(&batch, count)?;
        }
        Ok(())
    }

    fn write_batch(&mut self, batch: &Batch, count: usize) -> Result<()> {
        // Synced: after a fail-over, a lost batch before one that is kept would be a gap that nobody fills.
        self.to.kv.write(batch, Durability::Synced)?;
        self.copied += count as u64;
        (self.on_progress)(self.copied);
        Ok(())
    }
}

/// Returns the entries of a column, in the form in which both sides have them after a copy.
fn entries(store: &Store, column: Column) -> Result<Entries<'_>> {
    match converted(store, column)? {
        Some(entries) => Ok(Box::new(entries.into_iter().map(Ok::<KeyValuePair, Error>))),
        None => Ok(Box::new(store.kv.read_all(column))),
    }
}

/// Compares the entries of a column, and adds them to the totals.
fn compare_column(
    column: Column,
    mut expected: Entries<'_>,
    mut found: Entries<'_>,
    totals: &mut RecordTotals,
    on_progress: &dyn Fn(u64),
) -> Result<()> {
    let mut records = 0u64;
    loop {
        let pair = (expected.next().transpose()?, found.next().transpose()?);
        let (Some(wanted), Some(stored)) = &pair else {
            if pair == (None, None) {
                return Ok(());
            }
            return Err(differs(column, &format!("one side has only {records} records")));
        };
        if wanted != stored {
            return Err(differs(column, &format!("record {records} is not the same on both sides")));
        }
        records += 1;
        totals.records += 1;
        totals.bytes += (stored.0.len() + stored.1.len()) as u64;
        if totals.records.is_multiple_of(PROGRESS_INTERVAL) {
            on_progress(totals.records);
        }
    }
}

fn differs(column: Column, reason: &str) -> Error {
    Error::corrupt(format!("copy of the column {}", column.name()), reason)
}

/// Returns all entries of a column, in the form in which both sides have them after a copy. `None` if that is the form
/// in which they are stored.
fn converted(store: &Store, column: Column) -> Result<Option<Vec<KeyValuePair>>> {
    match column {
        Column::Meta => Ok(Some(meta_entries(store)?)),
        Column::Usage => Ok(Some(summed_usage(store)?)),
        _ => Ok(None),
    }
}

/// Returns the entries of [`Column::Meta`] that belong to the data rather than to one database.
fn meta_entries(store: &Store) -> Result<Vec<KeyValuePair>> {
    let mut entries = Vec::new();
    for entry in store.kv.read_all(Column::Meta) {
        let (key, value) = entry?;
        if !is_left_out(Column::Meta, &key) {
            entries.push((key, value));
        }
    }
    Ok(entries)
}

/// Returns one entry for each meter of each account. In a shared database, a meter also has a part for each process.
fn summed_usage(store: &Store) -> Result<Vec<KeyValuePair>> {
    let mut meters: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    for entry in store.kv.read_all(Column::Usage) {
        let (key, value) = entry?;
        if is_left_out(Column::Usage, &key) {
            continue;
        }
        let meter_key = match split_part_key(&key) {
            Some((meter_key, _)) => meter_key,
            None => key,
        };
        meters.entry(meter_key).or_default().push(value);
    }
    let mut entries = Vec::new();
    for (key, parts) in meters {
        entries.push((key, sum_of(&parts)?));
    }
    Ok(entries)
}

/// Adds up the parts of a meter. A single part keeps its bytes.
fn sum_of(parts: &[Vec<u8>]) -> Result<Vec<u8>> {
    if let [only] = parts {
        return Ok(only.clone());
    }
    let mut sum: Option<UsageRecord> = None;
    for part in parts {
        let part: UsageRecord = decode(Column::Usage, part)?;
        match &mut sum {
            Some(sum) => sum.add(&part),
            None => sum = Some(part),
        }
    }
    match sum {
        Some(sum) => encode(&sum),
        None => Err(Error::corrupt("usage", "a meter without a record")),
    }
}
