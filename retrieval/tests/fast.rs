//! A search by sketches finds what a comparison of every row finds, with and without filters. A time in a query brings
//! the memories of that time forward.

mod many;
mod pieces;

use std::collections::HashSet;

use cuebase_retrieval::{Filter, Hit, Query, Snapshot, TimeField};
use many::{Draws, HOUR, MEMORIES, filled, memories};
use pieces::query;

/// The limit of hits of each query.
const LIMIT: usize = 24;
const QUESTIONS: usize = 100;

fn found(snapshot: &Snapshot, text: &str, vector: &[f32], filter: &Filter, exact: bool) -> HashSet<String> {
    let query = Query { limit: LIMIT, exact, ..query(text, vector, filter) };
    snapshot.search(&query).expect("searches").hits.into_iter().map(|hit| hit.memory.path).collect()
}

#[test]
fn a_search_by_sketches_finds_what_an_exact_search_finds() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let snapshot = filled(folder.path(), &memories(), 4000).published().load_full();
    let mut draws = Draws::new(29);
    let (mut kept, mut wanted) = (0, 0);
    for question in 0..QUESTIONS {
        // From no filter to one that leaves a few hundred memories.
        let since = draws.below(MEMORIES) as i64 * HOUR;
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

#[test]
fn a_named_time_brings_its_memories_forward() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let memories = memories();
    let snapshot = filled(folder.path(), &memories, 4000).published().load_full();
    let mut draws = Draws::new(31);
    for _ in 0..10 {
        let day = draws.below(MEMORIES / 24) as i64 * 24;
        let times = day * HOUR..(day + 24) * HOUR;
        let (text, vector) = (draws.word(), draws.vector());
        let holds = |n: &i64| memories[*n as usize].content.contains(text);
        let expected: HashSet<String> = (day..day + 24).filter(holds).map(|n| format!("facts/m{n}.md")).collect();
        let found = |times, filter: &Filter| {
            snapshot.search(&Query { times, ..query(text, &vector, filter) }).expect("searches").hits
        };
        let everything = Filter::default();
        let held = |hits: &[Hit]| hits.iter().filter(|hit| expected.contains(&hit.memory.path)).count();
        // A third to a half of all memories contain the word: without the time, those of one day are lost among them.
        let times = std::slice::from_ref(&times);
        let (without, hits) = (found(&[], &everything), found(times, &everything));
        assert!(held(&without) < expected.len().div_ceil(2), "{expected:?}");
        assert_eq!(held(&hits), expected.len());
        assert!(held(&hits[..LIMIT]) > held(&without[..LIMIT]), "they come forward");
        assert!(hits.iter().all(|hit| hit.arms.lexical || hit.arms.cue || hit.arms.graph), "every hit has an arm");
        let third = Filter { tags_any: vec!["third".into()], ..Filter::default() };
        assert!(found(times, &third).iter().all(|hit| hit.memory.user_tags == ["third"]), "the filter applies");
    }
}

#[test]
fn time_words_are_unknown_only_if_no_memory_is_near() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let snapshot = filled(folder.path(), &memories()[..1000], 1000).published().load_full();
    let (text, vector, filter) = ("amber smarch", Draws::new(37).vector(), Filter::default());
    let unknown_share = |time: std::ops::Range<i64>| {
        let (times, time_words) = (std::slice::from_ref(&time), std::slice::from_ref(&(6..12)));
        let query = Query { times, time_words, ..query(text, &vector, &filter) };
        snapshot.search(&query).expect("searches").hits[0].features.query_unknown
    };
    assert_eq!(unknown_share(0..24 * HOUR), 0.0);
    assert_eq!(unknown_share(1100 * HOUR..1124 * HOUR), 0.0, "a time some days off is near enough");
    assert!(
        unknown_share(9000 * HOUR..9024 * HOUR) > 0.3,
        "a time a year off is an ordinary word that no memory contains"
    );
}
