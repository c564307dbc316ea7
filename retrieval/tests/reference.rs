//! The engine against a slow and obvious reference, which computes every feature of every hit from all memories.

mod pieces;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use cuebase_language::tokenize::content_terms;
use cuebase_retrieval::{
    Change, Cue, FEATURE_NAMES, Filter, Head, Hit, Index, IndexSettings, Memory, Query, Relation, TokenVectors,
};
use pieces::{Pieces, query};
use proptest::prelude::*;

const WORDS: [&str; 10] =
    ["amber", "birch", "cobalt", "delta", "ember", "fjord", "garnet", "hazel", "indigo", "juniper"];
const NAMES: [&str; 3] = ["Anna", "Boris", "Chloe"];
const DIMENSIONS: usize = 16;
const DAY: i64 = 86_400_000;
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// Cosines of 8-bit rows differ from exact ones by less than this.
const COSINE_TOLERANCE: f64 = 0.02;
/// A memory with a lower cosine is not a candidate of the cue arm.
const COSINE_MIN: f64 = 0.12;

static PIECES: Pieces = Pieces { words: &WORDS, nearness: 0.5 };

#[derive(Clone, Debug)]
struct Said {
    words: Vec<usize>,
    speaker: usize,
    entity: Option<usize>,
    asks: bool,
    session: usize,
    tag: bool,
    /// The day on which the content happened.
    day: Option<i64>,
    vector: Vec<f32>,
}

fn said() -> impl Strategy<Value = Said> {
    let words = proptest::collection::vec(0..WORDS.len(), 1..9);
    let vector = proptest::collection::vec(-1f32..1.0, DIMENSIONS);
    let entity = proptest::option::of(0..NAMES.len());
    let day = proptest::option::weighted(0.8, 0..30i64);
    (words, 0..NAMES.len(), entity, any::<bool>(), 0..4usize, any::<bool>(), day, vector).prop_map(
        |(words, speaker, entity, asks, session, tag, day, vector)| Said {
            words,
            speaker,
            entity,
            asks,
            session,
            tag,
            day,
            vector,
        },
    )
}

fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-6);
    vector.iter().map(|v| v / length).collect()
}

/// The memories of a few conversations. Each follows the one before it in its conversation.
fn memories(said: &[Said]) -> Vec<Memory> {
    let mut last: BTreeMap<usize, String> = BTreeMap::new();
    let memory = |(n, said): (usize, &Said)| {
        let words: Vec<&str> = said.words.iter().map(|word| WORDS[*word]).collect();
        let path = format!("facts/m{n}.md");
        let relation = |path| Relation { path, kind: Relation::FOLLOWS.into(), snippet: String::new() };
        let before = last.insert(said.session, path.clone());
        Memory {
            path,
            content: format!("{}{}", words.join(" "), if said.asks { "?" } else { "." }),
            cues: vec![Cue { text: words[0].into(), vector: Some(unit(&said.vector)) }],
            speaker: Some(NAMES[said.speaker].into()),
            entities: said.entity.map(|name| NAMES[name].into()).into_iter().collect(),
            session: Some(format!("s{}", said.session)),
            occurred: said.day.map(|day| day * DAY),
            user_tags: if said.tag { vec!["tag".into()] } else { Vec::new() },
            relations: before.map(relation).into_iter().collect(),
            ..Memory::default()
        }
    };
    said.iter().enumerate().map(memory).collect()
}

/// What the arms know about one memory.
#[derive(Clone, Copy, Default)]
struct Seen {
    bm25: f64,
    cosine: f64,
    standardised: f64,
    soft: f64,
    soft_squared: f64,
    asks: f64,
    length: f64,
}

/// All signals of a query, computed from all memories.
struct Reference<'a> {
    memories: &'a [Memory],
    seen: Vec<Seen>,
    held: Vec<BTreeSet<String>>,
    /// The query's known terms with their weights.
    weights: BTreeMap<String, f64>,
    /// The query's pieces with their share of the weight.
    pieces: Vec<(u16, f64)>,
    ceiling: f64,
    unknown: f64,
    /// The nearness of each memory to the days that the query names, if both are known.
    nearness: Vec<Option<f64>>,
    /// The memories that each arm finds.
    lexical: Vec<usize>,
    cue: Vec<usize>,
}

fn idf(memories: usize, frequency: usize) -> f64 {
    (1.0 + (memories as f64 - frequency as f64 + 0.5) / (frequency as f64 + 0.5)).ln()
}

fn counts(memory: &Memory) -> BTreeMap<String, f64> {
    let mut counts = BTreeMap::new();
    for term in content_terms(&format!("{} {}", memory.content, memory.speaker.as_deref().unwrap_or_default())) {
        *counts.entry(term).or_insert(0.0) += 1.0;
    }
    for term in memory.cues.iter().flat_map(|cue| content_terms(&cue.text)) {
        counts.entry(term).or_insert(1.0);
    }
    counts
}

/// The difference of a memory from its speaker's mean, in which the mean of all memories counts as three memories.
fn beyond_usual(memory: &Memory, memories: &[Memory], what: fn(&Memory) -> f64) -> f64 {
    let usual = memories.iter().map(what).sum::<f64>() / memories.len() as f64;
    let own: Vec<f64> = memories.iter().filter(|other| other.speaker == memory.speaker).map(what).collect();
    what(memory) - (own.iter().sum::<f64>() + 3.0 * usual) / (own.len() as f64 + 3.0)
}

fn log_length(memory: &Memory) -> f64 {
    (1.0 + memory.content.split_whitespace().count() as f64).ln() / 5.0
}

/// The best cosine of a memory's pieces to one of the query's.
fn nearest(piece: u16, memory: &Memory) -> f64 {
    let cosines = PIECES.tokens(&memory.content).into_iter().map(|other| PIECES.cosine(piece, other));
    f64::from(cosines.fold(0.0, f32::max))
}

fn asks(memory: &Memory) -> f64 {
    f64::from(u8::from(memory.content.contains('?')))
}

impl<'a> Reference<'a> {
    /// `by_cue` holds the memories that the engine's cue arm found. It decides where a cosine is too near the minimum.
    fn new(memories: &'a [Memory], query: &Query<'_>, by_cue: &BTreeSet<usize>) -> Self {
        let (text, filter, vector) = (query.text, query.filter, query.vector.expect("each has one"));
        let counted: Vec<BTreeMap<String, f64>> = memories.iter().map(counts).collect();
        let lengths: Vec<f64> = counted.iter().map(|counts| counts.values().sum()).collect();
        let mean = (lengths.iter().sum::<f64>() / memories.len() as f64).max(1.0);
        let terms: BTreeSet<String> = content_terms(text).into_iter().collect();
        let frequency = |term: &String| counted.iter().filter(|counts| counts.contains_key(term)).count();
        let (known, unknown): (Vec<&String>, Vec<&String>) = terms.iter().partition(|term| frequency(term) > 0);
        let weights: BTreeMap<String, f64> =
            known.iter().map(|term| ((*term).clone(), idf(memories.len(), frequency(term)))).collect();
        let all: f64 = weights.values().sum();
        let missing = unknown.len() as f64 * idf(memories.len(), 0);

        let pieces: Vec<u16> = PIECES.tokens(text);
        let holds = |memory: &Memory, piece: u16| PIECES.tokens(&memory.content).contains(&piece);
        let piece_weights: Vec<f64> = pieces
            .iter()
            .map(|piece| idf(memories.len(), memories.iter().filter(|memory| holds(memory, *piece)).count()))
            .collect();
        let whole: f64 = piece_weights.iter().sum();
        let mut seen: Vec<Seen> = memories
            .iter()
            .zip(&counted)
            .zip(&lengths)
            .map(|((memory, counts), length)| {
                let term = |(term, weight): (&String, &f64)| {
                    let count = counts.get(term).copied().unwrap_or_default();
                    weight * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / mean))
                };
                let best = |piece: &u16| nearest(*piece, memory);
                let soft = |power: i32| {
                    pieces.iter().zip(&piece_weights).map(|(piece, w)| w / whole * best(piece).powi(power)).sum()
                };
                let cue = memory.cues[0].vector.as_ref().expect("each has one");
                Seen {
                    bm25: weights.iter().map(term).sum(),
                    cosine: cue.iter().zip(vector).map(|(a, b)| f64::from(a * b)).sum(),
                    standardised: 0.0,
                    soft: soft(1),
                    soft_squared: soft(2),
                    asks: beyond_usual(memory, memories, asks),
                    length: 0.65 + beyond_usual(memory, memories, log_length),
                }
            })
            .collect();
        let average = seen.iter().map(|seen| seen.cosine).sum::<f64>() / seen.len() as f64;
        let variance = seen.iter().map(|seen| (seen.cosine - average).powi(2)).sum::<f64>() / seen.len() as f64;
        let deviation = variance.sqrt().max(0.02);
        seen.iter_mut()
            .for_each(|seen| seen.standardised = ((seen.cosine - average) / deviation).clamp(-6.0, 6.0) / 6.0);
        let found = |by: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (0..memories.len()).filter(|n| filter.accepts(&memories[*n]) && by(*n)).collect()
        };
        let near = |n: usize| {
            let over = seen[n].cosine - COSINE_MIN;
            if over.abs() > COSINE_TOLERANCE { over > 0.0 } else { by_cue.contains(&n) }
        };
        let held =
            counted.into_iter().map(|counts| counts.into_keys().filter(|term| weights.contains_key(term)).collect());
        let nearness = |memory: &Memory| {
            let occurred = memory.occurred?;
            let off = |range: &Range<i64>| (range.start - occurred).max(occurred + 1 - range.end).max(0);
            let off = query.times.iter().map(off).min()?;
            Some(1.0 / (1.0 + off as f64 / DAY as f64))
        };
        let mut nearnesses: Vec<Option<f64>> = memories.iter().map(nearness).collect();
        // A time further than a week from every allowed memory is treated as words.
        if !(0..memories.len())
            .any(|n| filter.accepts(&memories[n]) && nearnesses[n].is_some_and(|near| near >= 1.0 / 8.0))
        {
            nearnesses.fill(None);
        }
        Self {
            nearness: nearnesses,
            memories,
            held: held.collect(),
            lexical: found(&|n| seen[n].bm25 > 0.0),
            cue: found(&near),
            seen,
            ceiling: all * (K1 + 1.0),
            unknown: if all + missing > 0.0 { missing / (all + missing) } else { 0.0 },
            weights,
            pieces: pieces.iter().zip(&piece_weights).map(|(piece, w)| (*piece, w / whole)).collect(),
        }
    }

    fn candidates(&self) -> BTreeSet<usize> {
        self.lexical.iter().chain(&self.cue).copied().collect()
    }

    fn best(&self, of: &[usize], value: impl Fn(&Seen) -> f64) -> f64 {
        of.iter().map(|n| value(&self.seen[*n])).fold(0.0, f64::max)
    }

    fn neighbours(&self, n: usize) -> (Option<usize>, Option<usize>) {
        let follows = |a: &Memory, b: &Memory| a.relations.iter().any(|relation| relation.path == b.path);
        let place = |found: &dyn Fn(&Memory) -> bool| self.memories.iter().position(found);
        (place(&|other| follows(&self.memories[n], other)), place(&|other| follows(other, &self.memories[n])))
    }

    fn coverage(&self, of: &[Option<usize>]) -> f64 {
        let terms: BTreeSet<&String> = of.iter().flatten().flat_map(|n| &self.held[*n]).collect();
        let all: f64 = self.weights.values().sum();
        if all > 0.0 { terms.into_iter().map(|term| self.weights[term]).sum::<f64>() / all } else { 0.0 }
    }

    /// The soft match of some memories as one text.
    fn soft_together(&self, of: &[Option<usize>]) -> f64 {
        let best = |piece: u16| of.iter().flatten().map(|n| nearest(piece, &self.memories[*n])).fold(0.0, f64::max);
        self.pieces.iter().map(|(piece, weight)| weight * best(*piece)).sum()
    }

    fn soft_with_neighbours(&self, n: usize) -> f64 {
        let (previous, next) = self.neighbours(n);
        self.soft_together(&[Some(n), previous, next])
    }

    /// The soft match with neighbours relative to the candidates': 0 is their mean, in which 0.35 counts eight times; 1
    /// is the best.
    fn standing(&self, n: usize) -> f64 {
        let all: Vec<f64> = self.candidates().into_iter().map(|n| self.soft_with_neighbours(n)).collect();
        let mean = (all.iter().sum::<f64>() + 8.0 * 0.35) / (all.len() as f64 + 8.0);
        let best = all.into_iter().fold(0.0, f64::max);
        (self.soft_with_neighbours(n) - mean) / (best - mean).max(0.3)
    }

    /// How much further the best three candidates of speakers who are not named exceed their mean than those of named
    /// speakers. Zero unless both sides have at least eight candidates in conversations of named speakers.
    fn others_stand_out(&self, named: &dyn Fn(usize) -> bool) -> f64 {
        let (of_named, others): (Vec<usize>, Vec<usize>) = self.candidates().into_iter().partition(|n| named(*n));
        let session = |n: usize| &self.memories[n].session;
        let in_named_session = |n: &usize| of_named.iter().any(|other| session(*other) == session(*n));
        let others: Vec<usize> = others.into_iter().filter(in_named_session).collect();
        if of_named.len() < 8 || others.len() < 8 {
            return 0.0;
        }
        let stands_out = |of: &[usize]| {
            let mut all: Vec<f64> = of.iter().map(|n| self.seen[*n].soft).collect();
            all.sort_by(|a, b| b.total_cmp(a));
            all[..3].iter().sum::<f64>() / 3.0 - all.iter().sum::<f64>() / all.len() as f64
        };
        (stands_out(&others) - stands_out(&of_named)).max(0.0)
    }

    fn time_named(&self, n: usize) -> f64 {
        let known: Vec<f64> = self.nearness.iter().flatten().copied().collect();
        let usual = known.iter().sum::<f64>() / known.len().max(1) as f64;
        self.nearness[n].map_or(0.0, |near| ((near + 0.05) / (usual + 0.05)).ln())
    }

    /// The features that do not depend on the order of ties.
    fn features(&self, n: usize, query: &str) -> BTreeMap<&'static str, f64> {
        let own = self.seen[n];
        let (previous, next) = self.neighbours(n);
        let [before, after] = [previous, next].map(|n| n.map_or_else(Seen::default, |n| self.seen[n]));
        let candidates: Vec<usize> = self.candidates().into_iter().collect();
        let (best_bm25, best_cosine) =
            (self.best(&self.lexical, |seen| seen.bm25), self.best(&self.cue, |seen| seen.cosine));
        let best_soft = self.best(&candidates, |seen| seen.soft);
        let of = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let of_best = |seen: Seen| of(seen.bm25, best_bm25);
        let of_ceiling = |bm25: f64| of(bm25, self.ceiling).min(1.5);
        let memory = &self.memories[n];
        let session: Vec<usize> =
            candidates.iter().copied().filter(|other| self.memories[*other].session == memory.session).collect();
        let mean_of_best = |value: &dyn Fn(Seen) -> f64| {
            let mut values: Vec<f64> = session.iter().map(|n| value(self.seen[*n])).collect();
            values.sort_by(|a, b| b.total_cmp(a));
            values.iter().take(3).sum::<f64>() / 3.0
        };
        let named = |name: Option<&String>| name.is_some_and(|name| query.contains(name.as_str()));
        let anybody = candidates.iter().any(|n| named(self.memories[*n].speaker.as_ref()));
        let speaker = named(memory.speaker.as_ref());
        let entities = memory.entities.iter().filter(|entity| Some(*entity) != memory.speaker.as_ref());
        let truth = |value: bool| f64::from(u8::from(value));
        let of_session: Vec<Option<usize>> = session.iter().copied().chain([n]).map(Some).collect();
        BTreeMap::from([
            ("bm25_of_ceiling", of_ceiling(own.bm25)),
            ("bm25_of_best", of_best(own)),
            ("cosine", own.cosine),
            ("cosine_of_best", of(own.cosine, best_cosine)),
            ("cosine_standardised", own.standardised),
            ("agreement", of_best(own) * of(own.cosine, best_cosine)),
            ("previous_bm25", of_best(before)),
            ("previous_cosine", before.standardised),
            ("next_cosine", after.standardised),
            ("session_bm25", mean_of_best(&of_best)),
            ("session_cosine", mean_of_best(&|seen| seen.standardised)),
            ("speaker_named", truth(speaker)),
            ("other_speaker_named", truth(!speaker && anybody)),
            ("entity_named", truth(entities.into_iter().any(|entity| named(Some(entity))))),
            ("length", own.length),
            ("previous_length", before.length),
            ("next_length", after.length),
            ("asks", own.asks),
            ("previous_asks", before.asks),
            ("next_asks", after.asks),
            ("time_named", self.time_named(n)),
            ("query_terms", (1.0 + self.weights.len() as f64).ln() / 3.0),
            ("coverage_with_previous", self.coverage(&[Some(n), previous])),
            ("coverage_of_session", self.coverage(&of_session)),
            ("soft_match", own.soft),
            ("soft_match_squared", own.soft_squared),
            ("soft_match_of_best", of(own.soft, best_soft)),
            ("previous_soft_match", before.soft),
            ("next_soft_match", after.soft),
            ("soft_match_with_neighbours", self.soft_with_neighbours(n)),
            ("soft_match_with_neighbours_standing", self.standing(n)),
            ("soft_match_of_session", self.soft_together(&of_session)),
            ("query_best_bm25_of_ceiling", of_ceiling(best_bm25)),
            ("query_best_cosine", best_cosine),
            ("query_best_soft_match", best_soft),
            ("query_unknown", self.unknown),
            ("query_others_stand_out", self.others_stand_out(&|n| named(self.memories[n].speaker.as_ref()))),
        ])
    }
}

fn place(memories: &[Memory], hit: &Hit) -> usize {
    memories.iter().position(|memory| memory.path == hit.memory.path).expect("a hit is a memory")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_hit_has_the_features_of_the_reference(
        said in proptest::collection::vec(said(), 1..60),
        asked in proptest::collection::vec(0..WORDS.len(), 1..6),
        name in proptest::option::of(0..NAMES.len()),
        vector in proptest::collection::vec(-1f32..1.0, DIMENSIONS),
        tagged in any::<bool>(),
        stale in 0..40usize,
        days in proptest::collection::btree_set(0..30i64, 0..3),
    ) {
        let memories = memories(&said);
        let folder = tempfile::tempdir().expect("temporary directory");
        let settings = IndexSettings { dimensions: DIMENSIONS, model: "test".into(), tokens: &PIECES };
        let mut index = Index::open(folder.path(), settings).expect("opens");
        // One of the memories has a former version.
        let mut former = memories[stale % memories.len()].clone();
        former.content = "zircon juniper zircon".into();
        index.apply(vec![Change::Put(Box::new(former))], Head::from([1; 20])).expect("applies");
        let puts = memories.iter().map(|memory| Change::Put(Box::new(memory.clone()))).collect();
        index.apply(puts, Head::from([2; 20])).expect("applies");

        let mut words: Vec<&str> = asked.iter().map(|word| WORDS[*word]).collect();
        words.push("zircon");
        words.extend(name.map(|name| NAMES[name]));
        let (text, vector) = (words.join(" "), unit(&vector));
        let filter = Filter { tags_any: if tagged { vec!["tag".into()] } else { Vec::new() }, ..Filter::default() };
        let times: Vec<Range<i64>> = days.into_iter().map(|day| day * DAY..(day + 1) * DAY).collect();
        let query = Query { exact: true, times: &times, ..query(&text, &vector, &filter) };
        let hits = index.published().load_full().search(&query).expect("searches").hits;
        let by_cue = hits.iter().filter(|hit| hit.arms.cue).map(|hit| place(&memories, hit)).collect();
        let reference = Reference::new(&memories, &query, &by_cue);
        prop_assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
        for hit in &hits {
            let n = place(&memories, hit);
            prop_assert!(filter.accepts(&memories[n]));
            prop_assert_eq!(hit.arms.lexical, reference.seen[n].bm25 > 0.0);
            prop_assert!(hit.arms.lexical || hit.arms.cue || hit.via.is_some(), "no arm found the hit");
            let expected = reference.features(n, &text);
            for (name, found) in FEATURE_NAMES.iter().zip(hit.features.values()) {
                if let Some(expected) = expected.get(name) {
                    // A feature of a cosine is as exact as the cosine; one relative to the best or the spread is less
                    // exact.
                    let tolerance = match *name {
                        "cosine" | "query_best_cosine" => COSINE_TOLERANCE,
                        "cosine_of_best" | "agreement" => 2.0 * COSINE_TOLERANCE / expected_best(&reference),
                        cosine if cosine.contains("cosine") => 4.0 * COSINE_TOLERANCE,
                        _ => 1e-4,
                    };
                    let found = f64::from(found);
                    prop_assert!((found - expected).abs() <= tolerance, "{name}: {found}, expected {expected}");
                }
            }
        }
        for n in reference.candidates() {
            prop_assert!(hits.iter().any(|hit| place(&memories, hit) == n), "{} is missing", memories[n].path);
        }
    }
}

fn expected_best(reference: &Reference<'_>) -> f64 {
    reference.best(&reference.cue, |seen| seen.cosine).max(COSINE_MIN)
}
