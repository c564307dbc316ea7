//! Search results do not depend on the processor, on threads, on a restart, or on the order in which memories were
//! written.
//!
//! One test, alone in its process, because the choice of kernels is a setting of the process.

mod many;
mod pieces;

use cuebase_retrieval::kernels::force_portable;
use cuebase_retrieval::{Filter, Hit, Index, Query};
use many::{Draws, HOUR, filled, memories, open};
use pieces::query;

/// The hits of some queries, each with the bits of its features and its score.
fn answers(index: &Index) -> Vec<(String, Vec<u32>)> {
    let snapshot = index.published().load_full();
    let mut draws = Draws::new(5);
    let third = Filter { tags_any: vec!["third".into()], ..Filter::default() };
    let mut answers = Vec::new();
    for question in 0..12 {
        let text = [draws.word(), draws.word(), draws.word()].join(" ");
        let vector = draws.vector();
        let everything = Filter::default();
        let month = question * 700 * HOUR..(question * 700 + 720) * HOUR;
        let times = if question % 3 == 0 { std::slice::from_ref(&month) } else { &[] };
        let query =
            Query { limit: 50, times, ..query(&text, &vector, if question % 2 == 0 { &everything } else { &third }) };
        let bits = |hit: Hit| {
            let numbers = hit.features.values().into_iter().chain([hit.score]);
            (hit.memory.path, numbers.map(f32::to_bits).collect())
        };
        answers.extend(snapshot.search(&query).expect("searches").hits.into_iter().map(bits));
    }
    assert_eq!(answers.len(), 12 * 50);
    answers
}

#[test]
fn results_are_the_same_bit_for_bit() {
    let folder = || tempfile::tempdir().expect("temporary directory");
    let (first, second, third) = (folder(), folder(), folder());
    let mut memories = memories();
    let index = filled(first.path(), &memories, 4000);
    let expected = answers(&index);

    force_portable(true);
    assert!(answers(&index) == expected, "searched with portable kernels");
    assert!(answers(&filled(second.path(), &memories, 4000)) == expected, "built with portable kernels");
    force_portable(false);

    drop(index);
    assert!(answers(&open(first.path())) == expected, "after a restart");
    memories.reverse();
    assert!(answers(&filled(third.path(), &memories, 997)) == expected, "written in another order");

    // A single search takes several threads; concurrent searches take one thread each.
    let index = open(first.path());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| answers(&index))).collect();
        assert!(threads.into_iter().all(|thread| thread.join().expect("ends") == expected), "several at once");
    });
}
