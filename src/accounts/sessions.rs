//! Dashboard sessions: ID tokens of the built-in local issuer.
//!
//! The issuer signs with ES256 and a key in the data directory. The claim `custom:tenant_id` holds the account.

use anyhow::Context;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use cuebase_storage::{AccountId, Store};
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// Name of the key in the data directory.
const KEY_NAME: &str = "issuer";
/// The `iss` claim.
const ISSUER: &str = "cuebase-local";
/// The `aud` claim.
const AUDIENCE: &str = "cuebase-dashboard";
/// A session lasts 12 hours.
const LIFETIME_SECONDS: i64 = 12 * 60 * 60;
/// Allowed difference between clocks.
pub const LEEWAY_SECONDS: u64 = 60;

/// The identity behind a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The account.
    pub account: AccountId,
    /// The email address of the person, if the issuer provides it.
    pub email: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: AccountId,
    iat: i64,
    exp: i64,
    token_use: String,
    #[serde(rename = "custom:tenant_id")]
    tenant: AccountId,
}

/// The built-in issuer of dashboard sessions.
pub struct LocalIssuer {
    signing: EncodingKey,
    verifying: DecodingKey,
}

impl LocalIssuer {
    /// Opens the issuer with the key in the data directory, which is generated at the first call.
    pub fn open(store: &Store) -> anyhow::Result<Self> {
        let key = match store.secret(KEY_NAME)? {
            Some(key) => key,
            None => store.put_secret_if_absent(KEY_NAME, &generate_key()?)?,
        };
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key)
            .map_err(|error| anyhow::anyhow!("the local issuer's key in the data directory cannot be read: {error}"))?;
        let verifying = DecodingKey::from_ec_der(pair.public_key().as_ref());
        Ok(Self { signing: EncodingKey::from_ec_der(&key), verifying })
    }

    /// Creates a session of an account.
    pub fn mint(&self, account: &AccountId, now: Timestamp) -> Result<String, jsonwebtoken::errors::Error> {
        let claims = Claims {
            iss: ISSUER.into(),
            aud: AUDIENCE.into(),
            sub: account.clone(),
            iat: now.as_second(),
            exp: now.as_second() + LIFETIME_SECONDS,
            token_use: "id".into(),
            tenant: account.clone(),
        };
        jsonwebtoken::encode(&Header::new(Algorithm::ES256), &claims, &self.signing)
    }

    /// Returns the identity of a session at a time. Returns none if the token is malformed or expired, has a wrong
    /// signature, is not an ID token, or has no valid tenant.
    pub fn verify(&self, token: &str, now: Timestamp) -> Option<Identity> {
        let mut validation = Validation::new(Algorithm::ES256);
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[AUDIENCE]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        // Compared with `now` below: the library reads the clock of the system.
        validation.validate_exp = false;
        let claims = jsonwebtoken::decode::<Claims>(token, &self.verifying, &validation).ok()?.claims;
        let is_expired = claims.exp.saturating_add_unsigned(LEEWAY_SECONDS) < now.as_second();
        if is_expired || claims.token_use != "id" {
            return None;
        }
        Some(Identity { account: claims.tenant, email: None })
    }
}

/// Generates a signing key, in PKCS #8.
fn generate_key() -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let failed = "cannot generate the key of the local issuer: the system provides no random bytes";
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).context(failed)?;
    let document = pair.to_pkcs8v1().context(failed)?;
    Ok(Zeroizing::new(document.as_ref().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::new(id).expect("is valid")
    }

    fn issuer() -> (tempfile::TempDir, LocalIssuer) {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Store::open(folder.path()).expect("opens");
        (folder, LocalIssuer::open(&store).expect("opens"))
    }

    #[test]
    fn a_session_identifies_its_account_until_it_expires() {
        let (_folder, issuer) = issuer();
        let now = Timestamp::now();
        let token = issuer.mint(&account("acme"), now).expect("mints");
        assert_eq!(issuer.verify(&token, now).map(|identity| identity.account), Some(account("acme")));
        let old = Timestamp::from_second(now.as_second() - LIFETIME_SECONDS - 120).expect("a time");
        assert_eq!(issuer.verify(&issuer.mint(&account("acme"), old).expect("mints"), now), None);
    }

    #[test]
    fn altered_tokens_and_those_of_another_issuer_are_refused() {
        let (_folder, issuer) = issuer();
        let (_other_folder, other) = self::issuer();
        let token = other.mint(&account("acme"), Timestamp::now()).expect("mints");
        assert_eq!(issuer.verify(&token, Timestamp::now()), None);
        let good = issuer.mint(&account("acme"), Timestamp::now()).expect("mints");
        let unsigned = format!("{}.", good.rsplit_once('.').expect("three parts").0);
        for bad in [unsigned.as_str(), "", "a.b.c", &good[1..]] {
            assert_eq!(issuer.verify(bad, Timestamp::now()), None);
        }
    }
}
