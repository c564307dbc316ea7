//! An answer does not depend on the processor, on threads, on a restart, or on the order in which memories were written.
//!
//! One test, alone in its process: which kernels run is a setting of the process.

mod pieces;

use cuebase_retrieval::kernels::force_portable;
use cuebase_retrieval::{Change, Cue, Filter, Hit, Index, IndexSettings, Memory, Query, Relation};
use pieces::Pieces;

const WORDS: [&str; 10] =
    ["amber", "birch", "cobalt", "delta", "ember", "fjord", "garnet", "hazel", "indigo", "juniper"];
const DIMENSIONS: usize = 48;
/// Enough for sketches to be looked at first.
const MEMORIES: usize = 18_000;

static PIECES: Pieces = Pieces { words: &WORDS, nearness: 0.5 };

/// A fixed sequence of draws.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.next() as usize % WORDS.len()]
    }

    /// A unit vector near one of a few centres.
    fn vector(&mut self) -> Vec<f32> {
        let centre = self.next() as usize % 40;
        let value = |at: usize| ((centre * 31 + at * 17) as f32).sin() + (self.next() % 2000) as f32 / 1000.0 - 1.0;
        let values: Vec<f32> = (0..DIMENSIONS).map(value).collect();
        let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        values.into_iter().map(|value| value / norm).collect()
    }
}

fn memories() -> Vec<Memory> {
    let mut draws = Draws(11);
    let memory = |n: usize| {
        let words: Vec<&str> = (0..3 + draws.next() % 5).map(|_| draws.word()).collect();
        let before = format!("facts/m{}.md", n.saturating_sub(1));
        let follows = Relation { path: before, kind: Relation::FOLLOWS.into(), snippet: String::new() };
        Memory {
            path: format!("facts/m{n}.md"),
            content: format!("{}.", words.join(" ")),
            cues: vec![Cue { text: words[0].into(), vector: Some(draws.vector()) }],
            session: Some(format!("s{}", n / 20)),
            user_tags: if n.is_multiple_of(3) { vec!["third".into()] } else { Vec::new() },
            relations: if n.is_multiple_of(20) { Vec::new() } else { vec![follows] },
            ..Memory::default()
        }
    };
    (0..MEMORIES).map(memory).collect()
}

fn open(folder: &std::path::Path) -> Index {
    let settings = IndexSettings { dimensions: DIMENSIONS, model: "test".into(), tokens: &PIECES };
    Index::open(folder, settings).expect("opens")
}

/// What some questions find, with everything that went into the scores, as bits.
fn answers(index: &Index) -> Vec<(String, Vec<u32>)> {
    let snapshot = index.published().load_full();
    let mut draws = Draws(5);
    let third = Filter { tags_any: vec!["third".into()], ..Filter::default() };
    let mut answers = Vec::new();
    for question in 0..12 {
        let text = [draws.word(), draws.word(), draws.word()].join(" ");
        let vector = draws.vector();
        let everything = Filter::default();
        let query = Query {
            text: &text,
            synonyms: &[],
            vector: Some(&vector),
            filter: if question % 2 == 0 { &everything } else { &third },
            min_score: 0.0,
            limit: 50,
            now: 0,
            exact: false,
        };
        let bits = |hit: Hit| {
            let numbers = hit.features.iter().copied().chain([hit.score]);
            (hit.memory.path, numbers.map(f32::to_bits).collect())
        };
        answers.extend(snapshot.search(&query).expect("searches").hits.into_iter().map(bits));
    }
    assert_eq!(answers.len(), 12 * 50);
    answers
}

fn filled(folder: &std::path::Path, memories: &[Memory], at_once: usize) -> Index {
    let mut index = open(folder);
    for (n, memories) in memories.chunks(at_once).enumerate() {
        let changes = memories.iter().map(|memory| Change::Put(Box::new(memory.clone()))).collect();
        index.apply(changes, &n.to_string()).expect("applies");
    }
    index
}

#[test]
fn answers_are_the_same_bit_for_bit() {
    let folder = || tempfile::tempdir().expect("temporary directory");
    let (first, second, third) = (folder(), folder(), folder());
    let mut memories = memories();
    let index = filled(first.path(), &memories, 4000);
    let expected = answers(&index);

    force_portable(true);
    assert!(answers(&index) == expected, "searched with portable kernels");
    assert!(answers(&filled(second.path(), &memories, 4000)) == expected, "made with portable kernels");
    force_portable(false);

    drop(index);
    assert!(answers(&open(first.path())) == expected, "after a restart");
    memories.reverse();
    assert!(answers(&filled(third.path(), &memories, 997)) == expected, "written in another order");

    // A search that is alone in an index this small takes one thread; several at once share the processor.
    let index = open(first.path());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| answers(&index))).collect();
        assert!(threads.into_iter().all(|thread| thread.join().expect("ends") == expected), "several at once");
    });
}
