//! API keys. Only a hash of the secret is ever stored.

use serde::{Deserialize, Serialize};

use super::{Store, decode, encode};
use crate::error::Result;
use crate::key_value::columns::joined;
use crate::key_value::{Batch, Column, Durability};

/// What is kept of an API key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKeyRecord {
    /// 16 hex characters.
    pub id: String,
    /// The owning account.
    pub account: String,
    /// `live` or `test`.
    pub env: String,
    /// The label given at creation.
    pub name: String,
    /// The one namespace that the key reaches; none for an account-wide key.
    pub namespace: Option<String>,
    /// SHA-256 of the secret, hex.
    pub secret_sha256: String,
    /// Milliseconds since the epoch.
    pub created_at_ms: i64,
    /// Once revoked, for good.
    pub revoked: bool,
}

impl Store {
    /// The key with that id.
    pub fn api_key(&self, id: &str) -> Result<Option<ApiKeyRecord>> {
        let found = self.kv.get(Column::Keys, id.as_bytes())?;
        found.map(|bytes| decode(Column::Keys, &bytes)).transpose()
    }

    /// Writes a key's record and its place in the account's list.
    pub fn put_api_key(&self, record: &ApiKeyRecord) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Keys, record.id.as_bytes(), encode(record)?);
        batch.put(Column::KeysByAccount, joined(&record.account, &record.id), "");
        self.kv.write(&batch, Durability::Synced)
    }

    /// An account's keys, oldest first.
    pub fn api_keys(&self, account: &str) -> Result<Vec<ApiKeyRecord>> {
        let prefix = joined(account, "");
        let mut keys = Vec::new();
        for (key, _) in self.kv.scan(Column::KeysByAccount, &prefix, None, usize::MAX)? {
            if let Some(value) = self.kv.get(Column::Keys, &key[prefix.len()..])? {
                keys.push(decode::<ApiKeyRecord>(Column::Keys, &value)?);
            }
        }
        keys.sort_by(|a, b| (a.created_at_ms, &a.id).cmp(&(b.created_at_ms, &b.id)));
        Ok(keys)
    }
}
