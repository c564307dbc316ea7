//! Searches with a model that reads the best candidates.

mod pieces;

use std::sync::atomic::{AtomicUsize, Ordering};

use cuebase_retrieval::{
    Change, Cue, Explain, FeatureGroup, Filter, Head, Index, IndexSettings, Judgement, Memory, Query, Reranker,
    Snapshot, Validity,
};
use pieces::{Pieces, query};

const VECTOR: [f32; 8] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
static PIECES: Pieces = Pieces { words: &["ferry", "pier"], nearness: 0.5 };

/// Judges memories by their content, until it has read `max`.
#[derive(Debug)]
struct Fake {
    /// What a memory that answers contains.
    answer: &'static str,
    is_exact: bool,
    max: usize,
    read: AtomicUsize,
}

impl Fake {
    fn new(answer: &'static str) -> Self {
        Self { answer, is_exact: false, max: usize::MAX, read: AtomicUsize::new(0) }
    }
}

impl Reranker for Fake {
    fn read(&self, memory: &Memory) -> Option<Judgement> {
        if self.read.load(Ordering::Relaxed) == self.max {
            return None;
        }
        self.read.fetch_add(1, Ordering::Relaxed);
        let log_odds = if memory.content.contains(self.answer) { 6.0 } else { -6.0 };
        Some(Judgement { log_odds, is_in_parts: false, is_exact: self.is_exact })
    }
}

fn memory(path: &str, content: &str) -> Memory {
    let cues = vec![Cue { text: content.to_owned(), vector: Some(VECTOR.to_vec()) }];
    let statement = content.to_lowercase();
    Memory { path: path.to_owned(), content: content.to_owned(), cues, statement, ..Memory::default() }
}

/// Returns the snapshot of an index with these memories, and the folder of its files.
fn snapshot_of(memories: Vec<Memory>) -> (tempfile::TempDir, std::sync::Arc<Snapshot>) {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = IndexSettings { dimensions: VECTOR.len(), model: "test".into(), tokens: &PIECES };
    let mut index = Index::open(folder.path(), settings).expect("opens");
    let puts = memories.into_iter().map(|memory| Change::Put(Box::new(memory))).collect();
    index.apply(puts, Head::from([1; 20])).expect("applies");
    let snapshot = index.published().load_full();
    (folder, snapshot)
}

/// Returns the paths and scores of the hits, best first.
fn scores(snapshot: &Snapshot, reranker: Option<&dyn Reranker>) -> Vec<(String, f32)> {
    let filter = Filter::default();
    let query =
        Query { explain: Explain::Yes, reranker, ..query("when does the ferry leave the pier", &VECTOR, &filter) };
    let mut scores = Vec::new();
    for hit in snapshot.search(&query).expect("searches").hits {
        let explanation = hit.explanation.expect("was asked for");
        let parts: f64 = explanation.contributions.iter().map(|part| part.log_odds).sum();
        let log_odds = explanation.base_log_odds + parts;
        assert!((1.0 / (1.0 + (-log_odds).exp()) - f64::from(hit.score)).abs() < 1e-4, "the parts sum to the score");
        let reader = explanation.contributions.iter().find(|part| part.group == FeatureGroup::Reader);
        assert!(reader.expect("a part").log_odds == 0.0 || hit.read.is_some());
        scores.push((hit.memory.path, hit.score));
    }
    scores
}

fn score_of(scores: &[(String, f32)], path: &str) -> f32 {
    scores.iter().find(|(found, _)| found == path).expect("a hit").1
}

#[test]
fn what_answers_comes_first() {
    let (_folder, snapshot) = snapshot_of(vec![
        memory("facts/a.md", "The ferry and the pier are red."),
        memory("facts/b.md", "The ferry goes at nine from the pier, says the harbour master of the old town."),
    ]);
    let read = scores(&snapshot, Some(&Fake::new("nine")));
    assert_eq!(read[0].0, "facts/b.md");
    assert!(score_of(&read, "facts/a.md") < score_of(&scores(&snapshot, None), "facts/a.md"));
}

#[test]
fn a_memory_that_is_not_read_keeps_its_score() {
    let memories = (0..20).map(|n| memory(&format!("facts/{n}.md"), &format!("The ferry number {n} leaves the pier.")));
    let (_folder, snapshot) = snapshot_of(memories.collect());
    let unread = scores(&snapshot, None);
    for (max, expected) in [(usize::MAX, 16), (3, 3), (0, 0)] {
        let fake = Fake { max, ..Fake::new("nothing") };
        let read = scores(&snapshot, Some(&fake));
        let changed = read.iter().filter(|(path, score)| *score != score_of(&unread, path)).count();
        assert_eq!((changed, fake.read.load(Ordering::Relaxed)), (expected, expected));
    }
}

#[test]
fn an_exact_match_is_not_lowered_and_repetitions_are_read_once() {
    let (_folder, snapshot) = snapshot_of(vec![
        memory("facts/a.md", "The ferry leaves the pier at ten."),
        memory("facts/again.md", "The ferry leaves the pier at ten."),
        memory("facts/c.md", "The pier of the ferry is long."),
    ]);
    let exact = Fake { is_exact: true, ..Fake::new("nothing") };
    let (unread, read) = (scores(&snapshot, None), scores(&snapshot, Some(&exact)));
    for (path, score) in &read {
        assert!(*score >= score_of(&unread, path), "{path}");
    }
    assert_eq!(read.len(), 2, "of two that say the same, one is a hit");
    assert_eq!(exact.read.load(Ordering::Relaxed), 2);
}

#[test]
fn what_was_superseded_stays_behind_although_it_reads_better() {
    let mut new = memory("facts/new.md", "The ferry leaves the pier at ten now.");
    new.validity = Validity { supersedes: vec!["facts/old.md".into()], ..Validity::default() };
    let (_folder, snapshot) = snapshot_of(vec![memory("facts/old.md", "The ferry leaves the pier at nine."), new]);
    let read = scores(&snapshot, Some(&Fake::new("nine")));
    assert!(score_of(&read, "facts/new.md") > score_of(&read, "facts/old.md"), "{read:?}");
}
