//! Fuzz target of the parser `credentials`. Run it with `sh scripts/fuzz.sh credentials`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("credentials").enter)(bytes));
