//! Authentication and rate limits, before any handler runs.
//!
//! [`Gateway`] resolves a credential to a [`Principal`], which [`Accounts`] caches for up to 30 seconds. [`Accounts`] also
//! has the API keys and the dashboard sessions of the local issuer, [`external`] checks sessions of an external issuer.
//! Refusals have a separate response body that does not reveal their reason. The log has it, with the id of the key.

pub mod external;

use std::sync::Arc;
use std::time::Instant;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

use self::external::ExternalIssuer;
use crate::accounts::Accounts;
use crate::accounts::cache::CacheKey;
use crate::accounts::credentials::KeyText;
use crate::accounts::sessions::Identity;
use crate::billing::rate_limit::RateLimit;
use crate::cluster::Ownership;
use crate::config::IdentitySettings;
use crate::config::settings::RateLimitSettings;
use crate::error::Error;

pub use crate::accounts::principal::{Credential, Principal};

/// A longer credential is refused without a lookup.
const CREDENTIAL_BYTES_MAX: usize = 8 << 10;

/// Why the gateway refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The credential is missing: 401.
    Missing,
    /// The credential is not valid: 403.
    Refused,
    /// The records of the credential cannot be read at the moment: 503.
    Unavailable,
}

/// Why a credential is refused, for the log. The response does not reveal it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum RefusalReason {
    #[error("several authorization headers")]
    SeveralHeaders,
    #[error("the credential is longer than 8 KiB")]
    TooLong,
    #[error("the authorization header is not ASCII")]
    NotText,
    #[error("the authorization header is not a bearer token")]
    OtherScheme,
    #[error("the credential is neither an API key nor a valid session")]
    InvalidSession,
    #[error("the key does not exist")]
    UnknownKey,
    #[error("the secret of the key is wrong")]
    WrongSecret,
    #[error("the key is revoked")]
    RevokedKey,
    #[error("the environment in the key is not that of the key")]
    OtherEnvironment,
    #[error("the account is suspended")]
    SuspendedAccount,
    #[error("the records could not be read")]
    UnreadableRecords,
    #[error("the records cannot be read at the moment")]
    UnreachableRecords,
}

impl RefusalReason {
    /// Returns the refusal that the response shows.
    fn refusal(self) -> Refusal {
        match self {
            Self::UnreachableRecords => Refusal::Unavailable,
            _ => Refusal::Refused,
        }
    }
}

/// Why a request has no credential that can be looked up.
#[derive(Debug)]
enum HeaderFault {
    /// The credential is missing.
    Missing,
    /// The header is refused.
    Refused(RefusalReason),
}

/// Authenticates callers and limits their rate.
pub struct Gateway {
    accounts: Arc<Accounts>,
    external: Option<ExternalIssuer>,
    rate_limit: RateLimit,
    /// The nodes that share the rate limit. `None` for a single process.
    ownership: Option<Arc<Ownership>>,
}

impl Gateway {
    /// Makes the gateway of accounts, with the external issuer if there is one.
    pub fn new(
        accounts: Arc<Accounts>,
        identity: Option<&IdentitySettings>,
        rate_limit: &RateLimitSettings,
    ) -> anyhow::Result<Self> {
        let external = match identity {
            Some(settings) => Some(ExternalIssuer::new(settings.clone())?),
            None => None,
        };
        let rate_limit = RateLimit::new(rate_limit.requests_per_minute);
        Ok(Self { accounts, external, rate_limit, ownership: None })
    }

    /// Divides the rate limit among the nodes that share the storage, if it is shared.
    pub fn among_nodes(mut self, ownership: &Arc<Ownership>) -> Self {
        if !ownership.is_alone() {
            self.ownership = Some(Arc::clone(ownership));
        }
        self
    }

    /// Counts a request of an account.
    ///
    /// # Errors
    ///
    /// The account exceeds its rate: the seconds to wait before the next request.
    pub fn admit(&self, principal: &Principal) -> Result<(), u64> {
        let now = Instant::now();
        let Some(ownership) = &self.ownership else { return self.rate_limit.take(&principal.account, now) };
        let limit = self.rate_limit.per_minute();
        // A share is at most the limit.
        let share = u32::try_from(ownership.share_of(limit as usize)).unwrap_or(limit);
        self.rate_limit.take_of_share(&principal.account, share, now)
    }

    /// Returns the cached result of [`Gateway::authorize`]. It reads no store and asks no issuer.
    pub fn cached(&self, headers: &HeaderMap) -> Option<Principal> {
        let credential = credential(headers).ok()?;
        self.accounts.cache().get(&CacheKey::of(credential))
    }

    /// Returns the caller that sent these headers. Blocking: it reads the store and may ask an issuer.
    ///
    /// # Errors
    ///
    /// The credential is missing or refused. The reason of a refusal is logged, with the id of the key.
    pub fn authorize(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        let credential = match credential(headers) {
            Ok(credential) => credential,
            Err(HeaderFault::Missing) => return Err(Refusal::Missing),
            Err(HeaderFault::Refused(reason)) => {
                tracing::info!(%reason, "a credential is refused");
                return Err(Refusal::Refused);
            }
        };
        let key = CacheKey::of(credential);
        let cache = self.accounts.cache();
        if let Some(principal) = cache.get(&key) {
            return Ok(principal);
        }
        let revocations = cache.revocations();
        match self.resolve(credential) {
            Ok(principal) => {
                cache.insert(key, principal.clone(), revocations);
                Ok(principal)
            }
            Err(reason) => {
                log_refusal(reason, credential);
                Err(reason.refusal())
            }
        }
    }

    fn resolve(&self, credential: &str) -> Result<Principal, RefusalReason> {
        let principal = match KeyText::parse(credential) {
            Some(key) => self.resolve_key(&key)?,
            None => self.resolve_session(credential).ok_or(RefusalReason::InvalidSession)?,
        };
        match self.accounts.ensure_account(&principal.account) {
            Ok(account) if !account.suspended => Ok(principal),
            Ok(_) => Err(RefusalReason::SuspendedAccount),
            Err(error) => {
                tracing::error!(%error, "an account could not be read");
                Err(reason_of(&error))
            }
        }
    }

    fn resolve_session(&self, token: &str) -> Option<Principal> {
        let identity = match self.accounts.verify_session(token) {
            Some(identity) => identity,
            None => self.external.as_ref()?.verify(token)?,
        };
        let Identity { account, email } = identity;
        Some(Principal { account, credential: Credential::Session { email } })
    }

    fn resolve_key(&self, key: &KeyText<'_>) -> Result<Principal, RefusalReason> {
        let record = match self.accounts.api_key(key.id) {
            Ok(record) => record,
            Err(error) => {
                tracing::error!(%error, "a key could not be read");
                return Err(reason_of(&error));
            }
        };
        // An unknown id takes the same time as a wrong secret.
        let expected = match &record {
            Some(record) => record.secret_sha256.as_str(),
            None => "",
        };
        let matches = key.secret_matches(expected);
        let Some(record) = record else { return Err(RefusalReason::UnknownKey) };
        if !matches {
            return Err(RefusalReason::WrongSecret);
        }
        if record.revoked {
            return Err(RefusalReason::RevokedKey);
        }
        if record.env != key.env {
            return Err(RefusalReason::OtherEnvironment);
        }
        Ok(Principal {
            account: record.account,
            credential: Credential::Key { id: record.id, env: key.env, namespace: record.namespace },
        })
    }
}

/// Logs why a credential is refused. Of a key only its id is logged, which is not secret.
fn log_refusal(reason: RefusalReason, credential: &str) {
    match KeyText::parse(credential) {
        Some(key) => tracing::info!(%reason, key = key.id, "a credential is refused"),
        None => tracing::info!(%reason, "a credential is refused"),
    }
}

/// Returns why a credential is refused whose records could not be read. A record that cannot be decoded grants nothing.
fn reason_of(error: &Error) -> RefusalReason {
    match error {
        Error::Disk { .. } | Error::Unavailable { .. } => RefusalReason::UnreachableRecords,
        _ => RefusalReason::UnreadableRecords,
    }
}

/// Returns the bearer credential of a request.
fn credential(headers: &HeaderMap) -> Result<&str, HeaderFault> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or(HeaderFault::Missing)?;
    if values.next().is_some() {
        return Err(HeaderFault::Refused(RefusalReason::SeveralHeaders));
    }
    if value.len() > CREDENTIAL_BYTES_MAX {
        return Err(HeaderFault::Refused(RefusalReason::TooLong));
    }
    let text = value.to_str().map_err(|_| HeaderFault::Refused(RefusalReason::NotText))?.trim();
    if text.is_empty() {
        return Err(HeaderFault::Missing);
    }
    match text.split_once(' ') {
        Some((scheme, credential)) if scheme.eq_ignore_ascii_case("bearer") => Ok(credential.trim()),
        _ => Err(HeaderFault::Refused(RefusalReason::OtherScheme)),
    }
}

#[cfg(test)]
mod tests {
    use cuebase_storage::error::DiskTrouble;
    use cuebase_storage::{AccountId, Store};
    use hyper::header::HeaderValue;
    use jiff::SignedDuration;

    use super::*;
    use crate::accounts::NewKey;
    use crate::clock::Clock;

    fn open(clock: &Clock) -> (Arc<Accounts>, Gateway) {
        let store = Arc::new(Store::in_memory().expect("opens"));
        let accounts = Arc::new(Accounts::open(store, clock.clone()).expect("opens"));
        let rate_limit = RateLimitSettings { requests_per_minute: 0 };
        let gateway = Gateway::new(Arc::clone(&accounts), None, &rate_limit).expect("a gateway");
        (accounts, gateway)
    }

    fn headers(credential: &str) -> HeaderMap {
        let value = HeaderValue::from_str(&format!("Bearer {credential}")).expect("a header");
        HeaderMap::from_iter([(AUTHORIZATION, value)])
    }

    #[test]
    fn a_revoked_key_is_refused_at_once() {
        let (accounts, gateway) = open(&Clock::system());
        let account = AccountId::default();
        let (key, text) = accounts.create_key(&account, NewKey::default()).expect("a key");
        let headers = headers(&text);
        assert_eq!(gateway.authorize(&headers).expect("authorized").account, account);
        assert!(gateway.cached(&headers).is_some());
        accounts.revoke_key(&account, &key.id).expect("revokes");
        assert_eq!(gateway.cached(&headers), None);
        assert_eq!(gateway.authorize(&headers), Err(Refusal::Refused));
    }

    #[test]
    fn the_reason_of_a_refusal_is_known_to_the_log_alone() {
        let (accounts, gateway) = open(&Clock::system());
        let account = AccountId::default();
        let (key, text) = accounts.create_key(&account, NewKey::default()).expect("a key");
        let other = accounts.create_key(&account, NewKey::default()).expect("a key").1;
        // A secret has 32 characters.
        let wrong = format!("{}{}", &text[..text.len() - 32], &other[other.len() - 32..]);
        assert_eq!(gateway.resolve(&wrong), Err(RefusalReason::WrongSecret));
        assert_eq!(gateway.resolve(&text.replace(&key.id, "0123456789abcdef")), Err(RefusalReason::UnknownKey));
        assert_eq!(gateway.resolve(&text.replace("_live_", "_test_")), Err(RefusalReason::OtherEnvironment));
        assert_eq!(gateway.resolve("a.b.c"), Err(RefusalReason::InvalidSession));
        accounts.suspend(&account, true).expect("suspends");
        assert_eq!(gateway.resolve(&text), Err(RefusalReason::SuspendedAccount));
        accounts.revoke_key(&account, &key.id).expect("revokes");
        assert_eq!(gateway.resolve(&text), Err(RefusalReason::RevokedKey));
    }

    #[test]
    fn a_credential_is_not_refused_for_good_while_the_database_cannot_be_reached() {
        let unreachable = Error::Disk { trouble: DiskTrouble::Unreachable, reason: "no connection".into() };
        assert_eq!(reason_of(&unreachable).refusal(), Refusal::Unavailable);
        assert_eq!(reason_of(&Error::Damaged("a key".into())).refusal(), Refusal::Refused);
    }

    #[test]
    fn a_suspended_account_is_refused_at_once() {
        let (accounts, gateway) = open(&Clock::system());
        let account = AccountId::default();
        let headers = headers(&accounts.create_session(&account).expect("a session"));
        assert!(gateway.authorize(&headers).is_ok());
        accounts.suspend(&account, true).expect("suspends");
        assert_eq!(gateway.authorize(&headers), Err(Refusal::Refused));
        accounts.suspend(&account, false).expect("ends the suspension");
        assert!(gateway.authorize(&headers).is_ok());
    }

    #[test]
    fn an_expired_session_is_refused() {
        let clock = Clock::manual("2026-03-01T08:00:00Z".parse().expect("a time"));
        let (accounts, gateway) = open(&clock);
        let headers = headers(&accounts.create_session(&AccountId::default()).expect("a session"));
        clock.advance(SignedDuration::from_hours(13));
        assert_eq!(gateway.authorize(&headers), Err(Refusal::Refused));
    }
}
