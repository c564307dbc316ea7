//! Fuzz target of the parser `index`. Run it with `sh scripts/fuzz.sh index`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("index").enter)(bytes));
