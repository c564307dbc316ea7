//! [`Accounts`]: the accounts of a data directory, their API keys and their sessions.
//!
//! A record is changed on the condition that it is still as it was read; otherwise it is read again. So no lock is held
//! over accounts and keys.

use std::sync::Arc;
use std::time::Instant;

use cuebase_storage::records::{AccountRecord, ApiKeyRecord, Environment};
use cuebase_storage::{AccountId, NamespaceName, Store};

use super::cache::PrincipalCache;
use super::credentials::MintedKey;
use super::sessions::{Identity, LocalIssuer};
use crate::clock::Clock;
use crate::error::{Error, Result, was_committed};
use crate::error_codes::ErrorCode;

/// Maximum length of a key's label, in characters.
pub const KEY_NAME_CHARS_MAX: usize = 200;

/// The accounts of a data directory, with their credentials.
pub struct Accounts {
    pub(super) store: Arc<Store>,
    /// Signs and verifies the sessions of this server.
    issuer: LocalIssuer,
    /// Cleared whenever a credential or an account loses its access.
    cache: PrincipalCache,
    /// The time by which sessions and sign-in links expire.
    pub(super) clock: Clock,
}

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

impl Accounts {
    /// Opens the accounts, and the issuer of their sessions.
    pub fn open(store: Arc<Store>, clock: Clock) -> anyhow::Result<Self> {
        let issuer = LocalIssuer::open(&store)?;
        Ok(Self { store, issuer, cache: PrincipalCache::default(), clock })
    }

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
            created_at_ms: self.clock.now_ms(),
            revoked: false,
        };
        let mut batch = self.store.batch();
        batch.create_api_key(&record)?;
        self.store.commit_synced(batch)?;
        Ok((record, minted.full))
    }

    /// Returns the key with an id, of any account.
    pub fn api_key(&self, id: &str) -> Result<Option<ApiKeyRecord>> {
        Ok(self.store.api_key(id)?)
    }

    /// Returns the keys of an account, oldest first.
    pub fn keys(&self, account: &AccountId) -> Result<Vec<ApiKeyRecord>> {
        Ok(self.store.api_keys(account)?)
    }

    /// Revokes a key permanently. Requests with the key are refused from now on.
    pub fn revoke_key(&self, account: &AccountId, id: &str) -> Result<()> {
        loop {
            let stored = self.store.stored_api_key(id)?;
            let mut key = match &stored.record {
                Some(key) if key.account == *account => key.clone(),
                _ => return Err(Error::not_found(ErrorCode::NotFound, "no key has that id")),
            };
            key.revoked = true;
            let mut batch = self.store.batch();
            batch.replace_api_key(&stored, &key)?;
            batch.mark_revocation();
            if was_committed(self.store.commit_synced(batch))? {
                self.cache.clear();
                return Ok(());
            }
        }
    }

    /// Returns the record of an account, and creates it if it is missing.
    pub fn ensure_account(&self, account: &AccountId) -> Result<AccountRecord> {
        loop {
            if let Some(record) = self.store.account(account)? {
                return Ok(record);
            }
            let record =
                AccountRecord { account: account.clone(), created_at_ms: self.clock.now_ms(), suspended: false };
            let mut batch = self.store.batch();
            batch.create_account(&record)?;
            if was_committed(self.store.commit_synced(batch))? {
                return Ok(record);
            }
        }
    }

    /// Returns all accounts, by id.
    pub fn accounts(&self) -> Result<Vec<AccountRecord>> {
        Ok(self.store.accounts()?)
    }

    /// Suspends an account or ends its suspension. Credentials of a suspended account are rejected from now on.
    pub fn suspend(&self, account: &AccountId, suspended: bool) -> Result<AccountRecord> {
        loop {
            let stored = self.store.stored_account(account)?;
            let mut record = match &stored.record {
                Some(record) => record.clone(),
                None => {
                    return Err(Error::not_found(ErrorCode::NotFound, format!("no account has the id {account:?}")));
                }
            };
            record.suspended = suspended;
            let mut batch = self.store.batch();
            batch.replace_account(&stored, &record)?;
            batch.mark_revocation();
            if was_committed(self.store.commit_synced(batch))? {
                self.cache.clear();
                return Ok(record);
            }
        }
    }

    /// Creates a session of an account, and the account if it is missing. Returns the token.
    pub fn create_session(&self, account: &AccountId) -> Result<String> {
        self.ensure_account(account)?;
        self.issuer.mint(account, self.clock.now()).map_err(Error::internal)
    }

    /// Returns the identity of a session that this server signed. `None` if the token is not valid or expired.
    pub fn verify_session(&self, token: &str) -> Option<Identity> {
        self.issuer.verify(token, self.clock.now())
    }

    /// Forgets authorized principals if another node has revoked a credential or suspended an account since the last
    /// call. Once it was called, principals are cached only while it is called again within
    /// [`CHECK_TIME`](super::cache::CHECK_TIME).
    ///
    /// # Errors
    ///
    /// The records cannot be read.
    pub fn follow_revocations(&self) -> Result<()> {
        let began = Instant::now();
        self.cache.observe_others(self.store.revocation_mark()?, began);
        Ok(())
    }

    /// Returns the cache of authorized principals.
    pub fn cache(&self) -> &PrincipalCache {
        &self.cache
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::new(id).expect("is valid")
    }

    fn open(clock: &Clock) -> Accounts {
        let store = Arc::new(Store::in_memory().expect("opens"));
        Accounts::open(store, clock.clone()).expect("opens")
    }

    #[test]
    fn a_session_expires_after_12_hours() {
        let clock = Clock::manual("2026-03-01T08:00:00Z".parse().expect("a time"));
        let accounts = open(&clock);
        let token = accounts.create_session(&account("acme")).expect("a session");
        assert_eq!(accounts.accounts().expect("reads").len(), 1, "the account is created");
        clock.advance(SignedDuration::from_hours(12));
        let identity = accounts.verify_session(&token).expect("valid for 12 hours");
        assert_eq!(identity.account, account("acme"));
        // Clocks may differ by a minute.
        clock.advance(SignedDuration::from_secs(61));
        assert_eq!(accounts.verify_session(&token), None);
    }

    #[test]
    fn an_account_that_is_used_by_many_at_once_is_created_once() {
        let clock = Clock::manual("2026-03-01T08:00:00Z".parse().expect("a time"));
        let accounts = open(&clock);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    clock.advance(SignedDuration::from_secs(1));
                    let record = accounts.ensure_account(&account("acme")).expect("an account");
                    assert_eq!(accounts.accounts().expect("reads"), [record]);
                });
            }
        });
    }

    #[test]
    fn a_suspension_and_other_changes_at_once_are_all_kept() {
        let accounts = open(&Clock::system());
        accounts.ensure_account(&account("acme")).expect("an account");
        let wanted = NewKey { name: "ci".into(), ..NewKey::default() };
        let (key, _) = accounts.create_key(&account("acme"), wanted).expect("a key");
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| accounts.suspend(&account("acme"), true).expect("suspends"));
                scope.spawn(|| accounts.revoke_key(&account("acme"), &key.id).expect("revokes"));
            }
        });
        assert!(accounts.ensure_account(&account("acme")).expect("an account").suspended);
        assert!(accounts.api_key(&key.id).expect("reads").expect("a key").revoked);
        let unknown = accounts.revoke_key(&account("other"), &key.id);
        assert!(matches!(unknown, Err(Error::NotFound { .. })), "{unknown:?}");
    }
}
