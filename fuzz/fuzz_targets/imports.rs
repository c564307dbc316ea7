//! Fuzz target of the parser `imports`. Run it with `sh scripts/fuzz.sh imports`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("imports").enter)(bytes));
