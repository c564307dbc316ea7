//! Signatures of notifications, as the Standard Webhooks specification defines them
//! (<https://www.standardwebhooks.com>).

use aws_lc_rs::hmac;
use data_encoding::BASE64;
use jiff::Timestamp;
use zeroize::Zeroizing;

/// Allowed difference between the timestamp of a notification and the clock, in seconds.
pub const TOLERANCE_SECONDS: i64 = 5 * 60;

/// Bytes of an id, at most.
const ID_BYTES_MAX: usize = 256;

/// Bytes of a key, at least. A shorter one could be guessed.
const KEY_BYTES_MIN: usize = 16;

/// The key that notifications are signed with.
pub struct WebhookSecret(hmac::Key);

/// A notification's headers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signature<'a> {
    /// `webhook-id`.
    pub id: &'a str,
    /// `webhook-timestamp`, epoch seconds.
    pub timestamp: &'a str,
    /// `webhook-signature`: one or more, separated by spaces.
    pub signature: &'a str,
}

impl WebhookSecret {
    /// Parses `whsec_` followed by base64.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let Ok(bytes) = BASE64.decode(text.strip_prefix("whsec_").unwrap_or(text).as_bytes()) else {
            anyhow::bail!("setting payments.webhook_secret is not whsec_ and base64");
        };
        let bytes = Zeroizing::new(bytes);
        anyhow::ensure!(
            bytes.len() >= KEY_BYTES_MIN,
            "setting payments.webhook_secret holds {} bytes: expected whsec_ and base64 of at least {KEY_BYTES_MIN}",
            bytes.len()
        );
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// Makes a secret from random bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// Signs a body.
    pub fn sign(&self, id: &str, timestamp: &str, body: &[u8]) -> String {
        let tag = hmac::sign(&self.0, &signed(id, timestamp, body));
        format!("v1,{}", BASE64.encode(tag.as_ref()))
    }

    /// Returns whether one of the signatures is correct and the timestamp is close to `now`.
    pub fn verify(&self, headers: &Signature<'_>, body: &[u8], now: Timestamp) -> bool {
        let Ok(timestamp) = headers.timestamp.parse::<i64>() else { return false };
        if (now.as_second() - timestamp).abs() > TOLERANCE_SECONDS || !(1..=ID_BYTES_MAX).contains(&headers.id.len()) {
            return false;
        }
        let message = signed(headers.id, headers.timestamp, body);
        headers.signature.split(' ').any(|signature| self.is_signature(signature, &message))
    }

    /// Returns whether `v1,` and base64 are a signature of a message.
    fn is_signature(&self, text: &str, message: &[u8]) -> bool {
        let Some(encoded) = text.strip_prefix("v1,") else { return false };
        match BASE64.decode(encoded.as_bytes()) {
            Ok(tag) => hmac::verify(&self.0, message, &tag).is_ok(),
            Err(_) => false,
        }
    }
}

/// Returns the bytes that a signature covers.
fn signed(id: &str, timestamp: &str, body: &[u8]) -> Vec<u8> {
    [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat()
}
