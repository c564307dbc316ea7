//! Instruction counts of the most frequent paths. Unlike durations, they are the same on a busy and on an idle machine.
//!
//! ```sh
//! sh scripts/instructions.sh     # installs what is missing, then runs this bench
//! ```
//!
//! The run fails if a path takes more than its recorded figure and a tolerance of a few per cent. A change that needs
//! more instructions on purpose raises the figure and explains why; a change that needs fewer lowers it. Only one
//! thread is counted: work that an index hands to other threads while it is opened or written is not.

#![allow(missing_docs, reason = "gungraun's macros make undocumented items")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

mod corpus;
mod indexed;

use std::hint::black_box;
use std::path::Path;

use cuebase::ingest::extraction;
use cuebase::memory::conversation::Conversation;
use cuebase::memory::files;
use cuebase::model::StaticTable;
use cuebase_language::extract::draft::Draft;
use cuebase_language::text::steps::Steps;
use cuebase_retrieval::{Change, Filter, Index, SearchResults, Snapshot};
use cuebase_storage::memory_file::MemoryFile;
use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind, LibraryBenchmarkConfig};
use indexed::{Question, conversation, filled, memories_of, no_commit, open, puts, questions, rare};
use jiff::Timestamp;

/// Enough for the cue arm to scan sketches.
const CUES: usize = 20_000;
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/instructions");

const CUE: &str = "Melanie: We painted a sunset over the lake with the kids and framed it for the hallway last week.";

/// Runs differ by a thousandth, versions of the C library by more.
const TOLERANCE_PER_CENT: u64 = 5;

/// Returns the limit for a path that took this many thousand instructions when the figure was recorded.
fn took(thousands: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(Callgrind::default().hard_limits([(EventKind::Ir, thousands * 10 * (100 + TOLERANCE_PER_CENT))]));
    config
}

fn table() -> &'static StaticTable {
    StaticTable::built_in().expect("the table is whole")
}

/// Builds the index that the benches open; not counted.
fn prepare() {
    let folder = Path::new(FOLDER);
    if folder.exists() {
        std::fs::remove_dir_all(folder).expect("is removed");
    }
    filled(folder, CUES, table());
}

struct Ready {
    // Kept open while its snapshot is searched.
    _index: Index,
    snapshot: std::sync::Arc<Snapshot>,
    question: Question,
    filter: Filter,
}

/// Returns an index that has answered one question, and a second question.
fn ready(filter: Filter) -> Ready {
    let index = open(Path::new(FOLDER), table());
    let snapshot = index.published().load_full();
    let mut questions = questions(2, table());
    let ready = Ready { _index: index, snapshot, question: questions.remove(0), filter };
    search(&ready);
    Ready { question: questions.remove(0), ..ready }
}

fn search(ready: &Ready) -> SearchResults {
    indexed::search(&ready.snapshot, &ready.question, &ready.filter, false)
}

#[library_benchmark(config = took(29))]
#[bench::a_cue(table())]
fn embed(table: &StaticTable) -> Vec<f32> {
    black_box(table.vector(black_box(CUE)))
}

/// Returns a conversation after a first extraction, which reads the lists of words and phrases once per process.
fn to_extract() -> Conversation {
    let (conversation, _) = drafts_of(conversation(1));
    conversation
}

// Claims take a third of this, and the marks of corrections and standing facts a quarter.
#[library_benchmark(config = took(9_552))]
#[bench::twenty_messages(to_extract())]
fn extract_drafts(conversation: Conversation) -> (Conversation, Vec<Draft>) {
    drafts_of(conversation)
}

fn drafts_of(conversation: Conversation) -> (Conversation, Vec<Draft>) {
    let steps = Steps::unlimited();
    let extracted =
        extraction::extract(black_box(&conversation), Timestamp::UNIX_EPOCH, &steps).expect("nothing interrupts");
    (conversation, extracted.drafts)
}

/// Returns the text of a memory's file.
fn file() -> String {
    let conversation = conversation(1);
    let now = Timestamp::UNIX_EPOCH;
    let drafts = extraction::extract(&conversation, now, &Steps::unlimited()).expect("nothing interrupts").drafts;
    let paths: Vec<String> = (0..drafts.len()).map(|n| format!("events/{n}.md")).collect();
    files::of_draft(&drafts[0], &paths, &conversation, now).render().expect("renders")
}

#[library_benchmark(config = took(272))]
#[bench::a_memory(file())]
fn parse_and_render(text: String) -> String {
    let file = MemoryFile::parse(black_box(text.as_bytes())).expect("is a memory's file");
    black_box(file.render().expect("renders"))
}

#[library_benchmark]
#[bench::everything(args = (Filter::default()), setup = ready, config = took(8673))]
#[bench::one_in_a_hundred(args = (rare()), setup = ready, config = took(2185))]
fn search_20_000_cues(ready: Ready) -> (Ready, SearchResults) {
    let outcome = search(black_box(&ready));
    (ready, outcome)
}

struct PendingChanges {
    index: Index,
    changes: Vec<Change>,
    _folder: tempfile::TempDir,
}

/// Returns a copy of the index and the changes of one conversation.
fn to_change() -> PendingChanges {
    let folder = tempfile::tempdir().expect("temporary directory");
    for file in std::fs::read_dir(FOLDER).expect("is there") {
        let file = file.expect("is there").path();
        std::fs::copy(&file, folder.path().join(file.file_name().expect("a file"))).expect("copies");
    }
    PendingChanges {
        index: open(folder.path(), table()),
        changes: puts(memories_of(&conversation(1_000_000), table())),
        _folder: folder,
    }
}

#[library_benchmark(config = took(5441))]
#[bench::twenty_messages(to_change())]
fn apply(mut pending: PendingChanges) -> PendingChanges {
    pending.index.apply(std::mem::take(&mut pending.changes), no_commit()).expect("applies");
    pending
}

library_benchmark_group!(
    name = paths,
    benchmarks = [embed, extract_drafts, parse_and_render, search_20_000_cues, apply]
);

main!(
    config = LibraryBenchmarkConfig::default().env("RAYON_NUM_THREADS", "1"),
    setup = prepare(),
    library_benchmark_groups = paths
);
