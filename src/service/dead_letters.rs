//! Writes that failed for good: looked at, tried again, forgotten.

use cuebase_storage::records::DeadLetter;
use ulid::Ulid;

use super::Service;
use crate::error::{Error, Result};

impl Service {
    /// An account's dead letters, oldest first, at most `limit` after a given one.
    pub fn dead_letters(&self, account: &str, after: Option<Ulid>, limit: usize) -> Result<Vec<DeadLetter>> {
        Ok(self.store.dead_letters(account, after, limit)?)
    }

    /// Puts a dead letter back into the queue; of that account, or of any.
    pub fn retry_dead_letter(&self, account: Option<&str>, text: &str) -> Result<()> {
        let id = message_id(text)?;
        if account.is_none() && self.is_unreadable(id)? {
            let message = format!(
                "{text} cannot be decoded, so it cannot be tried again: `cuebase dead-letters drop` forgets it"
            );
            return Err(Error::invalid("invalid_id", message));
        }
        let letter = self.store.dead_letter(account, id)?.ok_or_else(|| no_letter(text))?;
        let entry = self.store.revive(&letter.account, id, self.running_ms())?.ok_or_else(|| no_letter(text))?;
        self.pending.add(&entry);
        self.queue.add(&entry);
        Ok(())
    }

    /// Puts all dead letters back into the queue, the oldest of each account first; of one account and of namespaces of
    /// one name where these are given. Returns how many. Letters of deleted namespaces stay where they are.
    pub fn retry_dead_letters(&self, account: Option<&str>, namespace: Option<&str>) -> Result<usize> {
        let mut selected = Vec::new();
        self.store.for_each_dead_letter(|letter| {
            let is_selected = account.is_none_or(|account| letter.account == account)
                && namespace.is_none_or(|namespace| letter.namespace == namespace);
            if is_selected {
                selected.push((letter.account, letter.id));
            }
        })?;
        let mut retried = 0;
        for (account, id) in selected {
            // None where somebody else retried or dropped it meanwhile.
            if let Some(entry) = self.store.revive(&account, id, self.running_ms())? {
                self.pending.add(&entry);
                self.queue.add(&entry);
                retried += 1;
            }
        }
        Ok(retried)
    }

    /// Forgets a dead letter; of that account, or of any.
    pub fn drop_dead_letter(&self, account: Option<&str>, text: &str) -> Result<()> {
        let id = message_id(text)?;
        let dropped = match self.store.dead_letter(account, id)? {
            Some(letter) => self.store.drop_dead_letter(&letter.account, id)?,
            None if account.is_none() => self.store.drop_unreadable(id)?,
            None => false,
        };
        if dropped { Ok(()) } else { Err(no_letter(text)) }
    }

    fn is_unreadable(&self, id: Ulid) -> Result<bool> {
        Ok(self.store.unreadable()?.iter().any(|record| record.id == Some(id)))
    }
}

/// A queue message id as it is written.
pub fn message_id(text: &str) -> Result<Ulid> {
    text.parse().map_err(|_| Error::invalid("invalid_id", format!("{text:?} is not a queue message id")))
}

fn no_letter(id: &str) -> Error {
    Error::not_found("not_found", format!("there is no dead letter {id}"))
}
