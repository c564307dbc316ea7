//! Changes that an engine applies atomically, under conditions.

use super::columns::Column;

/// Changes that are applied atomically, if the batch's conditions hold.
#[derive(Clone, Default)]
pub struct Batch {
    /// What must be true before the batch is applied.
    pub(super) conditions: Vec<Condition>,
    /// Prefixes whose keys are deleted before `changes` are applied.
    pub(super) deleted_prefixes: Vec<(Column, Vec<u8>)>,
    /// Changes in the order in which they are applied.
    pub(super) changes: Vec<KeyChange>,
}

/// The value that a key must have.
#[derive(Clone)]
pub(super) struct Condition {
    pub(super) column: Column,
    pub(super) key: Vec<u8>,
    /// The expected value; `None` expects the key to be absent.
    pub(super) value: Option<Vec<u8>>,
}

/// A change of one key.
#[derive(Clone)]
pub(super) struct KeyChange {
    pub(super) column: Column,
    pub(super) key: Vec<u8>,
    /// The new value; `None` deletes the key.
    pub(super) value: Option<Vec<u8>>,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key.
    pub fn put(&mut self, column: Column, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> &mut Self {
        self.changes.push(KeyChange { column, key: key.into(), value: Some(value.into()) });
        self
    }

    /// Deletes every key with a prefix, before the batch's other changes are applied. An empty prefix, or one of 0xff
    /// bytes only, deletes nothing.
    pub(crate) fn delete_prefix(&mut self, column: Column, prefix: Vec<u8>) -> &mut Self {
        self.deleted_prefixes.push((column, prefix));
        self
    }

    /// Deletes a key. Deleting a missing key succeeds.
    pub fn delete(&mut self, column: Column, key: impl Into<Vec<u8>>) -> &mut Self {
        self.changes.push(KeyChange { column, key: key.into(), value: None });
        self
    }

    /// Expects a key to have exactly this value, or to be absent if the value is `None`, before the batch is applied.
    /// Otherwise the write fails with [`Error::ConditionFailed`](crate::Error::ConditionFailed) and changes nothing.
    pub fn expect(&mut self, column: Column, key: impl Into<Vec<u8>>, value: Option<Vec<u8>>) -> &mut Self {
        self.conditions.push(Condition { column, key: key.into(), value });
        self
    }

    /// Whether the batch changes a key of a column.
    pub(super) fn changes_column(&self, column: Column) -> bool {
        self.changes.iter().any(|change| change.column == column)
    }

    /// Sets a key that is expected to be absent.
    pub fn put_if_absent(&mut self, column: Column, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> &mut Self {
        let key = key.into();
        self.expect(column, key.clone(), None).put(column, key, value)
    }
}
