//! Writes that failed for good: looked at, tried again, forgotten.

use cuebase_storage::records::DeadLetter;
use ulid::Ulid;

use super::{Failure, Outcome, Service};

impl Service {
    /// An account's dead letters, oldest first.
    pub fn dead_letters(&self, account: &str) -> Outcome<Vec<DeadLetter>> {
        let mut letters = self.store.dead_letters()?;
        letters.retain(|letter| letter.entry.account == account);
        Ok(letters)
    }

    /// Puts a dead letter back into the queue; of that account, or of any.
    pub fn retry_dead_letter(&self, account: Option<&str>, id: &str) -> Outcome<()> {
        let entry = self.store.revive(self.dead_letter_id(account, id)?)?.ok_or_else(|| no_letter(id))?;
        self.promises.note(&entry);
        self.queue.add(&entry);
        Ok(())
    }

    /// Forgets a dead letter; of that account, or of any.
    pub fn drop_dead_letter(&self, account: Option<&str>, id: &str) -> Outcome<()> {
        match self.store.drop_dead_letter(self.dead_letter_id(account, id)?)? {
            true => Ok(()),
            false => Err(no_letter(id)),
        }
    }

    fn dead_letter_id(&self, account: Option<&str>, text: &str) -> Outcome<Ulid> {
        let id = text.parse();
        let id = id.map_err(|_| Failure::invalid("invalid_id", format!("{text:?} is no queue message id")))?;
        if let Some(account) = account
            && !self.dead_letters(account)?.iter().any(|letter| letter.entry.id == id)
        {
            return Err(no_letter(text));
        }
        Ok(id)
    }
}

fn no_letter(id: &str) -> Failure {
    Failure::not_found("not_found", format!("there is no dead letter {id}"))
}
