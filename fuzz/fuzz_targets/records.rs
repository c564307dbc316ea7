//! Fuzz target of the parser `records`. Run it with `sh scripts/fuzz.sh records`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("records").enter)(bytes));
