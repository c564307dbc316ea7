//! The index against a plain map: after any sequence of changes, searches and listings return exactly the current
//! memories.

mod pieces;

use std::collections::BTreeMap;
use std::path::Path;

use cuebase_retrieval::{
    Change, Comparison, Condition, Cue, Currency, Filter, Head, Index, IndexSettings, Listing, ListingOrder, Memory,
    MetadataValue, NumberBound, Relation, Snapshot, TimeField,
};
use pieces::{Pieces, query};
use proptest::prelude::*;

const WORDS: [&str; 6] = ["amber", "birch", "cobalt", "delta", "ember", "fjord"];
const DIMENSIONS: usize = 8;

#[derive(Clone, Debug)]
enum Step {
    Put { path: usize, word: usize, tag: usize, updated: i64, link: usize },
    Forget { path: usize },
    Publish,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let put = (0..12usize, 0..WORDS.len(), 0..3usize, 0..50i64, 0..12usize);
    prop_oneof![
        6 => put.prop_map(|(path, word, tag, updated, link)| Step::Put { path, word, tag, updated, link }),
        2 => (0..12usize).prop_map(|path| Step::Forget { path }),
        2 => Just(Step::Publish),
        1 => Just(Step::Reopen),
    ]
}

fn path(n: usize) -> String {
    format!("{}/p{n}.md", ["facts", "rules"][n % 2])
}

fn vector(word: usize) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSIONS];
    vector[word] = 1.0;
    vector
}

fn memory(at: usize, word: usize, tag: usize, updated: i64, link: usize) -> Memory {
    Memory {
        path: path(at),
        content: format!("# {} number{at}\n", WORDS[word]),
        cues: vec![Cue { text: WORDS[word].into(), vector: Some(vector(word)) }],
        user_tags: vec![format!("t{tag}")],
        updated: Some(updated),
        metadata: metadata(tag, updated),
        relations: vec![Relation { path: path(link), kind: Relation::FOLLOWS.into(), snippet: String::new() }],
        ..Memory::default()
    }
}

/// Values of all types, some of which spell the same: 7, 7.0 and "7".
fn metadata(tag: usize, updated: i64) -> Vec<(String, MetadataValue)> {
    let number = updated % 10;
    let value = match tag {
        0 => MetadataValue::Integer(i128::from(number)),
        1 => MetadataValue::Float(number as f64 + f64::from(updated % 2 == 0) / 2.0),
        _ if updated % 3 == 0 => MetadataValue::Boolean(updated % 2 == 0),
        _ => MetadataValue::Text(number.to_string()),
    };
    let mut metadata = vec![("value".to_owned(), value)];
    if updated % 4 == 0 {
        metadata.push(("fourth".to_owned(), MetadataValue::Boolean(true)));
    }
    metadata
}

/// Filters with conditions on the metadata.
fn conditions() -> Vec<Filter> {
    let comparisons = [
        ("value", Comparison::Equal("7".into())),
        ("value", Comparison::Equal("2.5".into())),
        ("value", Comparison::Equal("true".into())),
        ("value", Comparison::NotEqual("7".into())),
        ("fourth", Comparison::NotEqual("true".into())),
        ("fourth", Comparison::Equal("true".into())),
        ("other", Comparison::Equal("7".into())),
        ("value", Comparison::Number(NumberBound::AtLeast(2.5))),
        ("value", Comparison::Number(NumberBound::Above(2.5))),
        ("value", Comparison::Number(NumberBound::AtMost(7.0))),
        ("value", Comparison::Number(NumberBound::Below(7.0))),
    ];
    let all = comparisons.map(|(key, comparison)| Condition { key: key.to_owned(), comparison });
    let range = vec![all[7].clone(), all[10].clone(), all[5].clone()];
    let mut filters = vec![Filter { conditions: range, ..Filter::default() }];
    filters.extend(all.map(|condition| Filter { conditions: vec![condition], ..Filter::default() }));
    filters
}

static PIECES: Pieces = Pieces { words: &WORDS, nearness: 0.0 };

fn settings(dimensions: usize, model: &str) -> IndexSettings {
    IndexSettings { dimensions, model: model.into(), tokens: &PIECES }
}

fn open(folder: &Path) -> Index {
    Index::open(folder, settings(DIMENSIONS, "test")).expect("opens")
}

/// The bits of every score that a snapshot returns.
fn scores(index: &Index) -> Vec<(String, u32)> {
    let snapshot = index.published().load_full();
    let filter = Filter::default();
    let ask = |(n, word): (usize, &&str)| {
        let (vector, text) = (vector(n), format!("{word} {} number3", WORDS[(n + 1) % WORDS.len()]));
        let query = query(&text, &vector, &filter);
        snapshot.search(&query).expect("searches").hits
    };
    let hits = WORDS.iter().enumerate().flat_map(ask);
    hits.map(|hit| (hit.memory.path, hit.score.to_bits())).collect()
}

/// The paths that a filter should accept, from a scan of every memory.
fn expected(model: &BTreeMap<String, Memory>, filter: &Filter) -> Vec<String> {
    model.values().filter(|memory| filter.accepts(memory)).map(|memory| memory.path.clone()).collect()
}

/// A listing of all memories that a filter accepts.
fn whole_listing(filter: &Filter) -> Listing<'_> {
    Listing {
        filter,
        order: ListingOrder::NewestFirst,
        offset: 0,
        limit: usize::MAX,
        now: 0,
        as_of: None,
        currency: Currency::Any,
    }
}

/// Checks that pages of a listing, in both orders, are parts of the whole.
fn check_pages(snapshot: &Snapshot, filter: &Filter) {
    for order in [ListingOrder::NewestFirst, ListingOrder::OldestFirst] {
        let whole = snapshot.list(&Listing { order, ..whole_listing(filter) }).expect("lists");
        let times: Vec<Option<i64>> =
            whole.memories.iter().map(|listed| filter.time_field.of(&listed.memory)).collect();
        match order {
            ListingOrder::NewestFirst => assert!(times.is_sorted_by(|a, b| a >= b)),
            ListingOrder::OldestFirst => assert!(times.is_sorted_by_key(|time| (time.is_none(), *time))),
        }
        let mut paged = Vec::new();
        for offset in (0..whole.total).step_by(3) {
            let page = Listing { order, offset, limit: 3, ..whole_listing(filter) };
            let page = snapshot.list(&page).expect("lists");
            assert_eq!(page.total, whole.total);
            paged.extend(page.memories.into_iter().map(|listed| listed.memory.path));
        }
        let mut paths: Vec<String> = whole.memories.into_iter().map(|listed| listed.memory.path).collect();
        paged.sort();
        paths.sort();
        assert_eq!(paged, paths);
    }
}

fn check(index: &Index, model: &BTreeMap<String, Memory>) {
    let snapshot = index.published().load_full();
    assert_eq!(snapshot.memory_count(), model.len());
    let mut filters = vec![
        Filter::default(),
        Filter { tags_any: vec!["t1".into()], ..Filter::default() },
        Filter { tiers: vec!["rules".into()], since: Some(25), ..Filter::default() },
        Filter { until: Some(10), time_field: TimeField::Updated, ..Filter::default() },
    ];
    filters.extend(conditions());
    for filter in &filters {
        let mut listed: Vec<String> = snapshot
            .list(&whole_listing(filter))
            .expect("lists")
            .memories
            .into_iter()
            .map(|listed| listed.memory.path)
            .collect();
        listed.sort();
        assert_eq!(listed, expected(model, filter));
        let mut accepted = Vec::new();
        for stored in snapshot.accepted(&whole_listing(filter)) {
            accepted.push(stored.read().expect("reads").path);
        }
        accepted.sort();
        assert_eq!(accepted, listed);
        check_pages(&snapshot, filter);
        for (n, word) in WORDS.iter().enumerate() {
            let vector = vector(n);
            let query = query(word, &vector, filter);
            let hits = snapshot.search(&query).expect("searches").hits;
            assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
            assert!(hits.iter().all(|hit| hit.score > 0.0 && hit.score < 1.0));
            let mut found: Vec<&str> = hits.iter().map(|hit| hit.memory.path.as_str()).collect();
            let count = found.len();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), count, "a memory was found twice");
            let allowed = expected(model, filter);
            assert!(found.iter().all(|path| allowed.iter().any(|other| other == path)), "{found:?} of {allowed:?}");
            let holding = allowed.iter().filter(|path| model[*path].content.contains(word));
            for path in holding {
                let hit = hits.iter().find(|hit| hit.memory.path == *path);
                let hit = hit.unwrap_or_else(|| panic!("{path} contains {word} and was not found"));
                assert!(hit.arms.lexical && hit.arms.cue && hit.memory == without_vectors(&model[path]));
            }
        }
    }
}

fn without_vectors(memory: &Memory) -> Memory {
    let mut memory = memory.clone();
    memory.cues.iter_mut().for_each(|cue| cue.vector = None);
    memory
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn searches_and_listings_return_the_current_memories(steps in proptest::collection::vec(step(), 1..40)) {
        let folder = tempfile::tempdir().expect("temporary directory");
        let mut index = open(folder.path());
        let mut model = BTreeMap::new();
        let mut pending = Vec::new();
        for (number, step) in steps.into_iter().chain([Step::Publish, Step::Reopen]).enumerate() {
            match step {
                Step::Put { path: at, word, tag, updated, link } => {
                    let memory = memory(at, word, tag, updated, link);
                    model.insert(memory.path.clone(), memory.clone());
                    pending.push(Change::Put(Box::new(memory)));
                }
                Step::Forget { path: at } => {
                    model.remove(&path(at));
                    pending.push(Change::Forget(path(at)));
                }
                Step::Publish => {
                    let head = Head::from([number as u8; 20]);
                    index.apply(std::mem::take(&mut pending), head).expect("applies");
                    prop_assert_eq!(index.head(), Some(head));
                    check(&index, &model);
                }
                Step::Reopen => {
                    // Pending changes are in neither the old nor the new index.
                    if pending.is_empty() {
                        drop(index);
                        index = open(folder.path());
                        check(&index, &model);
                    }
                }
            }
        }
        let other = tempfile::tempdir().expect("temporary directory");
        let mut rebuilt = open(other.path());
        let memories = model.into_values().rev().map(|memory| Change::Put(Box::new(memory)));
        rebuilt.apply(memories.collect(), Head::from([255; 20])).expect("applies");
        prop_assert_eq!(scores(&rebuilt), scores(&index), "the order of writes changed a score");
    }
}

#[test]
fn an_index_of_another_model_is_rejected() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let put = Change::Put(Box::new(memory(1, 1, 1, 1, 2)));
    open(folder.path()).apply(vec![put], Head::from([1; 20])).expect("applies");
    for settings in [settings(DIMENSIONS, "other"), settings(DIMENSIONS + 1, "test")] {
        assert!(Index::open(folder.path(), settings).is_err());
    }
}

#[test]
fn a_lost_file_of_a_large_layer_is_written_again_when_possible() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let layers = || {
        let names = std::fs::read_dir(folder.path())
            .expect("lists")
            .filter_map(|file| file.ok()?.file_name().into_string().ok());
        names.filter(|name| name.starts_with("layer-")).collect::<Vec<String>>()
    };
    let mut index = open(folder.path());
    let put = |n: usize| Change::Put(Box::new(memory(n, n % WORDS.len(), n % 3, n as i64, n + 1)));
    index.apply((0..600).map(put).collect(), Head::from([1; 20])).expect("applies");
    let (scored, written) = (scores(&index), layers());
    assert_eq!(written.len(), 1);
    drop(index);
    std::fs::remove_file(folder.path().join(&written[0])).expect("removes");
    // A folder of that name prevents the file from being written.
    let new = folder.path().join("layer.new");
    std::fs::create_dir(&new).expect("creates");
    assert_eq!(scores(&open(folder.path())), scored);
    assert!(!layers().contains(&written[0]));
    std::fs::remove_dir(&new).expect("removes");
    assert_eq!(scores(&open(folder.path())), scored);
    assert_eq!(layers(), written);
}
