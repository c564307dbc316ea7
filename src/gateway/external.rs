//! Dashboard sessions of an external issuer: ID tokens checked against the keys that it publishes.
//!
//! The keys are fetched when they are first needed, kept, and fetched again when they are old or when a token names a
//! key that is not among them, which is how a rotation shows. A fetch that fails leaves the known keys in force, and a
//! token with a known key never waits for one: an issuer that hangs, or tokens with invented keys, cost nobody else.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use arc_swap::ArcSwap;
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;

use crate::accounts::sessions::{Identity, LEEWAY_SECONDS};
use crate::config::IdentitySettings;

/// Keys older than this are fetched again.
const KEYS_TIME: Duration = Duration::from_secs(10 * 60);
/// A token with an unknown key does not make us ask more often than this.
const FETCH_INTERVAL: Duration = Duration::from_secs(1);
/// The issuer has so long to answer.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Tokens that wait for a fetch at a time; each holds a thread.
const WAITING_MAX: usize = 32;
/// A key set longer than this is not read.
const KEYS_BYTES_MAX: u64 = 1 << 20;

/// An issuer whose tokens are accepted beside the local one's.
pub struct ExternalIssuer {
    settings: IdentitySettings,
    client: reqwest::blocking::Client,
    known: ArcSwap<Keys>,
    /// Held while the issuer is asked: when it was asked last.
    asking: Mutex<Option<Instant>>,
    /// Tokens that wait for an answer.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct Keys {
    by_id: HashMap<String, (Algorithm, DecodingKey)>,
    fetched: Option<Instant>,
}

#[derive(Deserialize)]
struct Claims {
    token_use: Option<String>,
    email: Option<String>,
    #[serde(rename = "custom:tenant_id")]
    tenant: String,
}

impl ExternalIssuer {
    /// An issuer as configured. Nothing is fetched yet.
    pub fn new(settings: IdentitySettings) -> anyhow::Result<Self> {
        let client = reqwest::blocking::Client::builder().timeout(FETCH_TIMEOUT);
        let client = client.redirect(reqwest::redirect::Policy::limited(3)).build();
        let client = client.context("the HTTP client for identity.issuer cannot be made")?;
        Ok(Self { settings, client, known: ArcSwap::default(), asking: Mutex::default(), waiting: AtomicUsize::new(0) })
    }

    /// Whom a token stands for, or nothing: bad form, unknown key, bad signature, an algorithm that is not its key's,
    /// expired, of or for somebody else, no ID token, no tenant.
    pub fn verify(&self, token: &str) -> Option<Identity> {
        let header = jsonwebtoken::decode_header(token).ok()?;
        let asymmetric = matches!(header.alg, Algorithm::RS256 | Algorithm::ES256);
        let key_id = header.kid.filter(|_| asymmetric)?;
        let keys = self.keys_with(&key_id);
        // The key says which algorithm it is for; what the token says must be the same.
        let (algorithm, key) = keys.by_id.get(&key_id).filter(|(algorithm, _)| *algorithm == header.alg)?;
        let mut validation = Validation::new(*algorithm);
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_audience(&[&self.settings.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.validate_nbf = true;
        validation.leeway = LEEWAY_SECONDS;
        let claims = jsonwebtoken::decode::<Claims>(token, key, &validation).ok()?.claims;
        let id_token = claims.token_use.is_none_or(|kind| kind == "id");
        let named = crate::accounts::check_account(&claims.tenant).is_ok();
        (id_token && named).then_some(Identity { account: claims.tenant, email: claims.email })
    }

    /// The issuer's keys, fetched where the one that is asked for may be new or all of them are old.
    fn keys_with(&self, key_id: &str) -> Arc<Keys> {
        let known = self.known.load_full();
        let missing = !known.by_id.contains_key(key_id);
        let old = known.fetched.is_none_or(|at| at.elapsed() > KEYS_TIME);
        if missing {
            // Beyond a few, whoever brings an unknown key is refused rather than kept on a thread.
            if self.waiting.fetch_add(1, Ordering::SeqCst) < WAITING_MAX {
                self.ask(self.asking.lock());
            }
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        } else if old && let Some(held) = self.asking.try_lock() {
            self.ask(held);
        }
        self.known.load_full()
    }

    /// Fetches the keys, unless that was tried a moment ago.
    fn ask(&self, mut asked: MutexGuard<'_, Option<Instant>>) {
        if asked.is_some_and(|at| at.elapsed() <= FETCH_INTERVAL) {
            return;
        }
        match self.fetch() {
            Ok(by_id) => self.known.store(Arc::new(Keys { by_id, fetched: Some(Instant::now()) })),
            Err(error) => tracing::warn!(%error, "the keys of identity.issuer cannot be fetched"),
        }
        *asked = Some(Instant::now());
    }

    fn fetch(&self) -> anyhow::Result<HashMap<String, (Algorithm, DecodingKey)>> {
        use std::io::Read;
        let response = self.client.get(&self.settings.jwks_url).send()?.error_for_status()?;
        let mut text = String::new();
        response.take(KEYS_BYTES_MAX).read_to_string(&mut text)?;
        let set: JwkSet = serde_json::from_str(&text).context("it is no key set")?;
        Ok(set.keys.iter().filter_map(usable).collect())
    }
}

/// A key that can verify, under its id; of RSA for RS256 and of P-256 for ES256.
fn usable(key: &Jwk) -> Option<(String, (Algorithm, DecodingKey))> {
    use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, PublicKeyUse};
    let algorithm = match &key.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => Algorithm::ES256,
        _ => return None,
    };
    let stated = key.common.key_algorithm.map(|stated| stated.to_string());
    if stated.is_some_and(|stated| stated != format!("{algorithm:?}")) {
        return None;
    }
    if key.common.public_key_use.as_ref().is_some_and(|usage| *usage != PublicKeyUse::Signature) {
        return None;
    }
    Some((key.common.key_id.clone()?, (algorithm, DecodingKey::from_jwk(key).ok()?)))
}
