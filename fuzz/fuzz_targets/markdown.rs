//! Fuzz target of the parser `markdown`. Run it with `sh scripts/fuzz.sh markdown`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("markdown").enter)(bytes));
