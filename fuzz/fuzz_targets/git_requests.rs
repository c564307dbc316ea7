//! Fuzz target of the parser `git_requests`. Run it with `sh scripts/fuzz.sh git_requests`.

#![no_main]

#[path = "../parsers/mod.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (parsers::named("git_requests").enter)(bytes));
