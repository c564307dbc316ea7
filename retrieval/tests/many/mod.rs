//! Enough memories for sketches and several threads, with vectors in clusters.

use std::path::Path;

use cuebase_retrieval::{Change, Cue, Head, Index, IndexSettings, Memory, Relation};
use fastrand::Rng;

use crate::pieces::Pieces;

pub(crate) const WORDS: [&str; 10] =
    ["amber", "birch", "cobalt", "delta", "ember", "fjord", "garnet", "hazel", "indigo", "juniper"];
pub(crate) const DIMENSIONS: usize = 200;
/// Enough memories that sketches are compared first, and that a single search takes several threads.
pub(crate) const MEMORIES: usize = 34_000;

/// Milliseconds of an hour: the time between two consecutive memories.
pub(crate) const HOUR: i64 = 3_600_000;

pub(crate) static PIECES: Pieces = Pieces { words: &WORDS, nearness: 0.5 };

/// A fixed sequence of pseudorandom numbers.
pub(crate) struct Draws(Rng);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Rng::with_seed(seed))
    }

    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0.usize(..limit)
    }

    /// One of [`WORDS`].
    pub(crate) fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    /// A number from -1 to 1.
    fn number(&mut self) -> f32 {
        2.0 * self.0.f32() - 1.0
    }

    /// A unit vector near one of a few centres.
    pub(crate) fn vector(&mut self) -> Vec<f32> {
        let mut centre = Draws::new(0x9e37_79b9 * self.0.u64(1..=40));
        let values: Vec<f32> = (0..DIMENSIONS).map(|_| centre.number() + self.number()).collect();
        let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        values.into_iter().map(|value| value / norm).collect()
    }
}

/// The memories, the same in every call.
pub(crate) fn memories() -> Vec<Memory> {
    let mut draws = Draws::new(11);
    let memory = |n: usize| {
        let words: Vec<&str> = (0..3 + draws.below(5)).map(|_| draws.word()).collect();
        let before = format!("facts/m{}.md", n.saturating_sub(1));
        let follows = Relation { path: before, kind: Relation::FOLLOWS.into(), snippet: String::new() };
        Memory {
            path: format!("facts/m{n}.md"),
            content: format!("{}.", words.join(" ")),
            cues: vec![Cue { text: words[0].into(), vector: Some(draws.vector()) }],
            session: Some(format!("s{}", n / 20)),
            user_tags: if n.is_multiple_of(3) { vec!["third".into()] } else { Vec::new() },
            occurred: Some(n as i64 * HOUR),
            relations: if n.is_multiple_of(20) { Vec::new() } else { vec![follows] },
            ..Memory::default()
        }
    };
    (0..MEMORIES).map(memory).collect()
}

/// An index in a folder.
pub(crate) fn open(folder: &Path) -> Index {
    let settings = IndexSettings { dimensions: DIMENSIONS, model: "test".into(), tokens: &PIECES };
    Index::open(folder, settings).expect("opens")
}

/// An index of memories, applied in changes of up to `at_once`.
pub(crate) fn filled(folder: &Path, memories: &[Memory], at_once: usize) -> Index {
    let mut index = open(folder);
    for (n, memories) in memories.chunks(at_once).enumerate() {
        let changes = memories.iter().map(|memory| Change::Put(Box::new(memory.clone()))).collect();
        index.apply(changes, Head::from([n as u8; 20])).expect("applies");
    }
    index
}
