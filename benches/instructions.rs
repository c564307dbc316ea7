//! How many instructions the paths that are run most take: the same number on a busy machine and on an idle one.
//!
//! ```sh
//! sh scripts/instructions.sh     # installs what is missing, then runs this
//! ```
//!
//! Each path may take a few per cent more than it took when its figure was written down; beyond that the run fails. A
//! change that needs more on purpose raises the figure and says why, one that needs less lowers it. Counted is one thread; what an
//! index hands to others while it is opened or written is not.

#![allow(missing_docs, reason = "gungraun's macros make undocumented items")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

mod corpus;
mod indexed;

use std::hint::black_box;
use std::path::Path;

use cuebase::ingest::extract;
use cuebase::memory::conversation::Conversation;
use cuebase::memory::draft::Draft;
use cuebase::memory::files;
use cuebase::model::StaticTable;
use cuebase::text::steps::Steps;
use cuebase_retrieval::{Change, Filter, Index, Outcome, Snapshot};
use cuebase_storage::memory_file::MemoryFile;
use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind, LibraryBenchmarkConfig};
use indexed::{Asked, conversation, filled, memories_of, open, puts, questions, rare};
use jiff::Timestamp;

/// Enough for the cue arm to look at sketches first.
const CUES: usize = 20_000;
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/instructions");

const CUE: &str = "Melanie: We painted a sunset over the lake with the kids and framed it for the hallway last week.";

/// Runs differ by a thousandth, C libraries by more.
const TOLERANCE_PER_CENT: u64 = 5;

/// The limit of a path that took so many thousand instructions when this was written.
fn took(thousands: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(Callgrind::default().hard_limits([(EventKind::Ir, thousands * 10 * (100 + TOLERANCE_PER_CENT))]));
    config
}

fn table() -> &'static StaticTable {
    StaticTable::built_in().expect("the table is whole")
}

/// Makes the index that the benches open; not counted.
fn prepare() {
    let folder = Path::new(FOLDER);
    if folder.exists() {
        std::fs::remove_dir_all(folder).expect("is removed");
    }
    filled(folder, CUES, table());
}

struct Ready {
    // Open while its snapshot is searched.
    _index: Index,
    snapshot: std::sync::Arc<Snapshot>,
    asked: Asked,
    filter: Filter,
}

/// An index that has answered once, and a question.
fn ready(filter: Filter) -> Ready {
    let index = open(Path::new(FOLDER), table());
    let snapshot = index.published().load_full();
    let mut asked = questions(2, table());
    let ready = Ready { _index: index, snapshot, asked: asked.remove(0), filter };
    search(&ready);
    Ready { asked: asked.remove(0), ..ready }
}

fn search(ready: &Ready) -> Outcome {
    indexed::search(&ready.snapshot, &ready.asked, &ready.filter, false)
}

#[library_benchmark(config = took(359))]
#[bench::a_cue(table())]
fn embed(table: &StaticTable) -> Vec<f32> {
    black_box(table.vector(black_box(CUE)))
}

/// A conversation, once the lists of words and phrases have been read: that is done once in a process.
fn to_extract() -> Conversation {
    let (conversation, _) = drafts_of(conversation(1));
    conversation
}

#[library_benchmark(config = took(2870))]
#[bench::twenty_messages(to_extract())]
fn extract_drafts(conversation: Conversation) -> (Conversation, Vec<Draft>) {
    drafts_of(conversation)
}

fn drafts_of(conversation: Conversation) -> (Conversation, Vec<Draft>) {
    let steps = Steps::unlimited();
    let drafts = extract::extract(black_box(&conversation), Timestamp::UNIX_EPOCH, &steps).expect("nothing interrupts");
    (conversation, drafts)
}

/// The file of a memory.
fn file() -> String {
    let conversation = conversation(1);
    let now = Timestamp::UNIX_EPOCH;
    let drafts = extract::extract(&conversation, now, &Steps::unlimited()).expect("nothing interrupts");
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
#[bench::one_in_a_hundred(args = (rare()), setup = ready, config = took(2297))]
fn search_20_000_cues(ready: Ready) -> (Ready, Outcome) {
    let outcome = search(black_box(&ready));
    (ready, outcome)
}

struct Changing {
    index: Index,
    changes: Vec<Change>,
    _folder: tempfile::TempDir,
}

/// A copy of the index, and a conversation to put into it.
fn to_change() -> Changing {
    let folder = tempfile::tempdir().expect("temporary directory");
    for file in std::fs::read_dir(FOLDER).expect("is there") {
        let file = file.expect("is there").path();
        std::fs::copy(&file, folder.path().join(file.file_name().expect("a file"))).expect("copies");
    }
    Changing {
        index: open(folder.path(), table()),
        changes: puts(memories_of(&conversation(1_000_000), table())),
        _folder: folder,
    }
}

#[library_benchmark(config = took(14413))]
#[bench::twenty_messages(to_change())]
fn apply(mut ready: Changing) -> Changing {
    ready.index.apply(std::mem::take(&mut ready.changes), "new").expect("applies");
    ready
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
