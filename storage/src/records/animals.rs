//! The animals of the template API.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::api_keys::Environment;
use super::store::{Store, decode, encode};
use crate::error::Result;
use crate::identity::AccountId;
use crate::key_value::columns::{prefix, prefixed_key};
use crate::key_value::{Batch, Column, Durability};

/// The status of an animal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, EnumString, VariantArray)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum AnimalStatus {
    /// For sale.
    Available,
    /// Reserved for a buyer.
    Pending,
    /// Sold.
    Sold,
}

/// An animal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnimalRecord {
    /// Number of the animal, from 1, unique within its account and environment.
    pub id: u64,
    /// Name of the animal.
    pub name: String,
    /// Number of the category.
    pub category_id: i64,
    /// The status, if one was given.
    pub status: Option<AnimalStatus>,
}

impl Store {
    /// Returns the animal with a number.
    pub fn animal(&self, account: &AccountId, environment: Environment, id: u64) -> Result<Option<AnimalRecord>> {
        self.get_record(Column::Animals, &prefixed_key(&[account.as_str(), environment.name()], &id.to_be_bytes()))
    }

    /// Returns up to `limit` animals, ordered by number. With a status, returns only animals of that status.
    pub fn animals(
        &self,
        account: &AccountId,
        environment: Environment,
        status: Option<AnimalStatus>,
        limit: usize,
    ) -> Result<Vec<AnimalRecord>> {
        let scan_limit = if status.is_some() { usize::MAX } else { limit };
        let mut animals = Vec::new();
        for (_, value) in
            self.kv.scan(Column::Animals, &prefix(&[account.as_str(), environment.name()]), None, scan_limit)?
        {
            if animals.len() == limit {
                break;
            }
            let animal: AnimalRecord = decode(Column::Animals, &value)?;
            if status.is_none() || animal.status == status {
                animals.push(animal);
            }
        }
        Ok(animals)
    }

    /// Adds an animal with the next free number and returns it. Calls must not run concurrently.
    pub fn add_animal(
        &self,
        account: &AccountId,
        environment: Environment,
        animal: AnimalRecord,
    ) -> Result<AnimalRecord> {
        let newest = self.kv.scan_back(Column::Animals, &prefix(&[account.as_str(), environment.name()]), None, 1)?;
        let id = match newest.first() {
            Some((_, value)) => decode::<AnimalRecord>(Column::Animals, value)?.id + 1,
            None => 1,
        };
        let animal = AnimalRecord { id, ..animal };
        let mut batch = Batch::new();
        batch.put(
            Column::Animals,
            prefixed_key(&[account.as_str(), environment.name()], &animal.id.to_be_bytes()),
            encode(&animal)?,
        );
        self.kv.write(&batch, Durability::Synced)?;
        Ok(animal)
    }
}
