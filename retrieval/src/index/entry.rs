//! What ranking needs of a memory, in numbers, so that no text is looked at while a query runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::hash::{Kind, hash};
use crate::memory::{Memory, Millis, Relation};
use crate::text;
use crate::tokens::TokenVectors;

/// A time that is not known; before all others.
pub(crate) const UNKNOWN: Millis = Millis::MIN;
/// A memory that never passes out of retrieval.
pub(crate) const NEVER: Millis = Millis::MAX;

/// One change in numbers: a memory as it was written, or that a path was forgotten.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The path's hash.
    pub(crate) path: u64,
    /// How many vectors it has.
    pub(crate) rows: u32,
    /// CRC-32 of those vectors' rows.
    pub(crate) rows_checksum: u32,
    /// The memory; none when it was forgotten.
    pub(crate) body: Option<Body>,
}

/// A memory in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    /// Its conversation; zero for none.
    pub(crate) session: u64,
    /// Occurred, created, updated; [`UNKNOWN`] where not known.
    pub(crate) times: [Millis; 3],
    /// From then on it is not found; [`NEVER`] for most.
    pub(crate) hidden_from: Millis,
    /// Words of the content.
    pub(crate) words: u32,
    /// Whether the content asks something.
    pub(crate) asks: bool,
    /// Whether vectors of some cues are still to come.
    pub(crate) waiting: bool,
    /// The folded words of the speaker's name.
    pub(crate) speaker: Vec<u64>,
    /// The folded words of the names in it, without the speaker's.
    pub(crate) entities: Vec<u64>,
    /// Its word pieces that tell something, ascending, each once.
    pub(crate) tokens: Vec<u16>,
    /// Its terms, ascending, with how often each occurs.
    pub(crate) terms: Vec<(u64, u8)>,
    /// The sum of those counts.
    pub(crate) length: u32,
    /// The folders that it lies in and its tags, ascending.
    pub(crate) facets: Vec<u64>,
    /// The paths that it is linked to; the lowest bit marks the memory that it follows.
    pub(crate) links: Vec<u64>,
}

impl Entry {
    /// A path that was forgotten.
    pub(crate) fn forgotten(path: &str) -> Self {
        Self { path: hash(Kind::Path, path), rows: 0, rows_checksum: 0, body: None }
    }

    /// A memory as it is written.
    pub(crate) fn of(memory: &Memory, vocabulary: &dyn TokenVectors) -> Self {
        let speaker = name_words(memory.speaker.iter());
        let mut entities = name_words(memory.entities.iter());
        entities.retain(|word| !speaker.contains(word));
        let said = format!("{}\n{}", memory.content, memory.speaker.as_deref().unwrap_or_default());
        let mut tokens = vocabulary.tokens(&said);
        tokens.retain(|token| vocabulary.tells(*token));
        tokens.sort_unstable();
        tokens.dedup();
        let terms = counted(memory, &said);
        let length = terms.iter().map(|(_, count)| u32::from(*count)).sum();
        let folders = memory.path.match_indices('/').map(|(at, _)| hash(Kind::Folder, &memory.path[..at]));
        let tags = memory.user_tags.iter().chain(&memory.inferred_tags).map(|tag| hash(Kind::Tag, tag));
        let mut facets: Vec<u64> = folders.chain(tags).collect();
        facets.sort_unstable();
        facets.dedup();
        let link = |relation: &Relation| hash(Kind::Path, &relation.path) | u64::from(relation.is_follows());
        let body = Body {
            session: memory.session.as_ref().map_or(0, |session| hash(Kind::Session, session)),
            times: [memory.occurred, memory.created, memory.updated].map(|time| time.unwrap_or(UNKNOWN)),
            hidden_from: memory.hidden_from.unwrap_or(NEVER),
            words: memory.content.split_whitespace().count() as u32,
            asks: memory.content.contains(text::QUESTION_MARKS),
            waiting: memory.waiting,
            speaker,
            entities,
            tokens,
            terms,
            length,
            facets,
            links: memory.relations.iter().map(link).collect(),
        };
        let rows = memory.cues.iter().filter(|cue| cue.vector.is_some()).count() as u32;
        Self { path: hash(Kind::Path, &memory.path), rows, rows_checksum: 0, body: Some(body) }
    }
}

/// The terms of what was said and, once each, of cues that hold more than that.
fn counted(memory: &Memory, said: &str) -> Vec<(u64, u8)> {
    let mut counts: BTreeMap<u64, u8> = BTreeMap::new();
    text::for_each_term(said, |term| {
        let count = counts.entry(hash(Kind::Term, term)).or_default();
        *count = count.saturating_add(1);
    });
    for cue in &memory.cues {
        text::for_each_term(&cue.text, |term| {
            counts.entry(hash(Kind::Term, term)).or_insert(1);
        });
    }
    counts.into_iter().collect()
}

/// The folded words of names as numbers, in order, each once.
fn name_words<'a>(names: impl Iterator<Item = &'a String>) -> Vec<u64> {
    let mut words = Vec::new();
    for word in names.flat_map(|name| name.split_whitespace()) {
        let word = hash(Kind::Name, &text::fold(word));
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}
