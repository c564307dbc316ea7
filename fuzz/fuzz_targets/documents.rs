//! Fuzz target of the parser `documents`. Run it with `sh scripts/fuzz.sh documents`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("documents").enter)(bytes));
