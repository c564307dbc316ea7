//! Accounts: who owns namespaces and keys.

use serde::{Deserialize, Serialize};

use super::{Store, decode, encode};
use crate::error::Result;
use crate::key_value::{Batch, Column, Durability};

/// What is known of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRecord {
    /// The account's id.
    pub account: String,
    /// First use, milliseconds since the epoch.
    pub created_at_ms: i64,
    /// A suspended account's credentials are refused.
    pub suspended: bool,
}

impl Store {
    /// The account, if it was ever used.
    pub fn account(&self, account: &str) -> Result<Option<AccountRecord>> {
        let found = self.kv.get(Column::Accounts, account.as_bytes())?;
        found.map(|bytes| decode(Column::Accounts, &bytes)).transpose()
    }

    /// Writes an account's record.
    pub fn put_account(&self, record: &AccountRecord) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Accounts, record.account.as_bytes(), encode(record)?);
        self.kv.write(&batch, Durability::Synced)
    }

    /// Every account, by id.
    pub fn accounts(&self) -> Result<Vec<AccountRecord>> {
        let mut accounts = Vec::new();
        for (_, value) in self.kv.scan(Column::Accounts, b"", None, usize::MAX)? {
            match decode(Column::Accounts, &value) {
                Ok(account) => accounts.push(account),
                // It must not keep the others from being served; a request of its own account fails.
                Err(error) => tracing::error!(%error, "the record of an account cannot be decoded"),
            }
        }
        Ok(accounts)
    }
}
