//! Fuzz target of the parser `notifications`. Run it with `sh scripts/fuzz.sh notifications`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("notifications").enter)(bytes));
