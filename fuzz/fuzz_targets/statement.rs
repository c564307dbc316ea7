//! A message's text through the extractor: statements, dates, names, cues; the wording is kept.
//!
//! `cargo +nightly fuzz run statement`

#![no_main]

use cuebase::ingest::extract;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let body = serde_json::json!({"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": text}]});
    let body = body.as_object().expect("an object");
    let Ok(conversation) = cuebase::api::memories::conversation(body) else { return };
    for draft in extract::extract(&conversation, jiff::Timestamp::UNIX_EPOCH) {
        assert!(draft.body.starts_with("# "));
        assert!(!draft.cues.is_empty());
    }
});
