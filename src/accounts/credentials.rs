//! API keys: `svc_<env>_<key id>_<secret>`.
//!
//! The key id has 16 hex characters and may appear in logs. The secret is 24 random bytes in base64url. Only its
//! SHA-256 is stored, and it is compared in constant time. A plain hash is enough, since 192 random bits cannot be
//! guessed.

use crate::sha256::sha256;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use cuebase_storage::records::Environment;
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};

const PREFIX: &str = "svc";
const KEY_ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 24;

/// A new key.
pub struct MintedKey {
    /// The key id.
    pub id: String,
    /// The whole key.
    pub full: String,
    /// The stored hash of the secret, in hexadecimal digits.
    pub secret_sha256: String,
}

impl MintedKey {
    /// Makes a key from random bytes.
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

/// The parts of a key that a client sent.
pub struct KeyText<'a> {
    /// The environment in its prefix.
    pub env: Environment,
    /// The key id.
    pub id: &'a str,
    secret: &'a str,
}

impl<'a> KeyText<'a> {
    /// Parses a key. Returns none if the text does not have the format of a key.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(4, '_');
        let (prefix, env, id, secret) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let secret_bytes = BASE64URL_NOPAD.decode(secret.as_bytes()).ok()?;
        if prefix != PREFIX || !is_key_id(id) || secret_bytes.len() != SECRET_BYTES {
            return None;
        }
        Some(Self { env: env.parse().ok()?, id, secret })
    }

    /// Returns whether the secret has the stored hash, in constant time.
    pub fn secret_matches(&self, secret_sha256: &str) -> bool {
        verify_slices_are_equal(hash(self.secret).as_bytes(), secret_sha256.as_bytes()).is_ok()
    }
}

fn is_key_id(text: &str) -> bool {
    text.len() == 2 * KEY_ID_BYTES && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn hash(secret: &str) -> String {
    HEXLOWER.encode(&sha256(&[secret.as_bytes()]))
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
    fn texts_of_another_format_are_not_keys() {
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
        fn any_text_is_parsed_or_refused(text in "\\PC{0,80}", tail in "svc_(live|test)_[0-9a-f_]{0,20}_\\PC{0,40}") {
            let _ = KeyText::parse(&text);
            let _ = KeyText::parse(&tail);
        }
    }
}
