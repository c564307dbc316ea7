//! Folding: the parts of processes that ended become part of the record of their meter.
//!
//! First the record of the id is marked as ended, after which no batch can write a part under it. Then each meter gets
//! the sum of its record and the ended parts, in one batch that expects them as they were read. Last, the record of the
//! id is deleted. A fold that was interrupted is completed by the next one.

use std::collections::BTreeSet;

use super::ownership::NodeId;
use super::store::{Store, decode, encode};
use super::usage_keys::{ID_PREFIX, id_of_key, split_part_key};
use super::usage_record::UsageRecord;
use crate::error::Result;
use crate::key_value::{Batch, Column, Durability, KeyValuePair};

/// Maximum number of meters that are folded in one batch.
const METERS_MAX: usize = 100;
/// The record of an id under which nothing is written any more. The record of any other id is empty.
const ENDED: &str = "ended";

/// The ended parts of a meter.
struct Fold {
    /// The key of the meter's record.
    key: Vec<u8>,
    /// The meter's record as it was read. `None` if it is absent.
    stored: Option<Vec<u8>>,
    parts: Vec<KeyValuePair>,
}

impl Store {
    /// Adds the parts of processes whose node has no session to the records of their meters. No sum changes. Returns
    /// the number of parts. Does nothing in a store of one process. To be called regularly, on one node.
    ///
    /// Reads all meters if there is an ended process, and otherwise only the ids of processes and nodes.
    ///
    /// # Errors
    /// [`Error::ConditionFailed`](crate::Error::ConditionFailed) if another node folds at the same time. The next call
    /// continues.
    pub fn fold_usage(&self) -> Result<usize> {
        if !self.shares_usage() {
            return Ok(0);
        }
        // Read before the sessions: the session of a node begins in the same batch as its id.
        let ids = self.kv.scan(Column::Usage, ID_PREFIX, None, usize::MAX)?;
        let live = self.nodes_with_session()?;
        let state = encode(&ENDED)?;
        let mut ended = BTreeSet::new();
        let mut removal = Batch::new();
        for (key, stored) in ids {
            let Some(id) = id_of_key(&key) else { continue };
            if live.contains(&id) {
                continue;
            }
            if stored != state {
                self.end_id(&key, stored, &state)?;
            }
            ended.insert(id);
            removal.expect(Column::Usage, key.clone(), Some(state.clone()));
            removal.delete(Column::Usage, key);
        }
        if ended.is_empty() {
            return Ok(0);
        }
        let folded = self.fold_parts(&ended)?;
        self.kv.write(&removal, Durability::Synced)?;
        Ok(folded)
    }

    fn nodes_with_session(&self) -> Result<BTreeSet<NodeId>> {
        let mut nodes = BTreeSet::new();
        for (key, _) in self.kv.scan(Column::Nodes, b"", None, usize::MAX)? {
            nodes.extend(NodeId::of_key(&key));
        }
        Ok(nodes)
    }

    /// Marks an id as ended. Batches that write a part under it have either committed before, or fail.
    fn end_id(&self, key: &[u8], stored: Vec<u8>, state: &[u8]) -> Result<()> {
        let mut batch = Batch::new();
        batch.expect(Column::Usage, key, Some(stored));
        batch.put(Column::Usage, key, state);
        self.kv.write(&batch, Durability::Synced)
    }

    /// Folds the parts under ended ids. Returns their number.
    fn fold_parts(&self, ended: &BTreeSet<NodeId>) -> Result<usize> {
        let mut folded = 0;
        let mut folds: Vec<Fold> = Vec::new();
        // The key of a meter precedes the keys of its parts.
        let mut meter: KeyValuePair = (Vec::new(), Vec::new());
        for entry in self.kv.read_all(Column::Usage) {
            let (key, value) = entry?;
            let Some((meter_key, id)) = split_part_key(&key) else {
                meter = (key, value);
                continue;
            };
            if !ended.contains(&id) {
                continue;
            }
            if folds.last().is_none_or(|fold| fold.key != meter_key) {
                if folds.len() == METERS_MAX {
                    self.write_folds(&folds)?;
                    folds.clear();
                }
                let stored = if meter.0 == meter_key { Some(meter.1.clone()) } else { None };
                folds.push(Fold { key: meter_key, stored, parts: Vec::new() });
            }
            if let Some(fold) = folds.last_mut() {
                fold.parts.push((key, value));
                folded += 1;
            }
        }
        self.write_folds(&folds)?;
        Ok(folded)
    }

    fn write_folds(&self, folds: &[Fold]) -> Result<()> {
        let mut batch = Batch::new();
        for fold in folds {
            fold.add_to(&mut batch)?;
        }
        // Durable with the removal of the ids.
        self.kv.write(&batch, Durability::Buffered)
    }
}

impl Fold {
    /// Adds the sum of the parts to a batch, and their deletion.
    fn add_to(&self, batch: &mut Batch) -> Result<()> {
        let mut sum: Option<UsageRecord> = match &self.stored {
            Some(stored) => Some(decode(Column::Usage, stored)?),
            None => None,
        };
        for (key, value) in &self.parts {
            let part: UsageRecord = decode(Column::Usage, value)?;
            match &mut sum {
                Some(sum) => sum.add(&part),
                None => sum = Some(part),
            }
            batch.expect(Column::Usage, key.as_slice(), Some(value.clone()));
            batch.delete(Column::Usage, key.as_slice());
        }
        if let Some(sum) = sum {
            batch.expect(Column::Usage, self.key.as_slice(), self.stored.clone());
            batch.put(Column::Usage, self.key.as_slice(), encode(&sum)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
