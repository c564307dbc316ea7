//! The doctor's check that the stored records can be read.

use serde::de::IgnoredAny;

use super::billing::TransactionRecord;
use super::conversations::{ConversationRecord, MessageRecord};
use super::ownership::{NodeRecord, OwnerRecord};
use super::store::{RECORD_FORMAT, Store, decode};
use super::vocabulary::TermRecord;
use crate::key_value::Column;

impl Store {
    /// Reads all records. Returns their number and a description of each problem.
    pub fn check(&self) -> (u64, Vec<String>) {
        let mut records = 0;
        let mut problems = Vec::new();
        for &column in Column::ALL {
            let mut unreadable = 0u64;
            for entry in self.kv.read_all(column) {
                let value = match entry {
                    Ok((_, value)) => value,
                    Err(error) => {
                        problems.push(format!("{}: {error}", column.name()));
                        break;
                    }
                };
                records += 1;
                unreadable += u64::from(!is_readable(column, &value));
            }
            if unreadable > 0 {
                problems.push(format!("{}: {unreadable} records cannot be read", column.name()));
            }
        }
        (records, problems)
    }
}

/// Whether a value has the form of the column's values: raw bytes, nothing, or a record. Records that lists leave out
/// and do not set aside are decoded completely.
fn is_readable(column: Column, value: &[u8]) -> bool {
    match column {
        Column::Terms => return decode::<TermRecord>(column, value).is_ok(),
        Column::Conversations => return decode::<ConversationRecord>(column, value).is_ok(),
        Column::Messages => return decode::<MessageRecord>(column, value).is_ok(),
        Column::Transactions => return decode::<TransactionRecord>(column, value).is_ok(),
        Column::Nodes => return decode::<NodeRecord>(column, value).is_ok(),
        Column::Owners => return decode::<OwnerRecord>(column, value).is_ok(),
        _ => {}
    }
    match value.split_first() {
        // Columns of keys without values.
        None => true,
        _ if column.holds_raw_bytes() => true,
        Some((&RECORD_FORMAT, json)) => serde_json::from_slice::<IgnoredAny>(json).is_ok(),
        Some(_) => false,
    }
}
