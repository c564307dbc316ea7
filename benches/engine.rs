//! Retrieval in process, at 10,000, 100,000 and 1,000,000 cues: each arm, and the whole of a search.
//!
//! ```sh
//! cargo bench --bench engine                                  # 10,000 and 100,000 cues
//! CUEBASE_BENCH_CUES=1000000 cargo bench --bench engine       # sizes of one's own, with commas between
//! ```
//!
//! An arm's time is what the engine says of itself, so that arms that run side by side are told apart; the cue arm is also
//! timed by itself, with both cores, as its floor is. Before the times stands the recall of the cue arm's fast way against
//! comparing every row.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

mod corpus;
mod indexed;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use cuebase::model::{StaticTable, index_settings};
use cuebase_retrieval::{Filter, Outcome, Snapshot};
use indexed::{Asked, filled, questions, rare, search};
use rayon::prelude::*;

const QUERIES: usize = 200;

/// A part's time.
type TimeOf = fn(&Outcome) -> Duration;

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
    criterion.bench_function("embed a cue of 19 words", |bench| bench.iter(|| table.vector(cue)));

    let searchers = rayon::ThreadPoolBuilder::new().build().expect("threads");
    let sizes = std::env::var("CUEBASE_BENCH_CUES").unwrap_or_else(|_| "10000,100000".into());
    for size in sizes.split(',').filter_map(|size| size.trim().parse::<usize>().ok()) {
        let folder = tempfile::tempdir().expect("temporary directory");
        let index = filled(folder.path(), size, table);
        let snapshot = index.published().load_full();
        let asked = questions(QUERIES, table);
        let wordless = |asked: &Asked| Asked { text: String::new(), ..asked.clone() };
        let wordless: Vec<Asked> = asked.iter().map(wordless).collect();
        // All of the corpus is told on the first day of all, so most memories are of this time: the most there is to do.
        let dated = |asked: &Asked| Asked { times: std::iter::once(0..86_400_000).collect(), ..asked.clone() };
        let dated: Vec<Asked> = asked.iter().map(dated).collect();
        println!("{size} cues: {:.4} of the exact way's hits are found", recall(&snapshot, &asked));
        let rare = rare();
        let arms: [(&str, TimeOf); 4] = [
            ("cue arm", |outcome| outcome.vector),
            ("lexical arm", |outcome| outcome.lexical),
            ("graph arm and ranking", |outcome| outcome.graph),
            ("search", |outcome| outcome.whole),
        ];
        let mut group = criterion.benchmark_group(format!("{size} cues"));
        let everything = Filter::default();
        let rows = arms.map(|(name, time)| (name.to_owned(), time, &everything, &asked));
        let filtered = arms.map(|(name, time)| (format!("{name}, filter of 1 %"), time, &rare, &asked));
        let by_itself = ("cue arm by itself".to_owned(), arms[0].1, &everything, &wordless);
        let of_a_time = ("search, a time named".to_owned(), arms[3].1, &everything, &dated);
        for (name, time, filter, asked) in rows.into_iter().chain(filtered).chain([by_itself, of_a_time]) {
            group.bench_function(name, |bench| {
                let mut next = asked.iter().cycle();
                let mut ask = |times| {
                    let queries = next.by_ref().take(times as usize);
                    queries.map(|asked| time(&search(&snapshot, asked, filter, false))).sum()
                };
                // On a thread of the pool, as in the server.
                bench.iter_custom(|times| searchers.install(|| ask(times)));
            });
        }
        // What the cue arm cannot do without: reading a sketch of every cue, one bit a dimension.
        let sketches = vec![1u64; size * index_settings(table).expect("the table is whole").dimensions / 64];
        group.bench_function("floor of the cue arm: reading its sketches, on every core", |bench| {
            let read = || sketches.par_chunks(1 << 16).map(|part| part.iter().fold(0, |sum, word| sum ^ word)).max();
            bench.iter(|| searchers.install(read));
        });
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
