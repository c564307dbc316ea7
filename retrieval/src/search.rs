//! The path of a query through a snapshot.
//!
//! Lexical and cue arm side by side, both under the filter's bitmap; the best of each are candidates; the best six of
//! those are expanded one hop through the graph; every candidate gets its probability, and the best are returned.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use unicode_segmentation::UnicodeSegmentation;

use crate::arms::graph::EXPANDED_HITS;
use crate::error::Result;
use crate::filter::{Filter, TimeField, allowed};
use crate::index::{Record, Snapshot};
use crate::memory::Millis;
use crate::ranking::calibration::probability;
use crate::ranking::features::{Evidence, Features, Signals};
use crate::text;
use crate::vocabulary::Synonyms;

/// So many of each arm's best become candidates.
const CANDIDATES_PER_ARM: usize = 300;
/// Cosines below this are chance: such a memory is no candidate of the cue arm.
const COSINE_MIN: f32 = 0.12;
/// Graph neighbours taken from one hit.
const NEIGHBOURS_MAX: usize = 16;

/// What to look for.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    /// The words.
    pub text: &'a str,
    /// Other ways of writing parts of them; from left to right, never overlapping.
    pub synonyms: &'a [Synonyms],
    /// Their embedding, of the index's dimensions; none leaves the cue arm out.
    pub vector: Option<&'a [f32]>,
    /// What may be found.
    pub filter: &'a Filter,
    /// Hits scored below this are left out.
    pub min_score: f32,
    /// At most so many hits.
    pub limit: usize,
    /// The time at which expiry is judged.
    pub now: Millis,
}

/// The memories that a filter selects, newest first.
#[derive(Clone, Debug)]
pub struct Listing<'a> {
    /// What to list.
    pub filter: &'a Filter,
    /// At most so many.
    pub limit: usize,
    /// The time at which expiry is judged.
    pub now: Millis,
}

/// Which arms produced a hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arms {
    /// By its words.
    pub lexical: bool,
    /// By its cues.
    pub cue: bool,
    /// By a relation to one of the best hits.
    pub graph: bool,
}

/// A memory that was found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The memory.
    pub record: Arc<Record>,
    /// The probability that it answers the query.
    pub score: f32,
    /// What produced it.
    pub arms: Arms,
    /// For a match of the graph alone: the path of the hit that pulled it in.
    pub via: Option<String>,
    /// What the score was made from.
    pub features: Features,
}

/// The answer to a query, with the time that each part took.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Best first.
    pub hits: Vec<Hit>,
    /// The cue arm.
    pub vector: Duration,
    /// The lexical arm.
    pub lexical: Duration,
    /// Expansion, features and ranking.
    pub graph: Duration,
}

impl Snapshot {
    /// Answers a query.
    pub fn search(&self, query: &Query<'_>) -> Result<Outcome> {
        let bitmap = allowed(&self.table, query.filter, query.now);
        let slots = self.table.len();
        let (lexical, cue) = rayon::join(
            || timed(|| self.lexical.search(query.text, query.synonyms, bitmap.as_ref())),
            || {
                timed(|| match query.vector {
                    Some(vector) => self.cues.search(vector, slots, bitmap.as_ref()),
                    None => Ok(vec![f32::NAN; slots]),
                })
            },
        );
        let ((lexical, lexical_time), (cosines, vector_time)) = (lexical?, cue?);

        let began = Instant::now();
        let mut bm25 = vec![0.0; slots];
        for (slot, score) in &lexical.scores {
            if let Some(held) = bm25.get_mut(*slot as usize) {
                *held = *score;
            }
        }
        let lexical_order = best(lexical.scores, CANDIDATES_PER_ARM);
        let near = cosines.iter().enumerate().filter(|(_, cosine)| **cosine >= COSINE_MIN);
        let cue_order = best(near.map(|(slot, cosine)| (slot as u32, *cosine)).collect(), CANDIDATES_PER_ARM);
        let signals = Signals::new(Evidence {
            table: &self.table,
            graph: &self.graph,
            bm25,
            cosines,
            ceiling: lexical.ceiling,
            terms: lexical.terms,
            lexical_order: &lexical_order,
            cue_order: &cue_order,
            query_words: query.text.unicode_words().map(|word| text::fold(word.trim_end_matches("'s"))).collect(),
        });

        let mut seen = HashSet::new();
        let candidates = lexical_order.iter().chain(&cue_order).filter(|slot| seen.insert(**slot));
        let mut ranked: Vec<Candidate<'_>> = candidates.filter_map(|slot| self.candidate(&signals, *slot)).collect();
        ranked.sort_by(Candidate::order);
        let pulled = self.expand(&ranked, |slot| bitmap.as_ref().is_none_or(|allowed| allowed.contains(slot)));
        for slot in pulled.keys() {
            if seen.insert(*slot) {
                ranked.extend(self.candidate(&signals, *slot));
            }
        }
        ranked.sort_by(Candidate::order);

        let hits = ranked.iter().filter(|candidate| candidate.score >= query.min_score).take(query.limit);
        let hits = hits.map(|candidate| {
            let slot = candidate.slot;
            let from = pulled.get(&slot);
            let arms = Arms { lexical: signals.has_lexical(slot), cue: signals.has_cue(slot), graph: from.is_some() };
            let via = from.filter(|_| !arms.lexical && !arms.cue).and_then(|from| self.table.peek(*from));
            Hit {
                record: Arc::clone(candidate.record),
                score: candidate.score,
                arms,
                via: via.map(|record| record.memory.path.clone()),
                features: candidate.features,
            }
        });
        Ok(Outcome { hits: hits.collect(), vector: vector_time, lexical: lexical_time, graph: began.elapsed() })
    }

    /// The memories that a filter selects, newest first by its time field; those without that time come last.
    pub fn list(&self, listing: &Listing<'_>) -> Vec<Arc<Record>> {
        let bitmap = allowed(&self.table, listing.filter, listing.now);
        let chosen = self.table.iter().filter(|(slot, _)| bitmap.as_ref().is_none_or(|b| b.contains(*slot)));
        let mut chosen: Vec<&Arc<Record>> = chosen.map(|(_, record)| record).collect();
        let time = |record: &Record| listing.filter.time_field.of(&record.memory);
        chosen.sort_by(|a, b| time(b).cmp(&time(a)).then_with(|| a.memory.path.cmp(&b.memory.path)));
        chosen.into_iter().take(listing.limit).cloned().collect()
    }

    /// Every memory, in no order that means anything.
    pub fn records(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.table.iter().map(|(_, record)| record)
    }

    /// The memory at a path and those within `depth` relations of it, in either direction, nearest first, at most
    /// `limit`; nothing when there is no such memory. Looks at every path once.
    pub fn neighbourhood(&self, path: &str, depth: usize, limit: usize) -> Vec<Arc<Record>> {
        let Some((start, _)) = self.table.iter().find(|(_, record)| record.memory.path == path) else {
            return Vec::new();
        };
        let mut reached = vec![start];
        let mut seen = HashSet::from([start]);
        let mut ring = 0..1;
        for _ in 0..depth {
            for at in ring.clone() {
                for edge in self.graph.edges(reached[at]) {
                    if reached.len() < limit && self.table.peek(edge.to).is_some() && seen.insert(edge.to) {
                        reached.push(edge.to);
                    }
                }
            }
            ring = ring.end..reached.len();
        }
        reached.into_iter().filter_map(|slot| self.table.get(slot)).collect()
    }

    fn candidate(&self, signals: &Signals<'_>, slot: u32) -> Option<Candidate<'_>> {
        let record = self.table.peek(slot)?;
        let features = signals.of(slot, record);
        Some(Candidate { slot, record, score: probability(&features), features })
    }

    /// The neighbours of the best candidates, each with the candidate that it was first reached from.
    fn expand(&self, ranked: &[Candidate<'_>], allowed: impl Fn(u32) -> bool) -> HashMap<u32, u32> {
        let mut pulled = HashMap::new();
        for candidate in ranked.iter().take(EXPANDED_HITS) {
            for edge in self.graph.edges(candidate.slot).iter().take(NEIGHBOURS_MAX) {
                if allowed(edge.to) && self.table.peek(edge.to).is_some() {
                    pulled.entry(edge.to).or_insert(candidate.slot);
                }
            }
        }
        pulled
    }
}

struct Candidate<'a> {
    slot: u32,
    record: &'a Arc<Record>,
    score: f32,
    features: Features,
}

impl Candidate<'_> {
    /// Best first; among equals the newest, then by path, so that the order never depends on chance.
    fn order(a: &Self, b: &Self) -> std::cmp::Ordering {
        let updated = |candidate: &Self| TimeField::Updated.of(&candidate.record.memory);
        b.score
            .total_cmp(&a.score)
            .then_with(|| updated(b).cmp(&updated(a)))
            .then_with(|| a.record.memory.path.cmp(&b.record.memory.path))
    }
}

/// The slots of the best scores, best first, ties by slot.
fn best(mut scores: Vec<(u32, f32)>, limit: usize) -> Vec<u32> {
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if scores.len() > limit {
        scores.select_nth_unstable_by(limit, order);
        scores.truncate(limit);
    }
    scores.sort_unstable_by(order);
    scores.into_iter().map(|(slot, _)| slot).collect()
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
    let began = Instant::now();
    let value = work()?;
    Ok((value, began.elapsed()))
}
