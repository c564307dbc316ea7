//! Fuzz target of the parser `history`. Run it with `sh scripts/fuzz.sh history`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("history").enter)(bytes));
