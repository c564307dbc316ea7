//! Explanations of random searches: their parts sum to the score, and every memory has a reason.

mod pieces;

use std::ops::Range;

use cuebase_language::claims::{AskedClaims, AskedKind, AskedPeriod};
use cuebase_retrieval::{
    Arm, Change, Claim, ClaimKind, Cue, Currency, ENCODER_IDENTITY, Explain, Explanation, FeatureGroup, Filter, Head,
    Hit, Index, IndexSettings, Memory, Query, Relation, Validity,
};
use pieces::{Pieces, query};
use proptest::prelude::*;

const WORDS: [&str; 8] = ["amber", "birch", "cobalt", "delta", "ember", "fjord", "garnet", "hazel"];
const NAMES: [&str; 2] = ["anna", "boris"];
const DIMENSIONS: usize = 8;
const DAY: i64 = 86_400_000;
const NOW: i64 = 20 * DAY;
const TOLERANCE: f64 = 1e-4;

static PIECES: Pieces = Pieces { words: &WORDS, nearness: 0.5 };

#[derive(Clone, Debug)]
struct Said {
    words: Vec<usize>,
    speaker: usize,
    session: usize,
    tag: bool,
    day: i64,
    /// The value of an attribute of the speaker, if the memory claims one.
    claim: Option<usize>,
    /// The earlier memory that this one replaces, if it exists.
    replaces: Option<usize>,
    expires: bool,
    vector: Vec<f32>,
}

fn said() -> impl Strategy<Value = Said> {
    let words = proptest::collection::vec(0..WORDS.len(), 1..7);
    let vector = proptest::collection::vec(-1f32..1.0, DIMENSIONS);
    let place = (0..NAMES.len(), 0..3usize, any::<bool>(), 0..20i64);
    let validity =
        (proptest::option::of(0..3usize), proptest::option::weighted(0.2, 0..40usize), proptest::bool::weighted(0.1));
    (words, place, validity, vector).prop_map(|(words, place, validity, vector)| {
        let (speaker, session, tag, day) = place;
        let (claim, replaces, expires) = validity;
        Said { words, speaker, session, tag, day, claim, replaces, expires, vector }
    })
}

fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-6);
    vector.iter().map(|v| v / length).collect()
}

fn path(number: usize) -> String {
    format!("{}/m{number}.md", ["facts", "rules"][number % 2])
}

fn memory(number: usize, said: &Said) -> Memory {
    let words: Vec<&str> = said.words.iter().map(|word| WORDS[*word]).collect();
    let claim = |value: usize| Claim {
        subject: NAMES[said.speaker].into(),
        attribute: "home".into(),
        value: WORDS[value].into(),
        kind: ClaimKind::Only,
        from: Some(said.day * DAY),
    };
    let before =
        |number: usize| Relation { path: path(number), kind: Relation::FOLLOWS.into(), snippet: String::new() };
    Memory {
        path: path(number),
        content: format!("{}.", words.join(" ")),
        cues: vec![
            Cue { text: words[0].into(), vector: Some(unit(&said.vector)) },
            Cue { text: words.join(" "), vector: Some(unit(&said.vector.iter().rev().copied().collect::<Vec<f32>>())) },
        ],
        speaker: Some(NAMES[said.speaker].into()),
        session: Some(format!("s{}", said.session)),
        occurred: Some(said.day * DAY),
        created: Some(said.day * DAY),
        updated: Some(said.day * DAY),
        hidden_from: said.expires.then_some(NOW - DAY),
        user_tags: if said.tag { vec!["tag".into()] } else { Vec::new() },
        relations: number.checked_sub(1).map(before).into_iter().collect(),
        claims: said.claim.map(claim).into_iter().collect(),
        validity: Validity {
            supersedes: said.replaces.filter(|other| *other < number).map(path).into_iter().collect(),
            ..Validity::default()
        },
        ..Memory::default()
    }
}

/// What a query asks in addition to its words.
#[derive(Clone, Debug)]
struct Conditions {
    name: Option<usize>,
    tagged: bool,
    day: Option<i64>,
    as_of: Option<i64>,
    currency: Currency,
    period: AskedPeriod,
    kind: AskedKind,
}

fn conditions() -> impl Strategy<Value = Conditions> {
    let currency = prop_oneof![4 => Just(Currency::First), 1 => Just(Currency::Only), 1 => Just(Currency::Any)];
    let period = prop_oneof![
        3 => Just(AskedPeriod::Present),
        1 => Just(AskedPeriod::Former),
        1 => (0..20i64).prop_map(|day| AskedPeriod::Named(day * DAY, (day + 1) * DAY - 1)),
    ];
    let kind = prop_oneof![Just(AskedKind::Anything), Just(AskedKind::State)];
    let day = proptest::option::of(0..20i64);
    let as_of = proptest::option::weighted(0.3, 0..20i64);
    let name = proptest::option::of(0..NAMES.len());
    (name, any::<bool>(), day, as_of, currency, (period, kind)).prop_map(
        |(name, tagged, day, as_of, currency, asked)| {
            let (period, kind) = asked;
            Conditions { name, tagged, day, as_of, currency, period, kind }
        },
    )
}

fn log_odds(explanation: &Explanation) -> f64 {
    explanation.base_log_odds + explanation.contributions.iter().map(|part| part.log_odds).sum::<f64>()
}

/// Checks the score against the parts, in log-odds. The nearer a score of single precision is to one, the less it says
/// about its log-odds.
fn check_sum(score: f32, explanation: &Explanation) -> Result<(), TestCaseError> {
    let score = f64::from(score);
    prop_assert!(score > 0.0 && score < 1.0);
    let expected = (score / (1.0 - score)).ln();
    let tolerance = TOLERANCE + 2.0 * f64::from(f32::EPSILON) / (1.0 - score);
    let sum = log_odds(explanation);
    prop_assert!((sum - expected).abs() < tolerance, "{} instead of {}: {:?}", sum, expected, explanation);
    Ok(())
}

fn check_parts(hit: &Hit, explanation: &Explanation) -> Result<(), TestCaseError> {
    let groups: Vec<FeatureGroup> = explanation.contributions.iter().map(|part| part.group).collect();
    prop_assert_eq!(groups, FeatureGroup::ALL);
    let cue = explanation.cue.as_ref().expect("every memory has vectors");
    prop_assert!((cue.cosine - hit.features.cosine).abs() < 1e-6);
    let text = cue.text.as_deref().expect("every cue has a vector");
    prop_assert!(hit.memory.cues.iter().any(|cue| cue.text == text));
    let found = [hit.arms.lexical, hit.arms.cue, hit.arms.graph].iter().filter(|found| **found).count();
    prop_assert_eq!(explanation.arms.len(), found);
    prop_assert_eq!(explanation.relation.is_some(), hit.arms.graph);
    let bm25: f32 = explanation.terms.iter().map(|part| part.bm25).sum();
    prop_assert_eq!(bm25 > 0.0, hit.arms.lexical);
    for arm in &explanation.arms {
        if arm.arm == Arm::Lexical {
            let score = arm.score.expect("the lexical arm has a score");
            prop_assert!((bm25 - score).abs() < 1e-4, "{} instead of {}", bm25, score);
        }
    }
    Ok(())
}

#[test]
fn a_memory_that_waits_for_its_vectors_is_scored_as_without_them() {
    let said = |number: usize| Memory {
        path: path(number),
        content: format!("{} {}.", WORDS[number % 7], WORDS[(number + 1) % 7]),
        cues: vec![Cue { text: "cue".into(), vector: Some(unit(&[1.0; DIMENSIONS])) }],
        ..Memory::default()
    };
    let mut memories: Vec<Memory> = (0..21).map(said).collect();
    let waiting = Memory {
        content: "A hazel.".into(),
        cues: vec![Cue { text: "cue".into(), vector: None }],
        waiting: true,
        ..said(21)
    };
    memories.push(waiting);
    let folder = tempfile::tempdir().expect("temporary directory");
    let settings = IndexSettings { dimensions: DIMENSIONS, model: "test".into(), tokens: &PIECES };
    let mut index = Index::open(folder.path(), settings).expect("opens");
    let puts = memories.into_iter().map(|memory| Change::Put(Box::new(memory))).collect();
    index.apply(puts, Head::from([1; 20])).expect("applies");
    let snapshot = index.published().load_full();

    let (vector, filter) = (unit(&[1.0; DIMENSIONS]), Filter::default());
    let with_vector = query("hazel", &vector, &filter);
    let hits = snapshot.search(&with_vector).expect("searches").hits;
    assert_eq!(hits[0].memory.path, path(21));
    let without_vector = Query { vector: None, ..with_vector };
    let without = snapshot.search(&without_vector).expect("searches").hits;
    assert_eq!((without[0].memory.path.as_str(), without[0].score), (path(21).as_str(), hits[0].score));
}

/// Returns how much better than a memory with the words of a question one is that is near by its vector, with a model.
fn advantage_of_vectors(model: &str, question: &str) -> f32 {
    let with = |number: usize, content: &str, vector: &[f32]| Memory {
        path: path(number),
        content: content.to_owned(),
        cues: vec![Cue { text: "cue".into(), vector: Some(unit(vector)) }],
        ..Memory::default()
    };
    let (near, far) =
        ([1.0; DIMENSIONS], std::array::from_fn::<f32, DIMENSIONS, _>(|n| if n % 2 == 0 { 1.0 } else { -0.9 }));
    let mut memories = vec![with(0, "hazel", &far), with(1, "walnut", &near)];
    memories.extend((2..30).map(|number| with(number, "maple", &far)));
    let folder = tempfile::tempdir().expect("temporary directory");
    let settings = IndexSettings { dimensions: DIMENSIONS, model: model.into(), tokens: &PIECES };
    let mut index = Index::open(folder.path(), settings).expect("opens");
    let puts = memories.into_iter().map(|memory| Change::Put(Box::new(memory))).collect();
    index.apply(puts, Head::from([1; 20])).expect("applies");
    let (vector, filter) = (unit(&near), Filter::default());
    let hits = index.published().load_full().search(&query(question, &vector, &filter)).expect("searches").hits;
    let score = |number: usize| hits.iter().find(|hit| hit.memory.path == path(number)).map_or(0.0, |hit| hit.score);
    score(1) - score(0)
}

#[test]
fn the_words_decide_where_the_built_in_encoder_does_not_know_the_language() {
    let (english, german) = ("where is the hazel", "wo ist denn die hazel");
    let encoder = format!("{ENCODER_IDENTITY}test");
    let (in_english, in_german) = (advantage_of_vectors(&encoder, english), advantage_of_vectors(&encoder, german));
    assert!(in_german < in_english, "{in_german} {in_english}");
    assert!(in_german < advantage_of_vectors("another model", german), "another model may know the language");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_parts_of_an_explanation_sum_to_the_score(
        said in proptest::collection::vec(said(), 1..40),
        asked in proptest::collection::vec(0..WORDS.len(), 1..5),
        vector in proptest::collection::vec(-1f32..1.0, DIMENSIONS),
        conditions in conditions(),
    ) {
        let memories: Vec<Memory> = said.iter().enumerate().map(|(number, said)| memory(number, said)).collect();
        let folder = tempfile::tempdir().expect("temporary directory");
        let settings = IndexSettings { dimensions: DIMENSIONS, model: "test".into(), tokens: &PIECES };
        let mut index = Index::open(folder.path(), settings).expect("opens");
        let puts = memories.iter().map(|memory| Change::Put(Box::new(memory.clone()))).collect();
        index.apply(puts, Head::from([1; 20])).expect("applies");
        let snapshot = index.published().load_full();

        let mut words: Vec<&str> = asked.iter().map(|word| WORDS[*word]).collect();
        words.extend(conditions.name.map(|name| NAMES[name]));
        let (text, vector) = (words.join(" "), unit(&vector));
        let tags = if conditions.tagged { vec!["tag".into()] } else { Vec::new() };
        let filter = Filter { tags_any: tags, ..Filter::default() };
        let times: Vec<Range<i64>> = conditions.day.map(|day| day * DAY..(day + 1) * DAY).into_iter().collect();
        let claims = AskedClaims {
            subjects: NAMES.iter().map(|name| (*name).to_owned()).collect(),
            attributes: vec!["home".into()],
            period: conditions.period,
            kind: conditions.kind,
        };
        let query = Query {
            times: &times,
            now: NOW,
            as_of: conditions.as_of.map(|day| day * DAY),
            currency: conditions.currency,
            asked: &claims,
            explain: Explain::Yes,
            ..query(&text, &vector, &filter)
        };
        let hits = snapshot.search(&query).expect("searches").hits;
        for hit in &hits {
            let explanation = hit.explanation.as_deref().expect("was asked for");
            check_sum(hit.score, explanation)?;
            check_parts(hit, explanation)?;
        }
        let plain = snapshot.search(&Query { explain: Explain::No, ..query.clone() }).expect("searches").hits;
        prop_assert_eq!(plain.len(), hits.len());
        for (plain, hit) in plain.iter().zip(&hits) {
            prop_assert!(plain.explanation.is_none());
            prop_assert_eq!(plain.score.to_bits(), hit.score.to_bits());
        }
        for memory in &memories {
            let explained = snapshot.explain(&query, &memory.path).expect("explains");
            let hit = hits.iter().find(|hit| hit.memory.path == memory.path);
            prop_assert_eq!(explained.is_hit(), hit.is_some(), "{:?}", explained);
            let ranked = explained.ranked.as_ref().expect("exists");
            check_sum(ranked.score, &ranked.explanation)?;
            if let Some(hit) = hit {
                prop_assert_eq!(ranked.score.to_bits(), hit.score.to_bits());
                prop_assert_eq!(Some(&ranked.explanation), hit.explanation.as_deref());
            }
        }
    }
}
