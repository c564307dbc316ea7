//! Where bytes from outside enter: one file a kind of input, each with what must hold whatever the bytes are.
//!
//! The same functions are called by the fuzz targets beside this folder, which look for inputs that take new paths
//! (nightly toolchain), and by `tests/parsers.rs`, which changes the seeds at random (stable toolchain, in the suite).

mod answers;
mod api;
mod credentials;
mod files;
mod git_requests;
mod history;
mod index;
mod markdown;
mod notifications;
mod records;
mod settings;
mod statements;
mod words;

use std::path::Path;

const INPUTS: u32 = 300;

/// A kind of input.
pub(crate) struct Parser {
    /// Its name, which is also that of its fuzz target and of its folder of seeds.
    pub(crate) name: &'static str,
    /// Takes an input in; panics where what must hold does not.
    pub(crate) enter: fn(&[u8]),
    /// How many inputs the suite tries; fewer where each takes long.
    pub(crate) inputs: u32,
    /// Seeds that are made rather than kept, since their format is ours to change.
    pub(crate) made: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub(crate) const PARSERS: [Parser; 14] = [
    parser("answers", answers::enter),
    parser("api", api::enter),
    Parser { name: "credentials", enter: credentials::enter, inputs: INPUTS, made: credentials::seeds },
    Parser { name: "git_requests", enter: git_requests::enter, inputs: INPUTS, made: git_requests::seeds },
    Parser { name: "history", enter: history::enter, inputs: INPUTS, made: history::seeds },
    Parser { name: "index", enter: index::enter, inputs: INPUTS, made: index::seeds },
    parser("markdown", markdown::enter),
    parser("memory_file", files::memory),
    Parser { name: "notifications", enter: notifications::enter, inputs: INPUTS, made: notifications::seeds },
    Parser { inputs: 40, ..parser("records", records::enter) },
    parser("settings", settings::enter),
    parser("statements", statements::enter),
    parser("term_file", files::term),
    parser("words", words::enter),
];

const fn parser(name: &'static str, enter: fn(&[u8])) -> Parser {
    Parser { name, enter, inputs: INPUTS, made: Vec::new }
}

/// The parser of that name.
pub(crate) fn named(name: &str) -> &'static Parser {
    static ALL: [Parser; PARSERS.len()] = PARSERS;
    ALL.iter().find(|parser| parser.name == name).expect("a parser of that name")
}

impl Parser {
    /// Its seeds: those kept in `seeds/<name>` and those that are made.
    pub(crate) fn seeds(&self) -> Vec<Vec<u8>> {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/")).join(kept(self.name));
        let mut paths: Vec<_> = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
        paths.sort();
        let kept = paths.iter().map(|path| std::fs::read(path).expect("a seed is read"));
        kept.chain((self.made)()).collect()
    }
}

/// Where the seeds of a name are, from the project's root.
fn kept(name: &str) -> String {
    format!("fuzz/seeds/{name}")
}

/// A folder for what an input has to be put into; in memory where the system has such a place, since all is synced.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a temporary folder")
}
