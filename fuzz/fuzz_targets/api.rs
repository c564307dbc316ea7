//! Fuzz target of the parser `api`. Run it with `sh scripts/fuzz.sh api`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("api").enter)(bytes));
