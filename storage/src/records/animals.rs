//! The animals of the template API.

use serde::{Deserialize, Serialize};

use super::{Store, decode, encode};
use crate::error::Result;
use crate::key_value::columns::{below, prefix};
use crate::key_value::{Batch, Column, Durability};

/// An animal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnimalRecord {
    /// Its number, from 1, within its account and environment.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its category's number.
    pub category_id: i64,
    /// `available`, `pending` or `sold`.
    pub status: Option<String>,
}

impl Store {
    /// An animal by its number.
    pub fn animal(&self, account: &str, environment: &str, id: u64) -> Result<Option<AnimalRecord>> {
        let found = self.kv.get(Column::Animals, &below(&[account, environment], &id.to_be_bytes()))?;
        found.map(|bytes| decode(Column::Animals, &bytes)).transpose()
    }

    /// Up to `limit` animals, by number, all of them or those of one status.
    pub fn animals(
        &self,
        account: &str,
        environment: &str,
        status: Option<&str>,
        limit: usize,
    ) -> Result<Vec<AnimalRecord>> {
        let scan = if status.is_some() { usize::MAX } else { limit };
        let entries = self.kv.scan(Column::Animals, &prefix(&[account, environment]), None, scan)?;
        let animals = entries.iter().map(|(_, value)| decode::<AnimalRecord>(Column::Animals, value));
        let wanted = animals.filter(|animal| {
            animal.as_ref().map_or(true, |animal| status.is_none() || animal.status.as_deref() == status)
        });
        wanted.take(limit).collect()
    }

    /// Adds an animal under the next number, which is returned. Callers serialise calls.
    pub fn add_animal(&self, account: &str, environment: &str, animal: AnimalRecord) -> Result<AnimalRecord> {
        let newest = self.kv.scan_back(Column::Animals, &prefix(&[account, environment]), None, 1)?;
        let newest = newest.first().map(|(_, value)| decode::<AnimalRecord>(Column::Animals, value)).transpose()?;
        let animal = AnimalRecord { id: newest.map_or(1, |newest| newest.id + 1), ..animal };
        let mut batch = Batch::new();
        batch.put(Column::Animals, below(&[account, environment], &animal.id.to_be_bytes()), encode(&animal)?);
        self.kv.write(&batch, Durability::Synced)?;
        Ok(animal)
    }
}
