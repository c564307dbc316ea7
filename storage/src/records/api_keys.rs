//! API keys. Only a hash of each secret is stored.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use super::batch::RecordBatch;
use super::store::{Store, decode};
use super::stored::Stored;
use crate::error::Result;
use crate::identity::{AccountId, NamespaceName};
use crate::key_value::Column;
use crate::key_value::columns::joined;

/// The environment of a key, in its prefix and in `whoami`. Both environments see the same data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Environment {
    /// For production.
    #[default]
    Live,
    /// For tests.
    Test,
}

impl Environment {
    /// Returns `live` or `test`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// An API key, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKeyRecord {
    /// Id, 16 hex characters.
    pub id: String,
    /// The owning account.
    pub account: AccountId,
    /// The environment that the key is for.
    pub env: Environment,
    /// The label given at creation.
    pub name: String,
    /// The namespace that the key is limited to. `None` for an account-wide key.
    pub namespace: Option<NamespaceName>,
    /// SHA-256 of the secret, hex.
    pub secret_sha256: String,
    /// Creation time, milliseconds since the epoch.
    pub created_at_ms: i64,
    /// Whether the key is revoked. A revoked key stays revoked.
    pub revoked: bool,
}

impl Store {
    /// Returns the key with an id.
    pub fn api_key(&self, id: &str) -> Result<Option<ApiKeyRecord>> {
        self.get_record(Column::Keys, id.as_bytes())
    }

    /// Returns the key with an id, to replace its record.
    pub fn stored_api_key(&self, id: &str) -> Result<Stored<ApiKeyRecord>> {
        self.get_stored(Column::Keys, id.as_bytes())
    }

    /// Returns the keys of an account, oldest first. Logs and omits records that cannot be decoded: requests with these
    /// keys fail.
    pub fn api_keys(&self, account: &AccountId) -> Result<Vec<ApiKeyRecord>> {
        let prefix = joined(account, "");
        let mut keys = Vec::new();
        for (key, _) in self.kv.scan(Column::KeysByAccount, &prefix, None, usize::MAX)? {
            if let Some(value) = self.kv.get(Column::Keys, &key[prefix.len()..])? {
                match decode::<ApiKeyRecord>(Column::Keys, &value) {
                    Ok(record) => keys.push(record),
                    Err(error) => tracing::error!(%error, "cannot decode the record of an API key"),
                }
            }
        }
        keys.sort_by(|a, b| (a.created_at_ms, &a.id).cmp(&(b.created_at_ms, &b.id)));
        Ok(keys)
    }
}

impl RecordBatch<'_> {
    /// Creates a key and lists it under its account. The commit fails if a key has that id.
    pub fn create_api_key(&mut self, record: &ApiKeyRecord) -> Result<()> {
        self.create(Column::Keys, record.id.as_bytes(), record)?;
        self.changes.put(Column::KeysByAccount, joined(&record.account, &record.id), "");
        Ok(())
    }

    /// Replaces the record of a key. The commit fails if it changed since it was read.
    pub fn replace_api_key(&mut self, stored: &Stored<ApiKeyRecord>, record: &ApiKeyRecord) -> Result<()> {
        self.replace(Column::Keys, record.id.as_bytes(), stored, record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_value::{Batch, Durability};

    #[test]
    fn a_key_that_cannot_be_decoded_does_not_hide_others() {
        let store = Store::in_memory().expect("creates");
        let account = AccountId::default();
        let key = ApiKeyRecord {
            id: "a".into(),
            account: account.clone(),
            env: Environment::Live,
            name: String::new(),
            namespace: None,
            secret_sha256: String::new(),
            created_at_ms: 0,
            revoked: false,
        };
        let mut batch = store.batch();
        batch.create_api_key(&key).expect("encodes");
        batch.create_api_key(&ApiKeyRecord { id: "b".into(), ..key.clone() }).expect("encodes");
        store.commit(batch).expect("writes");
        let mut damage = Batch::new();
        damage.put(Column::Keys, "b", b"garbage".to_vec());
        store.kv.write(&damage, Durability::Buffered).expect("writes");
        assert_eq!(store.api_keys(&account).expect("reads"), [key]);
    }
}
