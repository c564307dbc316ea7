//! Looking at sketches first finds what comparing every row finds, with filters on and off; and what a query names by its
//! time is found among many others.

mod many;
mod pieces;

use std::collections::HashSet;

use cuebase_retrieval::{FEATURE_NAMES, Filter, Hit, Query, Snapshot, TimeField};
use many::{Draws, HOUR, MEMORIES, filled, memories};
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
        let since = (draws.next() as usize % MEMORIES) as i64 * HOUR;
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
fn a_time_that_is_named_brings_its_memories_forward() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let memories = memories();
    let snapshot = filled(folder.path(), &memories, 4000).published().load_full();
    let mut draws = Draws(31);
    for _ in 0..10 {
        let day = (draws.next() as usize % (MEMORIES / 24)) as i64 * 24;
        let times = day * HOUR..(day + 24) * HOUR;
        let (text, vector) = (draws.word(), draws.vector());
        let holds = |n: &i64| memories[*n as usize].content.contains(text);
        let meant: HashSet<String> = (day..day + 24).filter(holds).map(|n| format!("facts/m{n}.md")).collect();
        let found = |times, filter: &Filter| {
            snapshot.search(&Query { times, ..query(text, &vector, filter) }).expect("searches").hits
        };
        let everything = Filter::default();
        let held = |hits: &[Hit]| hits.iter().filter(|hit| meant.contains(&hit.memory.path)).count();
        // A third to a half of all memories hold the word: without the time those of one day are lost among them.
        let times = std::slice::from_ref(&times);
        let (without, hits) = (found(&[], &everything), found(times, &everything));
        assert!(held(&without) < meant.len().div_ceil(2), "{meant:?}");
        assert_eq!(held(&hits), meant.len());
        assert!(held(&hits[..LIMIT]) > held(&without[..LIMIT]), "they come forward");
        assert!(hits.iter().all(|hit| hit.arms.lexical || hit.arms.cue || hit.arms.graph), "each by some arm");
        let third = Filter { tags_any: vec!["third".into()], ..Filter::default() };
        assert!(found(times, &third).iter().all(|hit| hit.memory.user_tags == ["third"]), "the filter holds");
    }
}

#[test]
fn the_words_of_a_time_are_missed_only_where_nothing_is_of_it() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let snapshot = filled(folder.path(), &memories()[..1000], 1000).published().load_full();
    let (text, vector, filter) = ("amber smarch", Draws(37).vector(), Filter::default());
    let unknown = FEATURE_NAMES.iter().position(|name| *name == "query_unknown").expect("a feature");
    let missed = |time: std::ops::Range<i64>| {
        let (times, time_words) = (std::slice::from_ref(&time), std::slice::from_ref(&(6..12)));
        let query = Query { times, time_words, ..query(text, &vector, &filter) };
        snapshot.search(&query).expect("searches").hits[0].features[unknown]
    };
    assert_eq!(missed(0..24 * HOUR), 0.0);
    assert_eq!(missed(1100 * HOUR..1124 * HOUR), 0.0, "some days off is near enough");
    assert!(missed(9000 * HOUR..9024 * HOUR) > 0.3, "a year off it is a word that nobody wrote");
}
