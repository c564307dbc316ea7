//! Accounts and their API keys.

use cuebase_storage::records::{AccountRecord, ApiKeyRecord};
use jiff::Timestamp;

use super::Service;
use crate::accounts::check_account;
use crate::accounts::credentials::{Environment, MintedKey};
use crate::error::{Error, Result};
use crate::namespace::names::check_name;

/// Longest label of a key, in characters.
const KEY_NAME_CHARS_MAX: usize = 200;

/// What is asked of a new key.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct NewKey {
    /// The label.
    pub name: String,
    /// `live` or `test`.
    pub env: Environment,
    /// The namespace that it is confined to.
    pub namespace: Option<String>,
}

impl Service {
    /// Makes a key. The full key is in the answer and nowhere else.
    pub fn create_key(&self, account: &str, wanted: NewKey) -> Result<(ApiKeyRecord, String)> {
        check_account(account)?;
        if let Some(namespace) = &wanted.namespace {
            check_name(namespace)?;
        }
        if wanted.name.chars().count() > KEY_NAME_CHARS_MAX {
            return Err(Error::invalid("invalid_body", format!("name is longer than {KEY_NAME_CHARS_MAX} characters")));
        }
        self.ensure_account(account)?;
        let minted = MintedKey::new(wanted.env).map_err(Error::internal)?;
        let record = ApiKeyRecord {
            id: minted.id,
            account: account.to_owned(),
            env: wanted.env.name().to_owned(),
            name: wanted.name,
            namespace: wanted.namespace,
            secret_sha256: minted.secret_sha256,
            created_at_ms: Timestamp::now().as_millisecond(),
            revoked: false,
        };
        self.store.put_api_key(&record)?;
        Ok((record, minted.full))
    }

    /// An account's keys, oldest first.
    pub fn keys(&self, account: &str) -> Result<Vec<ApiKeyRecord>> {
        Ok(self.store.api_keys(account)?)
    }

    /// Revokes a key for good.
    pub fn revoke_key(&self, account: &str, id: &str) -> Result<()> {
        let found = self.store.api_key(id)?.filter(|key| key.account == account);
        let Some(mut key) = found else {
            return Err(Error::not_found("not_found", "there is no key with that id"));
        };
        key.revoked = true;
        Ok(self.store.put_api_key(&key)?)
    }

    /// Makes the account's record when it is first seen.
    pub fn ensure_account(&self, account: &str) -> Result<AccountRecord> {
        if let Some(record) = self.store.account(account)? {
            return Ok(record);
        }
        let created_at_ms = Timestamp::now().as_millisecond();
        let record = AccountRecord { account: account.to_owned(), created_at_ms, suspended: false };
        self.store.put_account(&record)?;
        Ok(record)
    }

    /// Every account, by id.
    pub fn accounts(&self) -> Result<Vec<AccountRecord>> {
        Ok(self.store.accounts()?)
    }

    /// Refuses, or accepts again, an account's credentials.
    pub fn suspend(&self, account: &str, suspended: bool) -> Result<AccountRecord> {
        let found = self.store.account(account)?;
        let mut record =
            found.ok_or_else(|| Error::not_found("not_found", format!("there is no account {account:?}")))?;
        record.suspended = suspended;
        self.store.put_account(&record)?;
        Ok(record)
    }
}
