//! A request's body, query string, credential and notification's signature: read or refused, never a panic.
//!
//! `cargo +nightly fuzz run request`

#![no_main]

use cuebase::api::{memories, query::QueryString, retrieve};
use cuebase::billing::notifications::{Signature, WebhookSecret};
use cuebase::gateway::credentials::KeyText;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(serde_json::Value::Object(body)) = serde_json::from_slice(bytes) {
        let _ = memories::conversation(&body);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let secret = WebhookSecret::parse("whsec_Y3VlYmFzZQ==").expect("a secret");
        let headers = Signature { id: "x", timestamp: text, signature: text };
        let _ = secret.verify(&headers, bytes, jiff::Timestamp::UNIX_EPOCH);
        let _ = retrieve::request(&QueryString::parse(text));
        let _ = KeyText::parse(text);
    }
});
