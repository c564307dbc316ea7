//! A request's body, query string and credential: read or refused, never a panic.
//!
//! `cargo +nightly fuzz run request`

#![no_main]

use cuebase::api::{memories, query::QueryString, retrieve};
use cuebase::gateway::credentials::KeyText;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(serde_json::Value::Object(body)) = serde_json::from_slice(bytes) {
        let _ = memories::conversation(&body);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = retrieve::request(&QueryString::parse(text));
        let _ = KeyText::parse(text);
    }
});
