//! Retrieval in process with 10,000, 100,000 or 1,000,000 cues: the duration of each arm and of a whole search.
//!
//! ```sh
//! cargo bench --bench engine                                  # 10,000 and 100,000 cues
//! CUEBASE_BENCH_CUES=1000000 cargo bench --bench engine       # other sizes, separated by commas
//! ```
//!
//! The engine reports each arm's duration, because the arms run in parallel. The cue arm is also measured alone on all
//! cores, as its floor is. The recall of the sketch scan against comparing every row is printed before the durations.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

mod corpus;
mod indexed;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use cuebase::model::{StaticTable, index_settings};
use cuebase_retrieval::{Filter, SearchResults, Snapshot};
use indexed::{Question, filled, questions, rare, search};
use rayon::prelude::*;

const QUERIES: usize = 200;

/// Returns the duration of one part of a search.
type TimeOf = fn(&SearchResults) -> Duration;

/// Returns the share of the exact search's hits that the sketch scan also finds.
fn recall(snapshot: &Snapshot, questions: &[Question]) -> f64 {
    let (mut found, mut wanted) = (0, 0);
    for question in questions {
        let exact = hit_paths(snapshot, question, true);
        wanted += exact.len();
        found += exact.intersection(&hit_paths(snapshot, question, false)).count();
    }
    found as f64 / wanted.max(1) as f64
}

fn hit_paths(snapshot: &Snapshot, question: &Question, exact: bool) -> HashSet<String> {
    let hits = search(snapshot, question, &Filter::default(), exact).hits;
    hits.into_iter().map(|hit| hit.memory.path).collect()
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
        let questions = questions(QUERIES, table);
        let mut without_words = questions.clone();
        without_words.iter_mut().for_each(|question| question.text.clear());
        // The worst case: the whole corpus is dated to the first day of the epoch, so most memories are within this time.
        let mut dated = questions.clone();
        dated.iter_mut().for_each(|question| question.times = std::iter::once(0..86_400_000).collect());
        println!("{size} cues: {:.4} of the exact search's hits are found", recall(&snapshot, &questions));
        let rare = rare();
        let arms: [(&str, TimeOf); 4] = [
            ("cue arm", |outcome| outcome.vector_time),
            ("lexical arm", |outcome| outcome.lexical_time),
            ("graph arm and ranking", |outcome| outcome.graph_time),
            ("search", |outcome| outcome.total_time),
        ];
        let mut group = criterion.benchmark_group(format!("{size} cues"));
        let everything = Filter::default();
        let unfiltered = arms.map(|(name, time)| (name.to_owned(), time, &everything, &questions));
        let filtered = arms.map(|(name, time)| (format!("{name}, filter of 1 %"), time, &rare, &questions));
        let cue_arm_alone = ("cue arm by itself".to_owned(), arms[0].1, &everything, &without_words);
        let time_named = ("search, a time named".to_owned(), arms[3].1, &everything, &dated);
        for (name, time, filter, questions) in unfiltered.into_iter().chain(filtered).chain([cue_arm_alone, time_named])
        {
            group.bench_function(name, |bench| {
                let mut next = questions.iter().cycle();
                // On a thread of the pool, as in the server.
                bench.iter_custom(|times| {
                    searchers.install(|| {
                        let questions = next.by_ref().take(times as usize);
                        questions.map(|question| time(&search(&snapshot, question, filter, false))).sum::<Duration>()
                    })
                });
            });
        }
        measure_floor(&mut group, &searchers, size * index_settings(table).expect("the table is whole").dimensions);
        measure_concurrent(&mut group, &snapshot, &questions);
        group.finish();
    }
}

/// Measures the lower limit of the cue arm: reading a sketch of every cue, one bit per dimension.
fn measure_floor(group: &mut BenchmarkGroup<'_, WallTime>, searchers: &rayon::ThreadPool, bits: usize) {
    let sketches = vec![1u64; bits / 64];
    group.bench_function("floor of the cue arm: reading its sketches, on every core", |bench| {
        bench.iter(|| searchers.install(|| read_all(&sketches)));
    });
}

fn read_all(sketches: &[u64]) -> Option<u64> {
    sketches.par_chunks(1 << 16).map(|part| part.iter().fold(0, |sum, word| sum ^ word)).max()
}

/// Measures searches by twenty threads at once.
fn measure_concurrent(group: &mut BenchmarkGroup<'_, WallTime>, snapshot: &Snapshot, questions: &[Question]) {
    let everything = &Filter::default();
    group.bench_function("search by 20 threads at once, each", |bench| {
        bench.iter_custom(|times| {
            let began = Instant::now();
            std::thread::scope(|scope| {
                for thread in 0..20 {
                    let share = times as usize / 20 + usize::from(thread < times as usize % 20);
                    scope.spawn(move || {
                        for question in questions.iter().cycle().skip(thread * 7).take(share) {
                            search(snapshot, question, everything, false);
                        }
                    });
                }
            });
            began.elapsed()
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(4));
    targets = engine
}
criterion_main!(benches);
