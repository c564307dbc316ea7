//! Entry points for bytes from outside. Each file handles one kind of input and checks what must hold for any bytes.
//!
//! Two callers share these functions. The targets in `fuzz_targets` search for inputs that reach new code (nightly
//! toolchain). `tests/parsers.rs` mutates the seeds at random (stable toolchain, in the test suite).

mod answers;
mod api;
mod credentials;
mod documents;
mod files;
mod git_requests;
mod history;
mod imports;
mod index;
mod markdown;
mod notifications;
mod records;
mod settings;
mod statements;
mod words;

use std::path::Path;

/// Inputs per parser in the test suite.
const INPUTS: u32 = 300;

/// A kind of input.
pub(crate) struct Parser {
    /// Name of the parser, of its fuzz target and of its folder of seeds.
    pub(crate) name: &'static str,
    /// Parses an input. Panics if a condition does not hold.
    pub(crate) enter: fn(&[u8]),
    /// Number of inputs in the test suite; lower for slow parsers.
    pub(crate) inputs: u32,
    /// Generates seeds in formats that may change, so they are not checked in.
    pub(crate) generate_seeds: fn() -> Vec<Vec<u8>>,
}

/// All parsers.
pub(crate) const PARSERS: [Parser; 16] = [
    parser("answers", answers::enter),
    parser("api", api::enter),
    Parser { name: "credentials", enter: credentials::enter, inputs: INPUTS, generate_seeds: credentials::seeds },
    Parser { name: "documents", enter: documents::enter, inputs: INPUTS, generate_seeds: documents::seeds },
    Parser { name: "git_requests", enter: git_requests::enter, inputs: INPUTS, generate_seeds: git_requests::seeds },
    Parser { name: "history", enter: history::enter, inputs: INPUTS, generate_seeds: history::seeds },
    parser("imports", imports::enter),
    Parser { name: "index", enter: index::enter, inputs: INPUTS, generate_seeds: index::seeds },
    parser("markdown", markdown::enter),
    parser("memory_file", files::memory),
    Parser { name: "notifications", enter: notifications::enter, inputs: INPUTS, generate_seeds: notifications::seeds },
    Parser { inputs: 40, ..parser("records", records::enter) },
    parser("settings", settings::enter),
    parser("statements", statements::enter),
    parser("term_file", files::term),
    parser("words", words::enter),
];

const fn parser(name: &'static str, enter: fn(&[u8])) -> Parser {
    Parser { name, enter, inputs: INPUTS, generate_seeds: Vec::new }
}

/// Returns the parser with a name.
pub(crate) fn named(name: &str) -> &'static Parser {
    static ALL: [Parser; PARSERS.len()] = PARSERS;
    ALL.iter().find(|parser| parser.name == name).expect("a parser of that name")
}

impl Parser {
    /// Returns the checked-in seeds in `seeds/<name>` and the generated seeds.
    pub(crate) fn seeds(&self) -> Vec<Vec<u8>> {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/")).join(seed_folder(self.name));
        let mut paths: Vec<_> = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
        paths.sort();
        let mut seeds = Vec::new();
        for path in paths {
            seeds.push(std::fs::read(path).expect("a seed is read"));
        }
        seeds.extend((self.generate_seeds)());
        seeds
    }
}

/// Returns the folder of a parser's seeds, relative to the project's root.
fn seed_folder(name: &str) -> String {
    format!("fuzz/seeds/{name}")
}

/// Creates a temporary folder for the files of an input. It is in memory if possible, because all writes are synced.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a temporary folder")
}
