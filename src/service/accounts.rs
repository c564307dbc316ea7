//! Accounts and their API keys.

use cuebase_storage::records::{AccountRecord, ApiKeyRecord, Environment};
use cuebase_storage::{AccountId, NamespaceName};
use jiff::Timestamp;

use super::Service;
use crate::accounts::credentials::MintedKey;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

/// Maximum length of a key's label, in characters.
const KEY_NAME_CHARS_MAX: usize = 200;

/// The properties of a new API key.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct NewKey {
    /// Label of the key.
    pub name: String,
    /// `live` or `test`.
    pub env: Environment,
    /// The only namespace that the key can access; `None` for all.
    pub namespace: Option<NamespaceName>,
}

impl Service {
    /// Creates a key. Returns its record and the full key, which is not stored.
    pub fn create_key(&self, account: &AccountId, new_key: NewKey) -> Result<(ApiKeyRecord, String)> {
        if new_key.name.chars().count() > KEY_NAME_CHARS_MAX {
            return Err(Error::invalid(
                ErrorCode::InvalidBody,
                format!("name is longer than {KEY_NAME_CHARS_MAX} characters"),
            ));
        }
        self.ensure_account(account)?;
        let minted = MintedKey::new(new_key.env).map_err(Error::internal)?;
        let record = ApiKeyRecord {
            id: minted.id,
            account: account.clone(),
            env: new_key.env,
            name: new_key.name,
            namespace: new_key.namespace,
            secret_sha256: minted.secret_sha256,
            created_at_ms: Timestamp::now().as_millisecond(),
            revoked: false,
        };
        self.store.put_api_key(&record)?;
        Ok((record, minted.full))
    }

    /// Returns the keys of an account, oldest first.
    pub fn keys(&self, account: &AccountId) -> Result<Vec<ApiKeyRecord>> {
        Ok(self.store.api_keys(account)?)
    }

    /// Revokes a key permanently.
    pub fn revoke_key(&self, account: &AccountId, id: &str) -> Result<()> {
        let Some(mut key) = self.store.api_key(id)?.filter(|key| key.account == *account) else {
            return Err(Error::not_found(ErrorCode::NotFound, "no key has that id"));
        };
        key.revoked = true;
        Ok(self.store.put_api_key(&key)?)
    }

    /// Returns the record of an account, and creates it if it is missing.
    pub fn ensure_account(&self, account: &AccountId) -> Result<AccountRecord> {
        if let Some(record) = self.store.account(account)? {
            return Ok(record);
        }
        let created_at_ms = Timestamp::now().as_millisecond();
        let record = AccountRecord { account: account.clone(), created_at_ms, suspended: false };
        self.store.put_account(&record)?;
        Ok(record)
    }

    /// Returns all accounts, by id.
    pub fn accounts(&self) -> Result<Vec<AccountRecord>> {
        Ok(self.store.accounts()?)
    }

    /// Suspends an account or ends its suspension. Credentials of a suspended account are rejected.
    pub fn suspend(&self, account: &AccountId, suspended: bool) -> Result<AccountRecord> {
        let Some(mut record) = self.store.account(account)? else {
            return Err(Error::not_found(ErrorCode::NotFound, format!("no account has the id {account:?}")));
        };
        record.suspended = suspended;
        self.store.put_account(&record)?;
        Ok(record)
    }
}
