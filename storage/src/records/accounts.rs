//! Accounts, the owners of namespaces and keys.

use serde::{Deserialize, Serialize};

use super::batch::RecordBatch;
use super::store::{Store, decode};
use super::stored::Stored;
use crate::error::Result;
use crate::identity::AccountId;
use crate::key_value::Column;

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

    /// Returns an account, to replace its record.
    pub fn stored_account(&self, account: &AccountId) -> Result<Stored<AccountRecord>> {
        self.get_stored(Column::Accounts, account.as_str().as_bytes())
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

impl RecordBatch<'_> {
    /// Creates an account. The commit fails if it exists.
    pub fn create_account(&mut self, record: &AccountRecord) -> Result<()> {
        self.create(Column::Accounts, record.account.as_str().as_bytes(), record)
    }

    /// Replaces the record of an account. The commit fails if it changed since it was read.
    pub fn replace_account(&mut self, stored: &Stored<AccountRecord>, record: &AccountRecord) -> Result<()> {
        self.replace(Column::Accounts, record.account.as_str().as_bytes(), stored, record)
    }
}
