//! Signatures of notifications, as the Standard Webhooks specification defines them
//! (<https://www.standardwebhooks.com>).

use aws_lc_rs::hmac;
use data_encoding::BASE64;
use jiff::Timestamp;
use zeroize::Zeroizing;

/// How far a notification's clock may be from ours, seconds.
pub const TOLERANCE_SECONDS: i64 = 5 * 60;

/// The longest id.
const ID_BYTES_MAX: usize = 256;

/// A shorter key could be guessed.
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
    /// `whsec_` and base64.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let bytes = BASE64.decode(text.strip_prefix("whsec_").unwrap_or(text).as_bytes());
        let bytes = bytes
            .map(Zeroizing::new)
            .map_err(|_| anyhow::anyhow!("setting payments.webhook_secret is not whsec_ and base64"))?;
        anyhow::ensure!(
            bytes.len() >= KEY_BYTES_MIN,
            "setting payments.webhook_secret holds {} bytes: expected whsec_ and base64 of at least {KEY_BYTES_MIN}",
            bytes.len()
        );
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// A secret from random bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// The signature of a body.
    pub fn sign(&self, id: &str, timestamp: &str, body: &[u8]) -> String {
        let tag = hmac::sign(&self.0, &signed(id, timestamp, body));
        format!("v1,{}", BASE64.encode(tag.as_ref()))
    }

    /// Whether one of the signatures is right and the time is near.
    pub fn verify(&self, headers: &Signature<'_>, body: &[u8], now: Timestamp) -> bool {
        let near = headers.timestamp.parse::<i64>().is_ok_and(|at| (now.as_second() - at).abs() <= TOLERANCE_SECONDS);
        let message = signed(headers.id, headers.timestamp, body);
        let right = |text: &str| {
            let tag = text.strip_prefix("v1,").and_then(|text| BASE64.decode(text.as_bytes()).ok());
            tag.is_some_and(|tag| hmac::verify(&self.0, &message, &tag).is_ok())
        };
        let named = (1..=ID_BYTES_MAX).contains(&headers.id.len());
        near && named && headers.signature.split(' ').any(right)
    }
}

fn signed(id: &str, timestamp: &str, body: &[u8]) -> Vec<u8> {
    [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat()
}
