//! Scans of a column family in both directions. Each block that a scan reads is verified with its checksum.

use rocksdb::{ColumnFamily, DB, Direction, IteratorMode};

use super::errors::read_error;
use crate::error::Result;
use crate::key_value::KeyValuePair;
use crate::key_value::key_range::backward_start;
use crate::key_value::page::Page;

/// Fills a page with the entries whose key starts with `prefix` and is greater than `after`, in key order.
pub(super) fn scan_forward(
    db: &DB,
    family: &ColumnFamily,
    prefix: &[u8],
    after: Option<&[u8]>,
    mut page: Page,
) -> Result<Vec<KeyValuePair>> {
    let from = after.unwrap_or(prefix).max(prefix);
    for entry in db.iterator_cf(family, IteratorMode::From(from, Direction::Forward)) {
        let (key, value) = entry.map_err(read_error)?;
        if page.is_full() || !key.starts_with(prefix) {
            break;
        }
        if Some(&*key) > after {
            page.push(key.into_vec(), value.into_vec());
        }
    }
    Ok(page.into_entries())
}

/// Fills a page with the entries whose key starts with `prefix` and is less than `before`, in descending key order.
pub(super) fn scan_backward(
    db: &DB,
    family: &ColumnFamily,
    prefix: &[u8],
    before: Option<&[u8]>,
    mut page: Page,
) -> Result<Vec<KeyValuePair>> {
    let start = backward_start(prefix, before);
    let mode = match &start {
        Some(start) => IteratorMode::From(start, Direction::Reverse),
        None => IteratorMode::End,
    };
    for entry in db.iterator_cf(family, mode) {
        let (key, value) = entry.map_err(read_error)?;
        // The iterator starts at `start` itself, which is excluded.
        if start.as_deref() == Some(&*key) {
            continue;
        }
        if page.is_full() || !key.starts_with(prefix) {
            break;
        }
        page.push(key.into_vec(), value.into_vec());
    }
    Ok(page.into_entries())
}
