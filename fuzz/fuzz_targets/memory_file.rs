//! Fuzz target of the parser `memory_file`. Run it with `sh scripts/fuzz.sh memory_file`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("memory_file").enter)(bytes));
