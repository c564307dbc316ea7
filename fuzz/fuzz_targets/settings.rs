//! Fuzz target of the parser `settings`. Run it with `sh scripts/fuzz.sh settings`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("settings").enter)(bytes));
