//! API keys: `svc_<env>_<key id>_<secret>`.
//!
//! The key id is 16 hex characters and may stand in logs. The secret is 24 random bytes, base64url; only its SHA-256 is
//! kept, and it is compared in constant time. A plain hash is enough: 192 random bits cannot be guessed through it.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use serde::{Deserialize, Serialize};

const PREFIX: &str = "svc";
const KEY_ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 24;

/// The environment a key is for. Shows in the prefix and in `whoami`; no data boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Environment {
    /// For production.
    #[default]
    Live,
    /// For trying out.
    Test,
}

impl Environment {
    /// `live` or `test`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }

    /// From its name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Live, Self::Test].into_iter().find(|env| env.name() == name)
    }
}

/// A key that was just made.
pub struct MintedKey {
    /// The key id.
    pub id: String,
    /// The whole key.
    pub full: String,
    /// What is kept of the secret.
    pub secret_sha256: String,
}

impl MintedKey {
    /// Makes a key of fresh random bytes.
    pub fn new(env: Environment) -> Result<Self, aws_lc_rs::error::Unspecified> {
        let mut id = [0; KEY_ID_BYTES];
        let mut secret = [0; SECRET_BYTES];
        aws_lc_rs::rand::fill(&mut id)?;
        aws_lc_rs::rand::fill(&mut secret)?;
        let id = HEXLOWER.encode(&id);
        let secret = BASE64URL_NOPAD.encode(&secret);
        let full = format!("{PREFIX}_{}_{id}_{secret}", env.name());
        Ok(Self { id, full, secret_sha256: hash(&secret) })
    }
}

/// A key as it was sent, taken apart.
pub struct KeyText<'a> {
    /// The environment in its prefix.
    pub env: Environment,
    /// The key id.
    pub id: &'a str,
    secret: &'a str,
}

impl<'a> KeyText<'a> {
    /// Takes a key apart; none when it is not of a key's form.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(4, '_');
        let (prefix, env, id, secret) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let hex = id.len() == 2 * KEY_ID_BYTES && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let secret_bytes = BASE64URL_NOPAD.decode(secret.as_bytes()).ok()?;
        (prefix == PREFIX && hex && secret_bytes.len() == SECRET_BYTES).then_some(())?;
        Some(Self { env: Environment::parse(env)?, id, secret })
    }

    /// Whether the secret is the one whose hash was kept; takes the same time whatever the answer.
    pub fn secret_matches(&self, secret_sha256: &str) -> bool {
        verify_slices_are_equal(hash(self.secret).as_bytes(), secret_sha256.as_bytes()).is_ok()
    }
}

fn hash(secret: &str) -> String {
    HEXLOWER.encode(digest(&SHA256, secret.as_bytes()).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_minted_key_is_read_back_and_another_secret_does_not_match() {
        let minted = MintedKey::new(Environment::Test).expect("random bytes");
        let key = KeyText::parse(&minted.full).expect("parses");
        assert_eq!((key.env, key.id), (Environment::Test, minted.id.as_str()));
        assert!(key.secret_matches(&minted.secret_sha256));
        let other = MintedKey::new(Environment::Test).expect("random bytes");
        assert!(!key.secret_matches(&other.secret_sha256));
        assert!(!key.secret_matches(""));
    }

    #[test]
    fn other_forms_are_no_keys() {
        let good = MintedKey::new(Environment::Live).expect("random bytes").full;
        for bad in [
            "",
            "svc",
            "svc_live",
            "svc_prod_0123456789abcdef_x",
            &good[1..],
            &good[..good.len() - 1],
            &good.to_uppercase(),
        ] {
            assert!(KeyText::parse(bad).is_none(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_apart_or_refused(text in "\\PC{0,80}", tail in "svc_(live|test)_[0-9a-f_]{0,20}_\\PC{0,40}") {
            let _ = KeyText::parse(&text);
            let _ = KeyText::parse(&tail);
        }
    }
}
