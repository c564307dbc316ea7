//! [`Animals`]: the records of the pets, numbered from 1 per account and environment.

use std::sync::Arc;

use cuebase_storage::records::{AnimalRecord, AnimalStatus, Environment};
use cuebase_storage::{AccountId, Error, Result, Store};

/// The animals of all accounts. Cheap to clone.
#[derive(Clone)]
pub struct Animals {
    store: Arc<Store>,
}

impl Animals {
    /// Returns the animals in a store.
    pub fn new(store: Arc<Store>) -> Self {
        Self { store }
    }

    /// Adds an animal with the next number, whatever number it has. Returns it with its number.
    pub fn add(&self, account: &AccountId, environment: Environment, mut animal: AnimalRecord) -> Result<AnimalRecord> {
        loop {
            animal.id = self.store.next_animal_id(account, environment)?;
            let mut batch = self.store.batch();
            batch.create_animal(account, environment, &animal)?;
            match self.store.commit_synced(batch) {
                Ok(()) => return Ok(animal),
                // Another request took the number.
                Err(Error::ConditionFailed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the animal with a number.
    pub fn get(&self, account: &AccountId, environment: Environment, number: u64) -> Result<Option<AnimalRecord>> {
        self.store.animal(account, environment, number)
    }

    /// Returns up to `limit` animals, by number. With a status, returns only animals of that status.
    pub fn list(
        &self,
        account: &AccountId,
        environment: Environment,
        status: Option<AnimalStatus>,
        limit: usize,
    ) -> Result<Vec<AnimalRecord>> {
        self.store.animals(account, environment, status, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn animals_added_at_the_same_time_get_different_numbers() {
        let animals = Animals::new(Arc::new(Store::in_memory().expect("opens")));
        let account = AccountId::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let animal = AnimalRecord { id: 0, name: "Rex".into(), category_id: 1, status: None };
                        animals.add(&account, Environment::Live, animal).expect("adds");
                    }
                });
            }
        });
        let added = animals.list(&account, Environment::Live, None, usize::MAX).expect("reads");
        let numbers: Vec<u64> = added.iter().map(|animal| animal.id).collect();
        assert_eq!(numbers, Vec::from_iter(1..=40));
    }
}
