//! Fuzz target of the parser `answers`. Run it with `sh scripts/fuzz.sh answers`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("answers").enter)(bytes));
