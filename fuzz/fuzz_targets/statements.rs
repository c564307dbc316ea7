//! Fuzz target of the parser `statements`. Run it with `sh scripts/fuzz.sh statements`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("statements").enter)(bytes));
