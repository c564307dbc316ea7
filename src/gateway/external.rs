//! Dashboard sessions of an external issuer: ID tokens that are verified with the issuer's published keys.
//!
//! The keys are fetched at first use and cached. They are fetched again when they are old, or when a token names an
//! unknown key, which happens after a rotation. If a fetch fails, the known keys stay valid. A token with a known key
//! never waits for a fetch, so an issuer that hangs, or tokens with invented keys, do not delay other callers.

#![expect(clippy::disallowed_types, reason = "fetches the keys of an issuer")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use arc_swap::ArcSwap;
use cuebase_storage::AccountId;
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;

use crate::accounts::sessions::{Identity, LEEWAY_SECONDS};
use crate::config::IdentitySettings;

/// Older keys are fetched again.
const KEYS_TIME: Duration = Duration::from_secs(10 * 60);
/// Time between two fetches, however many tokens name an unknown key.
const FETCH_INTERVAL: Duration = Duration::from_secs(1);
/// Time limit of a fetch.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Tokens that may wait for a fetch at once. Each occupies a thread.
const WAITING_MAX: usize = 32;
/// Bytes of a key set that are read.
const KEYS_BYTES_MAX: u64 = 1 << 20;

/// An external issuer, whose tokens are accepted in addition to those of the local one.
pub struct ExternalIssuer {
    settings: IdentitySettings,
    client: reqwest::blocking::Client,
    keys: ArcSwap<KeySet>,
    /// The time of the last fetch. Locked during a fetch.
    last_fetch: Mutex<Option<Instant>>,
    /// Number of tokens that wait for a fetch.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct KeySet {
    by_id: HashMap<String, IssuerKey>,
    fetched: Option<Instant>,
}

/// A public key of the issuer.
struct IssuerKey {
    /// The only algorithm that the key is for.
    algorithm: Algorithm,
    key: DecodingKey,
}

#[derive(Deserialize)]
struct Claims {
    token_use: Option<String>,
    email: Option<String>,
    #[serde(rename = "custom:tenant_id")]
    tenant: AccountId,
}

impl ExternalIssuer {
    /// Makes the configured issuer. It fetches nothing yet.
    pub fn new(settings: IdentitySettings) -> anyhow::Result<Self> {
        let client = reqwest::blocking::Client::builder().timeout(FETCH_TIMEOUT);
        let client = client.redirect(reqwest::redirect::Policy::limited(3)).build();
        let client = client.context("cannot make the HTTP client for identity.issuer")?;
        Ok(Self {
            settings,
            client,
            keys: ArcSwap::default(),
            last_fetch: Mutex::default(),
            waiting: AtomicUsize::new(0),
        })
    }

    /// Returns the identity of a token.
    ///
    /// Returns none if the token is malformed or expired, or not an ID token. The same holds for an unknown key, an
    /// algorithm other than the key's, a wrong signature, issuer or audience, and an invalid tenant.
    pub fn verify(&self, token: &str) -> Option<Identity> {
        let header = jsonwebtoken::decode_header(token).ok()?;
        if !matches!(header.alg, Algorithm::RS256 | Algorithm::ES256) {
            return None;
        }
        let key_id = header.kid?;
        let keys = self.keys_with(&key_id);
        let IssuerKey { algorithm, key } = keys.by_id.get(&key_id)?;
        // The key determines the algorithm. A token with another one is not accepted.
        if *algorithm != header.alg {
            return None;
        }
        let mut validation = Validation::new(*algorithm);
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_audience(&[&self.settings.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.validate_nbf = true;
        validation.leeway = LEEWAY_SECONDS;
        let claims = jsonwebtoken::decode::<Claims>(token, key, &validation).ok()?.claims;
        match claims.token_use.as_deref() {
            None | Some("id") => {}
            Some(_) => return None,
        }
        Some(Identity { account: claims.tenant, email: claims.email })
    }

    /// Returns the issuer's keys. Fetches them first if the key `key_id` is unknown or if they are old.
    fn keys_with(&self, key_id: &str) -> Arc<KeySet> {
        let keys = self.keys.load_full();
        if !keys.by_id.contains_key(key_id) {
            // Further tokens with an unknown key are refused, so that they do not occupy more threads.
            if self.waiting.fetch_add(1, Ordering::SeqCst) < WAITING_MAX {
                self.refresh(self.last_fetch.lock());
            }
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        } else if !keys.is_fresh()
            && let Some(last_fetch) = self.last_fetch.try_lock()
        {
            self.refresh(last_fetch);
        }
        self.keys.load_full()
    }

    /// Fetches the keys, unless the last attempt was a moment ago.
    fn refresh(&self, mut last_fetch: MutexGuard<'_, Option<Instant>>) {
        if let Some(time) = *last_fetch
            && time.elapsed() <= FETCH_INTERVAL
        {
            return;
        }
        match self.fetch() {
            Ok(by_id) => self.keys.store(Arc::new(KeySet { by_id, fetched: Some(Instant::now()) })),
            Err(error) => tracing::warn!(%error, "the keys of identity.issuer cannot be fetched"),
        }
        *last_fetch = Some(Instant::now());
    }

    fn fetch(&self) -> anyhow::Result<HashMap<String, IssuerKey>> {
        use std::io::Read;
        let response = self.client.get(&self.settings.jwks_url).send()?.error_for_status()?;
        let mut text = String::new();
        response.take(KEYS_BYTES_MAX).read_to_string(&mut text)?;
        let set: JwkSet = serde_json::from_str(&text).context("the response is not a key set")?;
        let mut keys = HashMap::new();
        for key in &set.keys {
            if let Some(id) = &key.common.key_id
                && let Some(usable) = usable(key)
            {
                keys.insert(id.clone(), usable);
            }
        }
        Ok(keys)
    }
}

impl KeySet {
    fn is_fresh(&self) -> bool {
        match self.fetched {
            Some(time) => time.elapsed() <= KEYS_TIME,
            None => false,
        }
    }
}

/// Returns a key if it can verify signatures: an RSA key for RS256, or a P-256 key for ES256.
fn usable(key: &Jwk) -> Option<IssuerKey> {
    use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, PublicKeyUse};
    let algorithm = match &key.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => Algorithm::ES256,
        _ => return None,
    };
    if let Some(stated) = key.common.key_algorithm
        && stated.to_string() != format!("{algorithm:?}")
    {
        return None;
    }
    match &key.common.public_key_use {
        None | Some(PublicKeyUse::Signature) => {}
        Some(_) => return None,
    }
    Some(IssuerKey { algorithm, key: DecodingKey::from_jwk(key).ok()? })
}
