//! Fuzz target of the parser `term_file`. Run it with `sh scripts/fuzz.sh term_file`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("term_file").enter)(bytes));
