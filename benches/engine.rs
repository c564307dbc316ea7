//! The parts of a query in process: embedding a cue, and a search over 10,000 memories.
//!
//! Corpus: sentences drawn with a fixed seed from a vocabulary whose frequencies fall as Zipf's law, so that terms are
//! shared as they are in real text. Command: `cargo bench --bench engine`.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use cuebase::ingest::extract;
use cuebase::model::{Embedder, StaticTable, index_settings};
use cuebase_retrieval::{Change, Cue, Filter, Index, Memory, Query};

const MEMORIES: usize = 10_000;
const SUBJECTS: [&str; 8] = ["garden", "violin", "harbour", "recipe", "marathon", "printer", "passport", "telescope"];

/// A small generator of its own (xorshift), so that every run has the same corpus.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// A word whose rank follows Zipf's law: the product of two even draws favours low ranks.
    fn word(&mut self) -> String {
        let limit = 1 + self.below(3000);
        let rank = self.below(limit);
        format!("{}{}", SUBJECTS[rank % SUBJECTS.len()], rank / SUBJECTS.len())
    }

    fn sentence(&mut self) -> String {
        (0..12).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

fn filled(folder: &std::path::Path, table: &'static StaticTable) -> Index {
    let settings = index_settings(table).expect("the table is whole");
    let mut index = Index::open(folder, settings).expect("opens");
    let mut random = Random(7);
    let mut changes = Vec::with_capacity(MEMORIES);
    for n in 0..MEMORIES {
        let text = random.sentence();
        let cue = Cue { vector: Some(table.embed(&text)), text: text.clone() };
        let memory = Memory {
            path: format!("facts/b/{n}.md"),
            content: text,
            cues: vec![cue],
            updated: Some(n as i64),
            ..Memory::default()
        };
        changes.push(Change::Put(Box::new(memory)));
    }
    index.apply(changes, "bench").expect("applies");
    index
}

fn engine(criterion: &mut Criterion) {
    let table = StaticTable::built_in().expect("the table is whole");
    let cue = "Melanie: We painted a sunset over the lake with the kids and framed it for the hallway last week.";
    criterion.bench_function("embed a cue of 19 words", |bench| bench.iter(|| table.embed(cue)));

    let body = serde_json::json!({"messages": (0..20).map(|n| serde_json::json!({
        "role": "user", "content": format!("Last Friday I met Tom Brown at the Blue Note, table {n}. We talked about Porto.")
    })).collect::<Vec<_>>()});
    let conversation = cuebase::api::memories::conversation(body.as_object().expect("an object")).expect("valid");
    let now = jiff::Timestamp::UNIX_EPOCH;
    criterion.bench_function("extract from 20 messages", |bench| bench.iter(|| extract::extract(&conversation, now)));

    let folder = tempfile::tempdir().expect("temporary directory");
    let index = filled(folder.path(), table);
    let snapshot = index.published().load_full();
    let mut random = Random(99);
    let search = |filter: &Filter, text: &str| {
        let vector = table.embed(text);
        let query = Query {
            text,
            synonyms: &[],
            vector: Some(&vector),
            filter,
            min_score: 0.0,
            limit: 24,
            now: 0,
            exact: false,
        };
        snapshot.search(&query).expect("searches").hits.len()
    };
    let everything = Filter::default();
    let recent = Filter { since: Some(MEMORIES as i64 * 99 / 100), ..Filter::default() };
    for (name, filter) in [("search 10,000 memories", &everything), ("the same through a filter of 1 %", &recent)] {
        criterion.bench_function(name, |bench| {
            bench.iter_batched(|| random.sentence(), |text| search(filter, &text), BatchSize::SmallInput);
        });
    }
}

criterion_group!(benches, engine);
criterion_main!(benches);
