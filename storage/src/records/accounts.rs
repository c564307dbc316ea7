//! Accounts, the owners of namespaces and keys.

use serde::{Deserialize, Serialize};

use super::store::{Store, decode, encode};
use crate::error::Result;
use crate::identity::AccountId;
use crate::key_value::{Batch, Column, Durability};

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRecord {
    /// The account's id.
    pub account: AccountId,
    /// Time of first use, milliseconds since the epoch.
    pub created_at_ms: i64,
    /// Whether the account is suspended: its credentials are rejected.
    pub suspended: bool,
}

impl Store {
    /// Returns an account. `None` if it was never used.
    pub fn account(&self, account: &AccountId) -> Result<Option<AccountRecord>> {
        self.get_record(Column::Accounts, account.as_str().as_bytes())
    }

    /// Writes the record of an account.
    pub fn put_account(&self, record: &AccountRecord) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Accounts, record.account.as_str().as_bytes(), encode(record)?);
        self.kv.write(&batch, Durability::Synced)
    }

    /// Returns all accounts, ordered by id. Logs and omits records that cannot be decoded.
    pub fn accounts(&self) -> Result<Vec<AccountRecord>> {
        let mut accounts = Vec::new();
        for (_, value) in self.kv.scan(Column::Accounts, b"", None, usize::MAX)? {
            match decode(Column::Accounts, &value) {
                Ok(account) => accounts.push(account),
                // The other accounts must still be served. Requests of this account fail.
                Err(error) => tracing::error!(%error, "cannot decode the record of an account"),
            }
        }
        Ok(accounts)
    }
}
