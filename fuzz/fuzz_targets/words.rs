//! Fuzz target of the parser `words`. Run it with `sh scripts/fuzz.sh words`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("words").enter)(bytes));
