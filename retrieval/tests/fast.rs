//! Looking at sketches first finds what comparing every row finds, with filters on and off.

mod many;
mod pieces;

use std::collections::HashSet;

use cuebase_retrieval::{Filter, Query, Snapshot, TimeField};
use many::{Draws, MEMORIES, filled, memories};
use pieces::query;

/// Hits asked for.
const LIMIT: usize = 24;
const QUESTIONS: usize = 100;

fn found(snapshot: &Snapshot, text: &str, vector: &[f32], filter: &Filter, exact: bool) -> HashSet<String> {
    let query = Query { limit: LIMIT, exact, ..query(text, vector, filter) };
    snapshot.search(&query).expect("searches").hits.into_iter().map(|hit| hit.memory.path).collect()
}

#[test]
fn the_fast_way_finds_what_the_exact_one_finds() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let snapshot = filled(folder.path(), &memories(), 4000).published().load_full();
    let mut draws = Draws(29);
    let (mut kept, mut wanted) = (0, 0);
    for question in 0..QUESTIONS {
        // From none to one that leaves a few hundred memories.
        let since = (draws.next() as usize % MEMORIES) as i64;
        let filter = Filter {
            tags_any: if question % 2 == 1 { vec!["third".into()] } else { Vec::new() },
            since: (question % 4 > 1).then_some(since),
            time_field: TimeField::Occurred,
            ..Filter::default()
        };
        let text = [draws.word(), draws.word()].join(" ");
        let vector = draws.vector();
        let exact = found(&snapshot, &text, &vector, &filter, true);
        let fast = found(&snapshot, &text, &vector, &filter, false);
        wanted += exact.len();
        kept += exact.intersection(&fast).count();
    }
    assert!(wanted > LIMIT * QUESTIONS * 9 / 10, "{wanted}");
    assert!(kept * 100 >= wanted * 99, "{kept} of {wanted}");
}
