//! What stands before any handler: who is calling, and whether they may.
//!
//! [`crate::accounts`] knows API keys and dashboard sessions of the local issuer, [`external`] those of another
//! one; [`Gateway`] resolves any of them to a [`Principal`] and remembers the answer for 30 seconds. Failures here have a
//! body of their own and say nothing about their reason.

pub mod external;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use moka::sync::Cache;

use self::external::ExternalIssuer;
use crate::accounts::credentials::{Environment, KeyText};
use crate::accounts::sessions::Identity;
use crate::billing::rate_limit::RateLimit;
use crate::service::Service;

/// Authorization results are remembered for so long.
const CACHE_TIME: Duration = Duration::from_secs(30);
/// Remembered results, at most.
const CACHE_ENTRIES: u64 = 10_000;
/// A credential longer than this is refused unread.
const CREDENTIAL_BYTES_MAX: usize = 8 << 10;

/// Who is calling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The one account that the credential resolves to.
    pub account: String,
    /// What kind of credential it was.
    pub credential: Credential,
}

/// The kinds of credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// An API key, account-wide unless it is confined to a namespace.
    Key {
        /// `live` or `test`.
        env: Environment,
        /// The namespace that it is confined to.
        namespace: Option<String>,
    },
    /// A dashboard session.
    Session {
        /// The person's address, where the issuer tells it.
        email: Option<String>,
    },
}

impl Principal {
    /// The namespace that the credential is confined to.
    pub fn scope(&self) -> Option<&str> {
        match &self.credential {
            Credential::Key { namespace, .. } => namespace.as_deref(),
            Credential::Session { .. } => None,
        }
    }

    /// The address of the person behind a dashboard session, where it is known.
    pub fn email(&self) -> Option<&str> {
        match &self.credential {
            Credential::Key { .. } => None,
            Credential::Session { email } => email.as_deref(),
        }
    }
}

/// Why a request does not get past the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No credential: 401.
    Missing,
    /// A credential that is not good, whatever the reason: 403.
    Refused,
}

/// The gate.
pub struct Gateway {
    service: Arc<Service>,
    remembered: Cache<[u8; 32], Principal>,
    external: Option<ExternalIssuer>,
    rate_limit: RateLimit,
    /// How often the cache was cleared, so that a lookup knows whether that happened meanwhile.
    revocations: AtomicU64,
}

impl Gateway {
    /// A gate before a service.
    pub fn new(service: Arc<Service>) -> anyhow::Result<Self> {
        let remembered = Cache::builder().max_capacity(CACHE_ENTRIES).time_to_live(CACHE_TIME).build();
        let external = service.config.identity.clone().map(ExternalIssuer::new).transpose()?;
        let rate_limit = RateLimit::new(service.config.requests_per_minute);
        Ok(Self { service, remembered, external, rate_limit, revocations: AtomicU64::new(0) })
    }

    /// Counts a request of an account; an error is the seconds to wait before the next one.
    pub fn admit(&self, principal: &Principal) -> Result<(), u64> {
        self.rate_limit.take(&principal.account, Instant::now())
    }

    /// The same as [`Gateway::authorize`] where the answer is remembered: asks nobody and reads nothing.
    pub fn recall(&self, headers: &HeaderMap) -> Option<Principal> {
        self.remembered.get(&fingerprint(credential(headers).ok()?))
    }

    /// Who sends these headers. Reads the store, so it is called off the async threads.
    pub fn authorize(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        let credential = credential(headers)?;
        let name = fingerprint(credential);
        if let Some(principal) = self.remembered.get(&name) {
            return Ok(principal);
        }
        let revocations = self.revocations.load(Ordering::SeqCst);
        let principal = self.resolve(credential).ok_or(Refusal::Refused)?;
        self.remembered.insert(name, principal.clone());
        if self.revocations.load(Ordering::SeqCst) != revocations {
            // What was read may be from before a revocation that has cleared the cache already.
            self.remembered.invalidate(&name);
        }
        Ok(principal)
    }

    /// Forgets what was remembered: a key was revoked here, no need to wait for the 30 seconds.
    pub fn forget(&self) {
        self.revocations.fetch_add(1, Ordering::SeqCst);
        self.remembered.invalidate_all();
    }

    fn resolve(&self, credential: &str) -> Option<Principal> {
        let principal = match KeyText::parse(credential) {
            Some(key) => self.key(&key)?,
            None => {
                let external = || self.external.as_ref()?.verify(credential);
                let Identity { account, email } = self.service.issuer.verify(credential).or_else(external)?;
                Principal { account, credential: Credential::Session { email } }
            }
        };
        let account = self.service.ensure_account(&principal.account);
        match account {
            Ok(account) if !account.suspended => Some(principal),
            Ok(_) => None,
            Err(error) => {
                tracing::error!(%error, "an account could not be read");
                None
            }
        }
    }

    fn key(&self, key: &KeyText<'_>) -> Option<Principal> {
        let record = self.service.store.api_key(key.id).unwrap_or_else(|error| {
            tracing::error!(%error, "a key could not be read");
            None
        });
        // An unknown id takes the same time as a wrong secret.
        let expected = record.as_ref().map_or("", |record| record.secret_sha256.as_str());
        let matches = key.secret_matches(expected);
        let record = record.filter(|record| matches && !record.revoked && record.env == key.env.name())?;
        Some(Principal {
            account: record.account,
            credential: Credential::Key { env: key.env, namespace: record.namespace },
        })
    }
}

/// The bearer credential that headers carry.
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

/// Under what a credential is remembered: not the credential itself.
fn fingerprint(credential: &str) -> [u8; 32] {
    let mut name = [0; 32];
    name.copy_from_slice(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, credential.as_bytes()).as_ref());
    name
}
