//! Retrieval in process, at 10,000, 100,000 and 1,000,000 cues: each arm, and the whole of a search.
//!
//! ```sh
//! cargo bench --bench engine                                  # 10,000 and 100,000 cues
//! CUEBASE_BENCH_CUES=1000000 cargo bench --bench engine       # sizes of one's own, with commas between
//! ```
//!
//! An arm's time is what the engine says of itself, so that arms that run side by side are told apart. Before the times
//! stands the recall of the cue arm's fast way against comparing every row.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

mod corpus;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use corpus::Corpus;
use criterion::{Criterion, criterion_group, criterion_main};
use cuebase::api::memories::conversation;
use cuebase::ingest::{extract, files};
use cuebase::model::{Embedder, StaticTable, index_settings};
use cuebase_retrieval::{Change, Filter, Index, Outcome, Query, Snapshot};
use cuebase_storage::memory_file::MemoryPath;
use jiff::Timestamp;
use rayon::prelude::*;
use serde_json::json;

const MESSAGES: usize = 20;
const QUERIES: usize = 200;
/// One conversation in so many has the tag that the filter asks for.
const TAGGED: usize = 100;

/// A part's time.
type TimeOf = fn(&Outcome) -> Duration;

/// The changes of one conversation, and how many cues they hold.
fn changes(number: usize, table: &StaticTable) -> (Vec<Change>, usize) {
    let mut corpus = Corpus::new(number as u64 + 7);
    let messages: Vec<_> = corpus
        .conversation(MESSAGES)
        .into_iter()
        .map(|(name, text)| json!({"role": "user", "name": name, "content": text}))
        .collect();
    let tags = if number.is_multiple_of(TAGGED) { json!(["rare"]) } else { json!([]) };
    let body = json!({"session_id": format!("s{number}"), "tags": tags, "messages": messages});
    let conversation = conversation(body.as_object().expect("an object")).expect("valid");
    let now = Timestamp::UNIX_EPOCH;
    let drafts = extract::extract(&conversation, now);
    let paths: Vec<String> = (0..drafts.len()).map(|n| format!("{}/s{number}/{n}.md", drafts[n].tier.name())).collect();
    let mut cues = 0;
    let change = |(draft, path): (&extract::Draft, &String)| {
        let file = files::of_draft(draft, &paths, &conversation, now);
        let path: MemoryPath = path.parse().expect("a memory's path");
        let memory = files::to_memory(&path, file, table);
        cues += memory.cues.len();
        Change::Put(Box::new(memory))
    };
    (drafts.iter().zip(&paths).map(change).collect(), cues)
}

fn filled(folder: &std::path::Path, cues: usize, table: &'static StaticTable) -> Index {
    let mut index = Index::open(folder, index_settings(table).expect("the table is whole")).expect("opens");
    let began = Instant::now();
    let (mut held, mut conversations) = (0, 0);
    while held < cues {
        let next = (cues - held).div_ceil(2 * MESSAGES).clamp(1, 1000);
        let made: Vec<_> = (conversations..conversations + next).into_par_iter().map(|n| changes(n, table)).collect();
        held += made.iter().map(|(_, cues)| cues).sum::<usize>();
        let all = made.into_iter().flat_map(|(changes, _)| changes).collect();
        conversations += next;
        index.apply(all, &conversations.to_string()).expect("applies");
    }
    println!("{held} cues of {} memories indexed in {:.1} s", index.memories(), began.elapsed().as_secs_f64());
    index
}

struct Asked {
    text: String,
    vector: Vec<f32>,
}

fn search(snapshot: &Snapshot, asked: &Asked, filter: &Filter, exact: bool) -> Outcome {
    let query = Query {
        text: &asked.text,
        synonyms: &[],
        vector: Some(&asked.vector),
        filter,
        min_score: 0.0,
        limit: 24,
        now: 0,
        exact,
    };
    snapshot.search(&query).expect("searches")
}

/// How many of the hits of comparing every row the fast way finds.
fn recall(snapshot: &Snapshot, asked: &[Asked]) -> f64 {
    let everything = Filter::default();
    let paths = |asked: &Asked, exact| -> HashSet<String> {
        let hits = search(snapshot, asked, &everything, exact).hits;
        hits.into_iter().map(|hit| hit.memory.path).collect()
    };
    let (mut found, mut wanted) = (0, 0);
    for asked in asked {
        let exact = paths(asked, true);
        wanted += exact.len();
        found += exact.intersection(&paths(asked, false)).count();
    }
    found as f64 / wanted.max(1) as f64
}

fn engine(criterion: &mut Criterion) {
    let table = StaticTable::built_in().expect("the table is whole");
    let cue = "Melanie: We painted a sunset over the lake with the kids and framed it for the hallway last week.";
    criterion.bench_function("embed a cue of 19 words", |bench| bench.iter(|| table.embed(cue)));

    let sizes = std::env::var("CUEBASE_BENCH_CUES").unwrap_or_else(|_| "10000,100000".into());
    for size in sizes.split(',').filter_map(|size| size.trim().parse::<usize>().ok()) {
        let folder = tempfile::tempdir().expect("temporary directory");
        let index = filled(folder.path(), size, table);
        let snapshot = index.published().load_full();
        let mut corpus = Corpus::new(3);
        let asked: Vec<Asked> = (0..QUERIES)
            .map(|_| {
                let text = corpus.question();
                Asked { vector: table.embed(&text), text }
            })
            .collect();
        println!("{size} cues: {:.4} of the exact way's hits are found", recall(&snapshot, &asked));
        let rare = Filter { tags_any: vec!["rare".into()], ..Filter::default() };
        let arms: [(&str, TimeOf); 4] = [
            ("cue arm", |outcome| outcome.vector),
            ("lexical arm", |outcome| outcome.lexical),
            ("graph arm and ranking", |outcome| outcome.graph),
            ("search", |outcome| outcome.whole),
        ];
        let mut group = criterion.benchmark_group(format!("{size} cues"));
        let everything = Filter::default();
        let rows = arms.map(|(name, time)| (name.to_owned(), time, &everything));
        let filtered = arms.map(|(name, time)| (format!("{name}, filter of 1 %"), time, &rare));
        for (name, time, filter) in rows.into_iter().chain(filtered) {
            group.bench_function(name, |bench| {
                let mut next = asked.iter().cycle();
                bench.iter_custom(|times| {
                    let queries = next.by_ref().take(times as usize);
                    queries.map(|asked| time(&search(&snapshot, asked, filter, false))).sum()
                });
            });
        }
        group.bench_function("search by 20 threads at once, each", |bench| {
            bench.iter_custom(|times| {
                let began = Instant::now();
                std::thread::scope(|scope| {
                    for thread in 0..20 {
                        let (asked, snapshot, everything) = (&asked, &snapshot, &everything);
                        let share = times as usize / 20 + usize::from(thread < times as usize % 20);
                        scope.spawn(move || {
                            for asked in asked.iter().cycle().skip(thread * 7).take(share) {
                                search(snapshot, asked, everything, false);
                            }
                        });
                    }
                });
                began.elapsed()
            });
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(4));
    targets = engine
}
criterion_main!(benches);
