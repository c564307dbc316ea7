//! The parts of a query: its words, and its ranges with synonyms, looked up in the index and weighed.
//!
//! A word in several forms, such as two stems, is one part with a wording for each form: a memory that holds two of
//! them does not hold two words of the query. A word that no memory holds may be misspelt: the words that differ from it
//! in one letter are its wordings, with less weight.

use std::collections::HashSet;

use cuebase_language::tokenize::{Place, for_each_near_term, for_each_term};

use super::block::QueryTerm;
use crate::arms::bm25::{idf, saturated};
use crate::hash::{PostingKey, TermHash};
use crate::index::{Postings, Table};
use crate::query::Query;
use crate::vocabulary::Synonyms;

/// Limit of the query's parts that are scored, the heaviest first: each has one bit in a mask.
const PARTS_MAX: usize = 32;
/// Limit of the words of a query that are taken as misspelt: a query with more is about something else.
const MISSPELT_MAX: usize = 3;
/// Share of the weight of a word that differs from the query's in one letter.
const NEAR_WEIGHT: f32 = 0.7;

/// A part of the query: a memory that holds any one of its wordings holds the part.
struct QueryPart {
    /// The part as the query has it: a word, or a range with synonyms.
    text: String,
    /// The terms of each wording: of each synonym, or of each form of the word.
    wordings: Vec<Vec<TermHash>>,
    /// Whether the part is a word of a date: a memory of that date need not contain it.
    names_time: bool,
}

/// A part of the query that some memory holds.
pub(super) struct KnownPart<'a> {
    /// The part as the query has it: a word, or a range with synonyms.
    pub(super) text: String,
    /// The weight of the heaviest wording.
    pub(super) weight: f32,
    pub(super) wordings: Vec<Vec<QueryTerm<'a>>>,
}

/// The parts of the query that some memory holds, and the weights of all parts.
#[derive(Default)]
pub(super) struct WeightedParts<'a> {
    /// The heaviest parts, heaviest first, at most [`PARTS_MAX`].
    pub(super) known: Vec<KnownPart<'a>>,
    /// The weight of all known parts, also of those beyond the limit.
    pub(super) known_weight: f32,
    pub(super) unknown_weight: f32,
    pub(super) ceiling: f32,
}

/// Looks up the parts of a query in the index and weighs them.
pub(super) fn weighted_parts<'a>(table: &'a Table, query: &Query<'_>) -> WeightedParts<'a> {
    let unknown_weight = idf(table.live() as f32, 0.0);
    let mut parts = WeightedParts::default();
    let mut misspelt = 0;
    for part in query_parts(query) {
        let mut wordings: Vec<Vec<QueryTerm<'_>>> =
            part.wordings.iter().map(|wording| known_terms(table, wording)).collect();
        wordings.retain(|wording| !wording.is_empty());
        if wordings.is_empty() && !part.names_time && misspelt < MISSPELT_MAX {
            wordings = near_wordings(table, &part.text);
            if !wordings.is_empty() {
                misspelt += 1;
                parts.unknown_weight += (1.0 - NEAR_WEIGHT) * unknown_weight;
            }
        }
        let mut weight = 0f32;
        for wording in &wordings {
            weight = weight.max(wording.iter().map(|term| term.weight).sum());
        }
        if weight > 0.0 {
            parts.known_weight += weight;
            parts.ceiling += saturated(weight);
            parts.known.push(KnownPart { text: part.text, weight, wordings });
        } else if !part.names_time {
            parts.unknown_weight += unknown_weight;
        }
    }
    // Ties by hash. This is the order in which every document's score is summed.
    parts.known.sort_by(|a, b| {
        b.weight.total_cmp(&a.weight).then_with(|| first_term(&a.wordings).cmp(&first_term(&b.wordings)))
    });
    parts.known.truncate(PARTS_MAX);
    parts
}

/// Splits a query into parts: each range with synonyms, with a wording per synonym, and every other word on its own.
fn query_parts(query: &Query<'_>) -> Vec<QueryPart> {
    let mut parts = Vec::new();
    for synonyms in query.synonyms {
        let text = query.text.get(synonyms.range.clone()).unwrap_or_default().to_owned();
        parts.push(QueryPart { text, wordings: wordings(query.text, synonyms), names_time: false });
    }
    let time_terms = time_terms(query);
    for QueryWord { forms, text } in words_of(&text_without_synonyms(query)) {
        let names_time = forms.first().is_some_and(|form| form.iter().any(|term| time_terms.contains(term)));
        parts.push(QueryPart { text: text.to_owned(), wordings: forms, names_time });
    }
    parts
}

/// Returns the text of a query with a space in place of each range with synonyms.
fn text_without_synonyms(query: &Query<'_>) -> String {
    let text = query.text;
    let mut rest = String::new();
    let mut end = 0;
    for synonyms in query.synonyms {
        if let Some(between) = text.get(end..synonyms.range.start) {
            rest.push_str(between);
        }
        rest.push(' ');
        end = synonyms.range.end;
    }
    if let Some(tail) = text.get(end..) {
        rest.push_str(tail);
    }
    rest
}

/// Returns the terms of each wording of a range with synonyms: as it is written, then the other forms.
fn wordings(text: &str, synonyms: &Synonyms) -> Vec<Vec<TermHash>> {
    let mut wordings = Vec::with_capacity(1 + synonyms.forms.len());
    let written = text.get(synonyms.range.clone()).unwrap_or_default();
    for wording in std::iter::once(written).chain(synonyms.forms.iter().map(String::as_str)) {
        let terms = terms_of(wording);
        if !terms.is_empty() {
            wordings.push(terms);
        }
    }
    wordings
}

/// Returns the terms of the words that name times.
fn time_terms(query: &Query<'_>) -> HashSet<TermHash> {
    let mut terms = HashSet::new();
    for range in query.time_words {
        if let Some(words) = query.text.get(range.clone()) {
            terms.extend(terms_of(words));
        }
    }
    terms
}

/// Returns the terms of the first forms of a text's words, ascending, without duplicates.
fn terms_of(text: &str) -> Vec<TermHash> {
    let mut terms = Vec::new();
    for_each_term(text, |term| {
        if term.place == Place::Word {
            terms.push(TermHash::of(term.text));
        }
    });
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// A word of a query.
struct QueryWord<'a> {
    forms: Vec<Vec<TermHash>>,
    text: &'a str,
}

/// Returns a text's words, each once, as it is written first.
fn words_of(text: &str) -> Vec<QueryWord<'_>> {
    let mut words: Vec<QueryWord<'_>> = Vec::new();
    for_each_term(text, |term| {
        let hash = TermHash::of(term.text);
        match (term.place, words.last_mut()) {
            (Place::Form, Some(word)) => word.forms.push(vec![hash]),
            (Place::Part, Some(word)) => add_part(&mut word.forms, hash),
            _ => words.push(QueryWord { forms: vec![vec![hash]], text: term.word }),
        }
    });
    words.sort_by(|a, b| a.forms.cmp(&b.forms));
    words.dedup_by(|a, b| a.forms == b.forms);
    words
}

/// Adds a term to the last form of a word.
fn add_part(forms: &mut [Vec<TermHash>], term: TermHash) {
    if let Some(form) = forms.last_mut()
        && !form.contains(&term)
    {
        form.push(term);
    }
}

/// Returns the terms of a wording that some memory holds.
fn known_terms<'a>(table: &'a Table, wording: &[TermHash]) -> Vec<QueryTerm<'a>> {
    let memories = table.live() as f32;
    let mut terms = Vec::new();
    for term in wording {
        let key = PostingKey::from(*term);
        let postings: Vec<Postings<'_>> = table.layers().iter().map(|layer| layer.postings(key)).collect();
        let frequency = table.frequency(*term, &postings);
        if frequency > 0 {
            terms.push(QueryTerm { term: *term, weight: idf(memories, frequency as f32), rest: postings });
        }
    }
    terms
}

/// Returns a wording for each known term of the words that differ from a word in one letter.
fn near_wordings<'a>(table: &'a Table, word: &str) -> Vec<Vec<QueryTerm<'a>>> {
    let mut near = Vec::new();
    for_each_near_term(word, |term| near.push(TermHash::of(term)));
    near.sort_unstable();
    near.dedup();
    let mut wordings = Vec::new();
    for term in near {
        let mut terms = known_terms(table, &[term]);
        for term in &mut terms {
            term.weight *= NEAR_WEIGHT;
        }
        if !terms.is_empty() {
            wordings.push(terms);
        }
    }
    wordings
}

fn first_term(wordings: &[Vec<QueryTerm<'_>>]) -> Option<TermHash> {
    wordings.iter().flatten().map(|term| term.term).next()
}
