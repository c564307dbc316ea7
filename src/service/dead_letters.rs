//! Dead letters: writes that failed permanently. They are listed, retried and dropped.

use cuebase_storage::records::{DeadLetter, QueueEntry};
use cuebase_storage::{AccountId, MessageId, NamespaceName};

use super::intake::Intake;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

impl Intake {
    /// Returns up to `limit` dead letters of an account, oldest first. `after` continues a listing.
    pub fn dead_letters(&self, account: &AccountId, after: Option<MessageId>, limit: usize) -> Result<Vec<DeadLetter>> {
        Ok(self.store.dead_letters(account, after, limit)?)
    }

    /// Puts a dead letter of an account, or of any account, back into the queue.
    pub fn retry_dead_letter(&self, account: Option<&AccountId>, text: &str) -> Result<()> {
        let id = message_id(text)?;
        if account.is_none() && self.is_unreadable(id)? {
            let message =
                format!("{text} cannot be decoded, so it cannot be retried: `cuebase dead-letters drop` deletes it");
            return Err(Error::invalid(ErrorCode::InvalidId, message));
        }
        let Some(letter) = self.store.dead_letter(account, id)? else { return Err(no_letter(text)) };
        let Some(entry) = self.store.revive(&letter.account, id, self.running.now_ms())? else {
            return Err(no_letter(text));
        };
        self.add_revived(&entry);
        Ok(())
    }

    /// Puts all dead letters back into the queue, the oldest of each account first. `account` and `namespace` restrict
    /// them to one account and to namespaces of one name. Returns how many. Letters of deleted namespaces stay.
    pub fn retry_dead_letters(&self, account: Option<&AccountId>, namespace: Option<&NamespaceName>) -> Result<usize> {
        let mut selected = Vec::new();
        self.store.for_each_dead_letter(|letter| {
            let is_other_account = matches!(account, Some(account) if letter.account != *account);
            let is_other_namespace = matches!(namespace, Some(namespace) if letter.namespace != *namespace);
            if !is_other_account && !is_other_namespace {
                selected.push((letter.account, letter.id));
            }
        })?;
        let mut retried = 0;
        for (account, id) in selected {
            // `None` if another call retried or dropped the letter in the meantime.
            if let Some(entry) = self.store.revive(&account, id, self.running.now_ms())? {
                self.add_revived(&entry);
                retried += 1;
            }
        }
        Ok(retried)
    }

    /// Adds a dead letter that is in the records as a queued entry again to the queue in memory. The worker that gave
    /// the write up records the letter shortly before it removes the message from that queue.
    fn add_revived(&self, entry: &QueueEntry) {
        self.queue.wait_for_worker(entry.namespace_id, entry.id);
        self.add_to_queue(entry);
    }

    /// Deletes a dead letter of an account, or of any account.
    pub fn drop_dead_letter(&self, account: Option<&AccountId>, text: &str) -> Result<()> {
        let id = message_id(text)?;
        let dropped = match self.store.dead_letter(account, id)? {
            Some(letter) => self.store.drop_dead_letter(&letter.account, id)?,
            None if account.is_none() => self.store.drop_unreadable(id)?,
            None => false,
        };
        if dropped { Ok(()) } else { Err(no_letter(text)) }
    }

    fn is_unreadable(&self, id: MessageId) -> Result<bool> {
        Ok(self.store.unreadable()?.iter().any(|record| record.id == Some(id)))
    }
}

/// Parses the id of a queued write.
pub fn message_id(text: &str) -> Result<MessageId> {
    text.parse().map_err(|_| Error::invalid(ErrorCode::InvalidId, format!("{text:?} is not a queue message id")))
}

fn no_letter(id: &str) -> Error {
    Error::not_found(ErrorCode::NotFound, format!("no dead letter has the id {id}"))
}
