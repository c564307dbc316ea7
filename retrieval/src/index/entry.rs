//! Entries of the log: what ranking needs of a memory, as numbers, so that a query reads no text.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use cuebase_language::tokenize::{self, Place};
use serde::{Deserialize, Serialize};

use super::claim_entry::ClaimEntry;
use super::number_entry::NumberEntry;
use crate::hash::{FacetHash, Link, MetadataKeyHash, NameHash, PathHash, SessionHash, StatementHash, TermHash};
use crate::memory::{Memory, Millis};
use crate::tokens::TokenVectors;

pub(crate) use crate::time::{NEVER, UNKNOWN};

/// One change: a memory that was written, or a path that was forgotten.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChangeEntry {
    pub(crate) path: PathHash,
    /// The number of cues with a vector.
    pub(crate) rows: u32,
    /// The CRC-32 of the rows of those vectors.
    pub(crate) rows_checksum: u32,
    /// The memory; `None` if the path was forgotten.
    pub(crate) body: Option<IndexedMemory>,
}

/// A memory as numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct IndexedMemory {
    /// The conversation, or [`SessionHash::NONE`].
    pub(crate) session: SessionHash,
    /// When the content happened. This and the next two are [`UNKNOWN`] if not known.
    pub(crate) occurred: Millis,
    /// When the memory was first written.
    pub(crate) created: Millis,
    /// When the memory was last written.
    pub(crate) updated: Millis,
    /// The time of expiry, or [`NEVER`].
    pub(crate) hidden_from: Millis,
    /// The number of words of the content.
    pub(crate) words: u32,
    /// Whether the content contains a question.
    pub(crate) asks: bool,
    /// Whether some cues await vectors.
    pub(crate) waiting: bool,
    /// The folded words of the speaker's name.
    pub(crate) speaker: Vec<NameHash>,
    /// The folded words of the names in the content, without the speaker's.
    pub(crate) entities: Vec<NameHash>,
    /// The tokens that [are content](TokenVectors::is_content), ascending, without duplicates.
    pub(crate) tokens: Vec<u16>,
    /// The terms, ascending, with the number of occurrences of each.
    pub(crate) terms: Vec<(TermHash, u8)>,
    /// The number of words that have terms: the terms of a word's further forms do not make a memory longer.
    pub(crate) length: u32,
    /// The facets: folders, tags, claims, the statement, replaced paths, the metadata; ascending.
    pub(crate) facets: Vec<FacetHash>,
    /// The links to related memories.
    pub(crate) links: Vec<Link>,
    pub(crate) claims: Vec<ClaimEntry>,
    /// The position among the memories that were written at the same time.
    pub(crate) sequence: u32,
    /// The statement without its dates, or [`StatementHash::NONE`].
    pub(crate) statement: StatementHash,
    /// When somebody set that the memory begins to hold, or [`UNKNOWN`].
    pub(crate) valid_from: Millis,
    /// When somebody set that the memory stops holding, or [`NEVER`].
    pub(crate) valid_until: Millis,
    /// The paths of the memories that it replaces.
    pub(crate) supersedes: Vec<PathHash>,
    /// The numbers of the metadata.
    pub(crate) numbers: Vec<NumberEntry>,
}

impl ChangeEntry {
    /// The entry of a path that is forgotten.
    pub(crate) fn forget(path: &str) -> Self {
        Self { path: PathHash::of(path), rows: 0, rows_checksum: 0, body: None }
    }

    /// The entry of a memory that is written.
    pub(crate) fn put(memory: &Memory, vocabulary: &dyn TokenVectors) -> Self {
        let rows = memory.cues.iter().filter(|cue| cue.vector.is_some()).count() as u32;
        let body = Some(IndexedMemory::new(memory, vocabulary));
        Self { path: PathHash::of(&memory.path), rows, rows_checksum: 0, body }
    }
}

impl IndexedMemory {
    /// What a tombstone holds in place of a memory.
    pub(crate) fn tombstone() -> Self {
        Self {
            occurred: UNKNOWN,
            created: UNKNOWN,
            updated: UNKNOWN,
            hidden_from: NEVER,
            valid_from: UNKNOWN,
            valid_until: NEVER,
            ..Self::default()
        }
    }

    fn new(memory: &Memory, vocabulary: &dyn TokenVectors) -> Self {
        let speaker = name_words(memory.speaker.iter());
        let mut entities = name_words(memory.entities.iter());
        entities.retain(|word| !speaker.contains(word));
        let said = format!("{}\n{}", memory.content, memory.speaker.as_deref().unwrap_or_default());
        let mut tokens = vocabulary.tokens(&said);
        tokens.retain(|token| vocabulary.is_content(*token));
        tokens.sort_unstable();
        tokens.dedup();
        let (terms, length) = count_terms(memory, &said);
        Self {
            session: match &memory.session {
                Some(session) => SessionHash::of(session),
                None => SessionHash::NONE,
            },
            occurred: memory.occurred.unwrap_or(UNKNOWN),
            created: memory.created.unwrap_or(UNKNOWN),
            updated: memory.updated.unwrap_or(UNKNOWN),
            hidden_from: memory.hidden_from.unwrap_or(NEVER),
            words: memory.content.split_whitespace().count() as u32,
            asks: memory.content.contains(tokenize::QUESTION_MARKS),
            waiting: memory.waiting,
            speaker,
            entities,
            tokens,
            terms,
            length,
            facets: facets(memory),
            links: links(memory),
            claims: memory.claims.iter().map(ClaimEntry::new).collect(),
            sequence: memory.sequence,
            statement: StatementHash::of(&memory.statement),
            valid_from: memory.validity.from.unwrap_or(UNKNOWN),
            valid_until: memory.validity.until.unwrap_or(NEVER),
            supersedes: memory.validity.supersedes.iter().map(|path| PathHash::of(path)).collect(),
            numbers: numbers(memory),
        }
    }
}

/// Returns the facets of a memory, ascending, without duplicates: the folders above it, its tags, the subjects and keys
/// of its claims, its statement, the paths that it replaces, and its metadata.
fn facets(memory: &Memory) -> Vec<FacetHash> {
    let mut facets = Vec::new();
    for (end, _) in memory.path.match_indices('/') {
        facets.push(FacetHash::of_folder(&memory.path[..end]));
    }
    for tag in memory.user_tags.iter().chain(&memory.inferred_tags) {
        facets.push(FacetHash::of_tag(tag));
    }
    for claim in &memory.claims {
        let claim = ClaimEntry::new(claim);
        facets.push(FacetHash::of_subject(claim.subject));
        facets.push(claim.key());
    }
    if !memory.statement.is_empty() {
        facets.push(FacetHash::of_statement(StatementHash::of(&memory.statement)));
    }
    for path in &memory.validity.supersedes {
        facets.push(FacetHash::of_superseded(PathHash::of(path)));
    }
    for (key, value) in &memory.metadata {
        facets.push(FacetHash::of_metadata(key, &value.canonical()));
        if value.number().is_some() {
            facets.push(FacetHash::of_number(MetadataKeyHash::of(key)));
        }
    }
    facets.sort_unstable();
    facets.dedup();
    facets
}

/// Returns the numbers of a memory's metadata.
fn numbers(memory: &Memory) -> Vec<NumberEntry> {
    let mut numbers = Vec::new();
    for (key, value) in &memory.metadata {
        numbers.extend(NumberEntry::new(key, value));
    }
    numbers
}

/// Returns the links to related memories.
fn links(memory: &Memory) -> Vec<Link> {
    let mut links = Vec::with_capacity(memory.relations.len());
    for relation in &memory.relations {
        let path = PathHash::of(&relation.path);
        links.push(if relation.is_follows() { Link::previous(path) } else { Link::related(path) });
    }
    links
}

/// How often a memory has a term.
#[derive(Default)]
struct TermCount {
    /// In any form of a word.
    all: u8,
    /// As the first form of a word.
    words: u8,
}

impl TermCount {
    fn add(&mut self, place: Place) {
        self.all = self.all.saturating_add(1);
        if place == Place::Word {
            self.words = self.words.saturating_add(1);
        }
    }
}

/// Counts the terms and the words of `said`, the content and the speaker. A term that only cues contain counts once.
fn count_terms(memory: &Memory, said: &str) -> (Vec<(TermHash, u8)>, u32) {
    let mut counts: BTreeMap<TermHash, TermCount> = BTreeMap::new();
    tokenize::for_each_term(said, |term| counts.entry(TermHash::of(term.text)).or_default().add(term.place));
    for cue in &memory.cues {
        tokenize::for_each_term(&cue.text, |term| {
            if let Entry::Vacant(entry) = counts.entry(TermHash::of(term.text)) {
                entry.insert(TermCount::default()).add(term.place);
            }
        });
    }
    let (mut terms, mut length) = (Vec::with_capacity(counts.len()), 0);
    for (term, count) in counts {
        terms.push((term, count.all));
        length += u32::from(count.words);
    }
    (terms, length)
}

/// Returns the folded words of names, in order, without duplicates.
fn name_words<'a>(names: impl Iterator<Item = &'a String>) -> Vec<NameHash> {
    let mut words = Vec::new();
    for name in names {
        for word in name.split_whitespace() {
            let word = NameHash::of(&tokenize::fold(word));
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    words
}
