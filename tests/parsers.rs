//! Parsers of external input, called with randomly mutated seeds: the entry points of `fuzz/parsers` on the stable
//! toolchain.
//!
//! Each parser gets a few hundred inputs, or as many as it handles in `CUEBASE_FUZZ_SECONDS`. Inputs are the checked-in
//! seeds with bytes flipped, removed or duplicated, and with texts inserted that often break parsers.

#[path = "../fuzz/parsers/mod.rs"]
mod parsers;

use std::cell::Cell;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

/// Longest input that a `Double` edit extends.
const INPUT_BYTES_MAX: usize = 1 << 20;
/// Texts that often break parsers.
const TROUBLESOME_TEXTS: [&str; 32] = [
    "\0",
    "\r\n",
    "\n\n",
    "\u{feff}",
    "\u{202e}",
    "\u{0301}",
    "ﷺ",
    "👩‍👩‍👧",
    "İ",
    "ß",
    "%00",
    "%2e%2e%2f",
    "../",
    "//",
    "\\",
    "\"",
    "null",
    "true",
    "[[[[[[[[",
    "{\"a\":",
    "-1",
    "1e999",
    "NaN",
    "9223372036854775808",
    "18446744073709551616",
    "0000-00-00",
    "9999-12-31T23:59:60Z",
    "---\n",
    "&a *a",
    "!!binary",
    "[[x]](y \"",
    "<script>",
];

/// A change to an input.
#[derive(Clone, Debug)]
enum Edit {
    Flip(Index, u8),
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    InsertTroublesome(Index, Index),
    Remove(Index, usize),
    Double(Index, usize),
    /// Replaces everything from a position on with the bytes of another seed from the same position.
    Splice(Index, Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        (at(), 0u8..8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        (at(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        (at(), prop::collection::vec(any::<u8>(), 1..8)).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (at(), at()).prop_map(|(at, which)| Edit::InsertTroublesome(at, which)),
        (at(), 1usize..64).prop_map(|(at, bytes)| Edit::Remove(at, bytes)),
        (at(), 1usize..256).prop_map(|(at, bytes)| Edit::Double(at, bytes)),
        (at(), at()).prop_map(|(at, which)| Edit::Splice(at, which)),
    ]
}

fn mutated(seeds: &[Vec<u8>], seed: Index, edits: &[Edit]) -> Vec<u8> {
    let mut input = seed.get(seeds).clone();
    for edit in edits {
        let place = |at: &Index| at.index(input.len() + 1);
        match edit {
            Edit::Flip(at, bit) if !input.is_empty() => {
                let at = at.index(input.len());
                input[at] ^= 1 << bit;
            }
            Edit::Set(at, byte) if !input.is_empty() => {
                let at = at.index(input.len());
                input[at] = *byte;
            }
            Edit::Flip(..) | Edit::Set(..) => {}
            Edit::Insert(at, bytes) => drop(input.splice(place(at)..place(at), bytes.iter().copied())),
            Edit::InsertTroublesome(at, which) => {
                let (at, bytes) = (place(at), which.get(&TROUBLESOME_TEXTS).bytes());
                drop(input.splice(at..at, bytes));
            }
            Edit::Remove(at, bytes) => {
                let at = place(at);
                input.drain(at..(at + bytes).min(input.len()));
            }
            Edit::Double(at, bytes) if input.len() < INPUT_BYTES_MAX => {
                let at = place(at);
                let part = input[at..(at + bytes).min(input.len())].to_vec();
                drop(input.splice(at..at, part));
            }
            Edit::Double(..) => {}
            Edit::Splice(at, which) => {
                let at = place(at);
                let other = which.get(seeds);
                input.truncate(at);
                input.extend_from_slice(other.get(at..).unwrap_or_default());
            }
        }
    }
    input
}

/// Returns a strategy of random bytes and mutated seeds.
fn inputs(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let any_bytes = prop::collection::vec(any::<u8>(), 0..200);
    let edited = (any::<Index>(), prop::collection::vec(edit(), 1..8));
    let edited = edited.prop_map(move |(seed, edits)| mutated(&seeds, seed, &edits));
    prop_oneof![1 => any_bytes, 12 => edited]
}

fn check_parser(name: &str) {
    let parser = parsers::named(name);
    let seeds = parser.seeds();
    assert!(!seeds.is_empty(), "{name} has no seeds");
    seeds.iter().for_each(|seed| (parser.enter)(seed));
    let time = std::env::var("CUEBASE_FUZZ_SECONDS").ok().map(|text| text.parse().expect("a number of seconds"));
    let deadline = time.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let (strategy, tried) = (inputs(seeds), Cell::new(0u64));
    let config = Config { cases: parser.inputs, failure_persistence: None, ..Config::default() };
    loop {
        let ran = TestRunner::new(config.clone()).run(&strategy, |input| {
            tried.set(tried.get() + 1);
            (parser.enter)(&input);
            Ok(())
        });
        if let Err(error) = ran {
            panic!("{name}: {error}");
        }
        if deadline.is_none_or(|deadline| Instant::now() >= deadline) {
            break;
        }
    }
    println!("{name}: {} inputs", tried.get());
}

macro_rules! parser_tests {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check_parser(stringify!($name));
        })*

        #[test]
        fn every_parser_has_a_test() {
            assert_eq!(parsers::PARSERS.map(|parser| parser.name), [$(stringify!($name)),*]);
        }
    };
}

parser_tests! {
    answers api credentials documents git_requests history imports index markdown memory_file notifications records
    settings statements term_file words
}

/// Writes all seeds, also the generated ones, to the folder in `CUEBASE_FUZZ_CORPUS`, where the fuzzer starts. Without the
/// variable it writes to a temporary folder.
#[test]
fn seeds_are_handed_to_the_fuzzer() {
    let own = tempfile::tempdir().expect("temporary directory");
    let folder = std::env::var("CUEBASE_FUZZ_CORPUS").map_or_else(|_| own.path().to_path_buf(), Into::into);
    for parser in &parsers::PARSERS {
        let into = folder.join(parser.name);
        std::fs::create_dir_all(&into).expect("creates");
        let seeds = parser.seeds();
        assert!(!seeds.is_empty(), "{} has no seeds", parser.name);
        for (number, seed) in seeds.iter().enumerate() {
            std::fs::write(into.join(format!("seed-{number}")), seed).expect("writes");
        }
        let written = std::fs::read_dir(&into).expect("reads").filter_map(Result::ok);
        let ours = written.filter(|file| file.file_name().to_string_lossy().starts_with("seed-")).count();
        assert!(ours >= seeds.len(), "{} of {} seeds for {}", ours, seeds.len(), parser.name);
    }
}
