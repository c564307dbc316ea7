//! The path of a query through a snapshot.
//!
//! Lexical and cue arm side by side, both under the filter's bitmap; the best of each are candidates, and where the query
//! names a time, the best of that time too; the best six of those are expanded one hop through the graph; every candidate
//! gets its probability, and the best are read from the log and returned.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::arms::best::Best;
use crate::arms::cue::{At, Look, Row};
use crate::arms::graph::EXPANDED_HITS;
use crate::arms::lexical::LexicalScores;
use crate::arms::soft::SoftMatch;
use crate::arms::time::NamedTimes;
use crate::error::Result;
use crate::filter::{Bitmap, Filter, TimeField, allowed};
use crate::hash::{Kind, hash};
use crate::index::{Document, Snapshot};
use crate::memory::{Memory, Millis};
use crate::ranking::calibration::probability;
use crate::ranking::features::Features;
use crate::ranking::naming::names;
use crate::ranking::signals::{Evidence, Signals};
use crate::threads::{Threads, UnderWay};
use crate::vocabulary::Synonyms;

/// So many of each arm's best become candidates: as many as anybody asks for, since both arms may find the same.
const CANDIDATES_PER_ARM: usize = 200;
/// So many of each arm's best among the memories of a time that the query names become candidates besides.
const CANDIDATES_OF_TIMES: usize = 50;
/// Cosines below this are chance: such a memory is no candidate of the cue arm.
const COSINE_MIN: f32 = 0.12;
/// Graph neighbours taken from one hit.
const NEIGHBOURS_MAX: usize = 16;

/// Documents with their scores, best first.
type Scored = Vec<(u32, f32)>;

/// What to look for.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    /// The words.
    pub text: &'a str,
    /// Other ways of writing parts of them; from left to right, never overlapping.
    pub synonyms: &'a [Synonyms],
    /// Their embedding, of the index's dimensions; none leaves the cue arm out.
    pub vector: Option<&'a [f32]>,
    /// The times that the words name, ascending and apart from each other: memories of about then are likelier to be
    /// meant.
    pub times: &'a [Range<Millis>],
    /// Where these words stand in the text, ascending: a memory of then need not hold them.
    pub time_words: &'a [Range<usize>],
    /// What may be found.
    pub filter: &'a Filter,
    /// Hits scored below this are left out.
    pub min_score: f32,
    /// At most so many hits.
    pub limit: usize,
    /// The time at which expiry is judged.
    pub now: Millis,
    /// Whether every cue is compared, instead of the few thousand that a first look finds.
    pub exact: bool,
}

impl Query<'_> {
    /// The text without the words that name times.
    fn text_without_times(&self) -> Cow<'_, str> {
        if self.time_words.is_empty() {
            return Cow::Borrowed(self.text);
        }
        let ends = self.time_words.iter().map(|words| words.end);
        let starts = self.time_words.iter().map(|words| words.start);
        let between = std::iter::once(0).chain(ends).zip(starts.chain([self.text.len()]));
        let parts: Vec<&str> = between.filter_map(|(from, to)| self.text.get(from..to)).collect();
        Cow::Owned(parts.join(" "))
    }
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
    pub memory: Memory,
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
    /// The whole search; less than the sum of the arms where they ran side by side.
    pub whole: Duration,
}

impl Snapshot {
    /// Answers a query.
    pub fn search(&self, query: &Query<'_>) -> Result<Outcome> {
        let start = Instant::now();
        let under_way = UnderWay::begin();
        let threads = under_way.threads(self.cues.rows());
        let allowed = allowed(&self.table, query.filter, query.now);
        let times = NamedTimes::new(&self.table, query.times, allowed.as_ref());
        let time_words = if times.is_some() { query.time_words } else { &[] };
        let query = &Query { time_words, ..query.clone() };
        let vector = query.vector.map(|vector| self.cues.query(vector)).transpose()?;
        let by_path = |document: u32| self.table.document(document).map_or(0, Document::path);
        let lexical_arm = || {
            let best = Best::new(CANDIDATES_PER_ARM, by_path);
            timed(|| LexicalScores::of(&self.table, query, allowed.as_ref(), best))
        };
        let cue_arm = || {
            timed(|| {
                let look = Look { threads, ..self.look(allowed.as_ref(), query.exact) };
                let best = |vector| self.cues.best(vector, &look, CANDIDATES_PER_ARM, COSINE_MIN, by_path);
                vector.as_ref().map(best).unwrap_or_default()
            })
        };
        // The lexical arm is the shorter one, so what ranking needs besides is made next to it.
        let words = || {
            let soft = SoftMatch::new(&self.table, self.tokens, &query.text_without_times());
            (lexical_arm(), soft, names(query.text))
        };
        let ((lexical, soft, names), cue) = threads.both(words, cue_arm);
        let (((lexical, mut lexical_best), lexical_time), (mut cue_best, vector_time)) = (lexical, cue);

        let began = Instant::now();
        if let Some(times) = &times {
            let (by_words, by_cues) = self.best_of_times(&times.within, &lexical, vector.as_ref(), threads);
            append(&mut lexical_best, by_words);
            append(&mut cue_best, by_cues);
        }
        let mut seen = HashSet::new();
        let found = lexical_best.iter().chain(&cue_best).map(|(document, _)| *document);
        let mut candidates: Vec<u32> = found.filter(|document| seen.insert(*document)).collect();
        // In the order in which they lie in memory.
        candidates.sort_unstable();
        let evidence = Evidence {
            table: &self.table,
            graph: &self.graph,
            cues: &self.cues,
            lexical: &lexical,
            vector: vector.as_ref(),
            names: &names,
            times: times.as_ref(),
            lexical_best: &lexical_best,
            cue_best: &cue_best,
            threads,
        };
        let mut signals = Signals::new(evidence, soft, &candidates);
        let most = candidates.len() + EXPANDED_HITS * NEIGHBOURS_MAX;
        let mut features = Vec::with_capacity(most);
        let mut rank = |signals: &Signals<'_>, documents: &[u32], ranked: &mut Vec<Candidate>| {
            for number in documents.iter().copied() {
                let Some(document) = self.table.document(number) else { continue };
                let of_it = signals.of(number, document);
                let (score, updated) = (probability(&of_it), document.time(TimeField::Updated));
                ranked.push(Candidate { number, score, updated, path: document.path(), features: features.len() });
                features.push(of_it);
            }
            ranked.sort_unstable_by(Candidate::order);
        };
        let mut ranked = Vec::with_capacity(most);
        rank(&signals, &candidates, &mut ranked);
        let pulled = self.expand(&ranked, allowed.as_ref());
        let new: Vec<u32> = pulled.keys().copied().filter(|document| seen.insert(*document)).collect();
        signals.look_at(&new);
        rank(&signals, &new, &mut ranked);

        let best = ranked.iter().filter(|candidate| candidate.score >= query.min_score).take(query.limit);
        let best: Vec<&Candidate> = best.collect();
        let read = |best: &[&Candidate]| {
            let hits = best.iter().map(|best| self.hit(best, &signals, &pulled, &features[best.features]));
            hits.filter_map(Result::transpose).collect::<Result<Vec<Hit>>>()
        };
        let (first, second) = best.split_at(best.len() / 2);
        let (first, second) = threads.both(|| read(first), || read(second));
        let mut hits = first?;
        hits.append(&mut second?);
        Ok(Outcome { hits, vector: vector_time, lexical: lexical_time, graph: began.elapsed(), whole: start.elapsed() })
    }

    /// The best of each arm among the memories of some times, unless these are so many that nothing is gained by looking
    /// at them apart.
    fn best_of_times(
        &self,
        of_times: &Bitmap,
        lexical: &LexicalScores,
        vector: Option<&Row>,
        threads: Threads,
    ) -> (Scored, Scored) {
        let by_path = |document: u32| self.table.document(document).map_or(0, Document::path);
        let look = Look { threads, ..self.look(Some(of_times), false) };
        if !look.is_few(of_times.count()) {
            return Default::default();
        }
        let mut by_words = Best::new(CANDIDATES_OF_TIMES, by_path);
        let scored = of_times.iter().map(|document| (document, lexical.score(document)));
        for (document, score) in scored {
            if score > by_words.floor {
                by_words.push(document, score);
            }
        }
        let best = |vector| self.cues.best(vector, &look, CANDIDATES_OF_TIMES, COSINE_MIN, by_path);
        (by_words.finish(), vector.map(best).unwrap_or_default())
    }

    /// A candidate with its memory, which is read from the log.
    fn hit(
        &self,
        candidate: &Candidate,
        signals: &Signals<'_>,
        pulled: &HashMap<u32, u32>,
        features: &Features,
    ) -> Result<Option<Hit>> {
        let number = candidate.number;
        let from = pulled.get(&number);
        let arms = Arms { lexical: signals.has_lexical(number), cue: signals.has_cue(number), graph: from.is_some() };
        let via = from.filter(|_| !arms.lexical && !arms.cue).and_then(|from| self.table.document(*from));
        let Some(document) = self.table.document(number) else { return Ok(None) };
        Ok(Some(Hit {
            memory: self.memory(document)?,
            score: candidate.score,
            arms,
            via: via.map(|document| self.memory(document)).transpose()?.map(|memory| memory.path),
            features: *features,
        }))
    }

    /// Which rows the cue arm compares.
    fn look<'a>(&self, allowed: Option<&'a Bitmap>, exact: bool) -> Look<'a> {
        let mut look = Look { allowed, live_rows: self.table.live_rows(), at: At::Nearest, threads: Threads::One };
        // Where a filter lets few through, looking at those is quicker than looking for the nearest. A bitmap that only
        // leaves out former versions is no filter: what is found must not depend on them.
        let filtered = |count: usize| count < self.table.live() && look.is_few(count);
        let few = allowed.filter(|allowed| filtered(allowed.count()));
        if exact {
            look.at = At::All;
        } else if let Some(few) = few {
            let documents = few.iter().filter_map(|number| self.table.document(number));
            look.at = At::Rows(documents.flat_map(Document::rows).collect());
        }
        look
    }

    /// The memories that a filter selects, newest first by its time field; those without that time come last.
    pub fn list(&self, listing: &Listing<'_>) -> Result<Vec<Memory>> {
        let allowed = allowed(&self.table, listing.filter, listing.now);
        let chosen =
            self.table.documents().filter(|(n, _)| allowed.as_ref().is_none_or(|allowed| allowed.contains(*n)));
        let time = |document: &Document<'_>| document.time(listing.filter.time_field);
        let mut chosen: Vec<Document<'_>> = chosen.map(|(_, document)| document).collect();
        chosen.sort_unstable_by_key(|document| (std::cmp::Reverse(time(document)), document.path()));
        chosen.truncate(listing.limit);
        let mut memories = chosen.into_iter().map(|document| self.memory(document)).collect::<Result<Vec<Memory>>>()?;
        let time = |memory: &Memory| listing.filter.time_field.of(memory);
        memories.sort_by(|a, b| time(b).cmp(&time(a)).then_with(|| a.path.cmp(&b.path)));
        Ok(memories)
    }

    /// Every memory, in the order in which they were written.
    pub fn all(&self) -> impl Iterator<Item = Result<Memory>> {
        self.table.documents().map(|(_, document)| self.memory(document))
    }

    /// The memory at a path and those within `depth` relations of it, in either direction, nearest first, at most
    /// `limit`; nothing when there is no such memory. Looks at every path once.
    pub fn neighbourhood(&self, path: &str, depth: usize, limit: usize) -> Result<Vec<Memory>> {
        let path = hash(Kind::Path, path);
        let start = self.table.documents().find(|(_, document)| document.path() == path);
        let Some(start) = start.and_then(|(number, _)| self.table.slot_of(number)) else { return Ok(Vec::new()) };
        let mut reached = vec![start];
        let mut seen = HashSet::from([start]);
        let mut ring = 0..1;
        for _ in 0..depth {
            for at in ring.clone() {
                for edge in self.graph.edges(reached[at], usize::MAX) {
                    if reached.len() < limit && self.table.current(edge.to).is_some() && seen.insert(edge.to) {
                        reached.push(edge.to);
                    }
                }
            }
            ring = ring.end..reached.len();
        }
        let documents = reached.into_iter().filter_map(|slot| self.table.document(self.table.current(slot)?));
        documents.map(|document| self.memory(document)).collect()
    }

    /// The neighbours of the best candidates, each with the candidate that it was first reached from.
    fn expand(&self, ranked: &[Candidate], allowed: Option<&Bitmap>) -> HashMap<u32, u32> {
        let mut pulled = HashMap::new();
        for candidate in ranked.iter().take(EXPANDED_HITS) {
            let Some(slot) = self.table.slot_of(candidate.number) else { continue };
            for edge in self.graph.edges(slot, NEIGHBOURS_MAX) {
                let neighbour = self.table.current(edge.to);
                if let Some(neighbour) = neighbour.filter(|n| allowed.is_none_or(|allowed| allowed.contains(*n))) {
                    pulled.entry(neighbour).or_insert(candidate.number);
                }
            }
        }
        pulled
    }
}

/// What a candidate is ranked by.
struct Candidate {
    number: u32,
    score: f32,
    updated: Millis,
    path: u64,
    /// Where its features stand.
    features: usize,
}

impl Candidate {
    /// Best first; among equals the newest, then by the path's hash, so that the order never depends on chance.
    fn order(a: &Self, b: &Self) -> std::cmp::Ordering {
        b.score.total_cmp(&a.score).then_with(|| b.updated.cmp(&a.updated)).then_with(|| a.path.cmp(&b.path))
    }
}

/// Adds to an arm's best those of another list that are not among them.
fn append(best: &mut Scored, others: Scored) {
    let known: HashSet<u32> = best.iter().map(|(document, _)| *document).collect();
    best.extend(others.into_iter().filter(|(document, _)| !known.contains(document)));
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let value = work();
    (value, began.elapsed())
}
