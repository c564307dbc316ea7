//! The animals of the template API.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::api_keys::Environment;
use super::batch::RecordBatch;
use super::store::{Store, decode};
use crate::error::Result;
use crate::identity::AccountId;
use crate::key_value::Column;
use crate::key_value::columns::{prefix, prefixed_key};

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
        self.get_record(Column::Animals, &animal_key(account, environment, id))
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

    /// Returns the number after the greatest one. Of two creations with the same number the second one fails, and its
    /// caller asks for the next number again.
    pub fn next_animal_id(&self, account: &AccountId, environment: Environment) -> Result<u64> {
        let newest = self.kv.scan_back(Column::Animals, &prefix(&[account.as_str(), environment.name()]), None, 1)?;
        match newest.first() {
            Some((_, value)) => Ok(decode::<AnimalRecord>(Column::Animals, value)?.id + 1),
            None => Ok(1),
        }
    }
}

impl RecordBatch<'_> {
    /// Creates an animal. The commit fails if its number is taken.
    pub fn create_animal(
        &mut self,
        account: &AccountId,
        environment: Environment,
        record: &AnimalRecord,
    ) -> Result<()> {
        self.create(Column::Animals, &animal_key(account, environment, record.id), record)
    }
}

fn animal_key(account: &AccountId, environment: Environment, id: u64) -> Vec<u8> {
    prefixed_key(&[account.as_str(), environment.name()], &id.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn an_animal_gets_a_number_that_no_other_has() {
        let store = Store::in_memory().expect("creates");
        let account = AccountId::default();
        let animal = |id, name: &str| AnimalRecord { id, name: name.into(), category_id: 1, status: None };
        let create = |record: &AnimalRecord| {
            let mut batch = store.batch();
            batch.create_animal(&account, Environment::Live, record).expect("encodes");
            store.commit(batch)
        };
        let number = store.next_animal_id(&account, Environment::Live).expect("reads");
        assert_eq!(number, 1);
        create(&animal(number, "a")).expect("creates");
        let taken = create(&animal(number, "b"));
        assert!(matches!(taken, Err(Error::ConditionFailed { column: Column::Animals, .. })), "{taken:?}");
        let number = store.next_animal_id(&account, Environment::Live).expect("reads");
        create(&animal(number, "b")).expect("creates");
        let animals = store.animals(&account, Environment::Live, None, 9).expect("reads");
        assert_eq!(animals, [animal(1, "a"), animal(2, "b")]);
        assert_eq!(store.next_animal_id(&account, Environment::Test).expect("reads"), 1);
    }
}
