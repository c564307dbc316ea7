//! Authentication and rate limits, before any handler runs.
//!
//! [`Gateway`] resolves a credential to a [`Principal`] and caches the result for 30 seconds. [`crate::accounts`]
//! checks API keys and dashboard sessions of the local issuer, [`external`] checks sessions of an external issuer.
//! Refusals have a separate response body that does not reveal their reason.

pub mod external;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cuebase_storage::records::Environment;
use cuebase_storage::{AccountId, NamespaceName};
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use moka::sync::Cache;

use self::external::ExternalIssuer;
use crate::accounts::credentials::KeyText;
use crate::accounts::sessions::Identity;
use crate::billing::rate_limit::RateLimit;
use crate::service::Service;

/// Time for which authorization results are cached.
const CACHE_TIME: Duration = Duration::from_secs(30);
/// Cached results, at most.
const CACHE_ENTRIES: u64 = 10_000;
/// A longer credential is refused without a lookup.
const CREDENTIAL_BYTES_MAX: usize = 8 << 10;

/// The caller of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The account of the credential.
    pub account: AccountId,
    /// The kind of the credential.
    pub credential: Credential,
}

/// The kinds of credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// An API key. It opens all namespaces of the account unless it is confined to one.
    Key {
        /// The environment of the key.
        env: Environment,
        /// The namespace that the key is confined to.
        namespace: Option<NamespaceName>,
    },
    /// A dashboard session.
    Session {
        /// The email address of the person, if the issuer provides it.
        email: Option<String>,
    },
}

impl Principal {
    /// Returns the namespace that the credential is confined to.
    pub fn scope(&self) -> Option<&NamespaceName> {
        match &self.credential {
            Credential::Key { namespace, .. } => namespace.as_ref(),
            Credential::Session { .. } => None,
        }
    }

    /// Returns the email address of the person with a dashboard session, if it is known.
    pub fn email(&self) -> Option<&str> {
        match &self.credential {
            Credential::Key { .. } => None,
            Credential::Session { email } => email.as_deref(),
        }
    }
}

/// Why the gateway refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The credential is missing: 401.
    Missing,
    /// The credential is not valid: 403.
    Refused,
}

/// Authenticates callers and limits their rate.
pub struct Gateway {
    service: Arc<Service>,
    cache: Cache<[u8; 32], Principal>,
    external: Option<ExternalIssuer>,
    rate_limit: RateLimit,
    /// How often the cache was cleared. A lookup compares it to detect a revocation that happened meanwhile.
    revocations: AtomicU64,
}

impl Gateway {
    /// Makes the gateway of a service.
    pub fn new(service: Arc<Service>) -> anyhow::Result<Self> {
        let cache = Cache::builder().max_capacity(CACHE_ENTRIES).time_to_live(CACHE_TIME).build();
        let external = match &service.config.identity {
            Some(settings) => Some(ExternalIssuer::new(settings.clone())?),
            None => None,
        };
        let rate_limit = RateLimit::new(service.config.rate_limit.requests_per_minute);
        Ok(Self { service, cache, external, rate_limit, revocations: AtomicU64::new(0) })
    }

    /// Counts a request of an account.
    ///
    /// # Errors
    ///
    /// The account exceeds its rate: the seconds to wait before the next request.
    pub fn admit(&self, principal: &Principal) -> Result<(), u64> {
        self.rate_limit.take(&principal.account, Instant::now())
    }

    /// Returns the cached result of [`Gateway::authorize`]. It reads no store and asks no issuer.
    pub fn cached(&self, headers: &HeaderMap) -> Option<Principal> {
        let credential = credential(headers).ok()?;
        self.cache.get(&cache_key(credential))
    }

    /// Returns the caller that sent these headers. Blocking: it reads the store and may ask an issuer.
    pub fn authorize(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        let credential = credential(headers)?;
        let key = cache_key(credential);
        if let Some(principal) = self.cache.get(&key) {
            return Ok(principal);
        }
        let revocations = self.revocations.load(Ordering::SeqCst);
        let principal = self.resolve(credential).ok_or(Refusal::Refused)?;
        self.cache.insert(key, principal.clone());
        if self.revocations.load(Ordering::SeqCst) != revocations {
            // The result may be older than the revocation, which has already cleared the cache.
            self.cache.invalidate(&key);
        }
        Ok(principal)
    }

    /// Clears the cache, so that a revocation takes effect at once instead of after 30 seconds.
    pub fn forget(&self) {
        self.revocations.fetch_add(1, Ordering::SeqCst);
        self.cache.invalidate_all();
    }

    fn resolve(&self, credential: &str) -> Option<Principal> {
        let principal = match KeyText::parse(credential) {
            Some(key) => self.resolve_key(&key)?,
            None => self.resolve_session(credential)?,
        };
        match self.service.ensure_account(&principal.account) {
            Ok(account) if !account.suspended => Some(principal),
            Ok(_) => None,
            Err(error) => {
                tracing::error!(%error, "an account could not be read");
                None
            }
        }
    }

    fn resolve_session(&self, token: &str) -> Option<Principal> {
        let identity = match self.service.issuer.verify(token) {
            Some(identity) => identity,
            None => self.external.as_ref()?.verify(token)?,
        };
        let Identity { account, email } = identity;
        Some(Principal { account, credential: Credential::Session { email } })
    }

    fn resolve_key(&self, key: &KeyText<'_>) -> Option<Principal> {
        let record = match self.service.store.api_key(key.id) {
            Ok(record) => record,
            Err(error) => {
                tracing::error!(%error, "a key could not be read");
                None
            }
        };
        // An unknown id takes the same time as a wrong secret.
        let expected = match &record {
            Some(record) => record.secret_sha256.as_str(),
            None => "",
        };
        let matches = key.secret_matches(expected);
        let record = record?;
        if !matches || record.revoked || record.env != key.env {
            return None;
        }
        Some(Principal {
            account: record.account,
            credential: Credential::Key { env: key.env, namespace: record.namespace },
        })
    }
}

/// Returns the bearer credential of a request.
fn credential(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or(Refusal::Missing)?;
    if values.next().is_some() || value.len() > CREDENTIAL_BYTES_MAX {
        return Err(Refusal::Refused);
    }
    let text = value.to_str().map_err(|_| Refusal::Refused)?.trim();
    if text.is_empty() {
        return Err(Refusal::Missing);
    }
    let (scheme, credential) = text.split_once(' ').ok_or(Refusal::Refused)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Refusal::Refused);
    }
    Ok(credential.trim())
}

/// Returns the cache key of a credential: its hash, so that the cache does not hold the credential.
fn cache_key(credential: &str) -> [u8; 32] {
    let mut key = [0; 32];
    key.copy_from_slice(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, credential.as_bytes()).as_ref());
    key
}
