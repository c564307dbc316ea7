//! The path of a query through a snapshot, stage by stage.
//!
//! 1. **Arms**: the lexical and the cue arm search side by side, within the filter's bitmap. If the query names times,
//!    both also search the memories of those times.
//! 2. **Candidates**: the best documents of both arms.
//! 3. **Evidence and ranking**: each candidate gets its features and, from these, its probability.
//! 4. **Expansion**: the neighbours of the best candidates in the graph become candidates and are ranked too.
//! 5. **Reading**: the memories of the best candidates are read from the log.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::arms::cue::{RowSelection, ScanPlan, is_few, nearest_documents};
use crate::arms::graph::{EXPANDED_HITS, NEIGHBOURS_MAX, expand};
use crate::arms::lexical::LexicalScores;
use crate::arms::soft::SoftMatch;
use crate::arms::time::NamedTimes;
use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::filter::TimeField;
use crate::index::{Graph, Row, Snapshot, Table, allowed_documents};
use crate::memory::{Memory, Millis};
use crate::query::Query;
use crate::ranking::calibration::probability;
use crate::ranking::features::Features;
use crate::ranking::signals::{Evidence, Signals};
use crate::ranking::speakers::name_hashes;
use crate::threads::{RunningSearch, Threads};
use crate::top_k::TopK;

/// Candidates taken from each arm. It equals the largest limit of a query, because both arms may find the same
/// memories.
const CANDIDATES_PER_ARM: usize = 200;
/// Candidates taken from each arm among the memories of the named times.
const CANDIDATES_OF_TIMES: usize = 50;
/// Lower cosines occur by chance: such a memory is not a candidate of the cue arm.
const COSINE_MIN: f32 = 0.12;

/// Documents with their scores, best first.
type Scored = Vec<(u32, f32)>;

/// The arms that found a hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arms {
    /// The hit contains terms of the query.
    pub lexical: bool,
    /// One of the hit's cues is near the query's vector.
    pub cue: bool,
    /// The hit is related to one of the best hits.
    pub graph: bool,
}

/// A memory that a query found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The memory.
    pub memory: Memory,
    /// The probability that the memory answers the query.
    pub score: f32,
    /// The arms that found the memory.
    pub arms: Arms,
    /// For a hit of the graph arm alone: the path of the hit that it was reached from.
    pub via: Option<String>,
    /// The features that the score was computed from.
    pub features: Features,
}

/// The hits of a query, and the time that each part of the search took.
#[derive(Clone, Debug, Default)]
pub struct SearchResults {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// Time in the cue arm.
    pub vector_time: Duration,
    /// Time in the lexical arm.
    pub lexical_time: Duration,
    /// Time in expansion, features, ranking and reading.
    pub graph_time: Duration,
    /// Time of the whole search; less than the sum of the parts if the arms ran side by side.
    pub total_time: Duration,
}

impl Snapshot {
    /// Answers a query.
    ///
    /// # Errors
    ///
    /// [`Error::Dimensions`](crate::Error::Dimensions) if the query's vector has another length than the index's rows;
    /// otherwise the errors of reading the log.
    pub fn search(&self, query: &Query<'_>) -> Result<SearchResults> {
        let start = Instant::now();
        let running = RunningSearch::begin();
        let search = Search::new(self, query, running.threads(self.cues.rows()))?;
        let (mut arms, words) = search.run_arms();

        let ranking_start = Instant::now();
        search.add_best_of_times(&mut arms);
        let candidates = arms.candidates();
        let signals = Signals::new(search.evidence(&arms, &words.names), words.soft_match, &candidates);
        let mut ranking = Ranking::new(&self.table, signals, &candidates);
        ranking.add_neighbours(&self.graph, search.allowed.as_ref(), &candidates);
        let hits = search.read_hits(&ranking)?;
        Ok(SearchResults {
            hits,
            vector_time: arms.cue.time,
            lexical_time: arms.lexical.time,
            graph_time: ranking_start.elapsed(),
            total_time: start.elapsed(),
        })
    }
}

/// One query, prepared for one snapshot.
struct Search<'a> {
    snapshot: &'a Snapshot,
    query: Query<'a>,
    /// The documents that may be found; `None` for all.
    allowed: Option<Bitmap>,
    /// The times that the query names, if any allowed memory is near them.
    times: Option<NamedTimes<'a>>,
    vector: Option<Row>,
    threads: Threads,
}

/// What the lexical and the cue arm found.
struct ArmResults {
    lexical: LexicalResult,
    cue: CueResult,
}

struct LexicalResult {
    scores: LexicalScores,
    best: Scored,
    time: Duration,
}

struct CueResult {
    best: Scored,
    time: Duration,
}

/// The query's words, prepared for ranking.
struct QueryWords<'a> {
    soft_match: SoftMatch<'a>,
    /// The hashes of the words that may be names.
    names: Vec<u64>,
}

impl<'a> Search<'a> {
    fn new(snapshot: &'a Snapshot, query: &Query<'a>, threads: Threads) -> Result<Self> {
        let allowed = allowed_documents(&snapshot.table, query.filter, query.now);
        let times = NamedTimes::new(&snapshot.table, query.times, allowed.as_ref());
        // Times that no memory is near are ordinary words.
        let time_words = if times.is_some() { query.time_words } else { &[] };
        let vector = match query.vector {
            Some(vector) => Some(snapshot.cues.query(vector)?),
            None => None,
        };
        Ok(Self { snapshot, query: Query { time_words, ..query.clone() }, allowed, times, vector, threads })
    }

    /// Runs the lexical and the cue arm, side by side if the search may use several threads.
    fn run_arms(&self) -> (ArmResults, QueryWords<'a>) {
        // The lexical arm is the faster one, so its thread also prepares the words.
        let (by_words, cue) =
            self.threads.both(|| (self.run_lexical_arm(), self.prepare_words()), || self.run_cue_arm());
        let (lexical, words) = by_words;
        (ArmResults { lexical, cue }, words)
    }

    fn run_lexical_arm(&self) -> LexicalResult {
        let start = Instant::now();
        let table = &self.snapshot.table;
        let top = TopK::new(CANDIDATES_PER_ARM, |document| table.path(document));
        let (scores, best) = LexicalScores::compute(table, &self.query, self.allowed.as_ref(), top);
        LexicalResult { scores, best, time: start.elapsed() }
    }

    fn run_cue_arm(&self) -> CueResult {
        let start = Instant::now();
        let mut best = Vec::new();
        if let Some(vector) = &self.vector {
            let allowed = self.allowed.as_ref();
            let rows = if self.query.exact { RowSelection::All } else { self.select_rows(allowed) };
            best = self.compare_cues(vector, allowed, rows, CANDIDATES_PER_ARM);
        }
        CueResult { best, time: start.elapsed() }
    }

    fn prepare_words(&self) -> QueryWords<'a> {
        let text = self.query.text_without_times();
        QueryWords {
            soft_match: SoftMatch::new(&self.snapshot.table, self.snapshot.tokens, &text),
            names: name_hashes(self.query.text),
        }
    }

    /// Chooses the rows that the cue arm compares in full.
    fn select_rows(&self, allowed: Option<&Bitmap>) -> RowSelection {
        let table = &self.snapshot.table;
        let Some(allowed) = allowed else { return RowSelection::NearestSketches };
        let count = allowed.count();
        // A bitmap of all current documents excludes only former versions. These must not change what is found.
        if count >= table.live() || !is_few(count, table.live_rows()) {
            return RowSelection::NearestSketches;
        }
        let mut rows = Vec::new();
        for number in allowed.iter() {
            if let Some(document) = table.document(number) {
                rows.extend(document.rows());
            }
        }
        RowSelection::Listed(rows)
    }

    /// Returns the `limit` allowed documents with the nearest cues.
    fn compare_cues(&self, vector: &Row, allowed: Option<&Bitmap>, rows: RowSelection, limit: usize) -> Scored {
        let Snapshot { table, cues, .. } = self.snapshot;
        let plan = ScanPlan { allowed, live_rows: table.live_rows(), rows, threads: self.threads };
        nearest_documents(cues, vector, &plan, limit, COSINE_MIN, |document| table.path(document))
    }

    /// Adds each arm's best among the memories of the named times. If those memories are many, the arms found the best
    /// of them already.
    fn add_best_of_times(&self, arms: &mut ArmResults) {
        let table = &self.snapshot.table;
        let Some(times) = &self.times else { return };
        if !is_few(times.within.count(), table.live_rows()) {
            return;
        }
        let mut top = TopK::new(CANDIDATES_OF_TIMES, |document| table.path(document));
        for document in times.within.iter() {
            let score = arms.lexical.scores.score(document);
            if score > top.floor {
                top.push(document, score);
            }
        }
        append_missing(&mut arms.lexical.best, top.finish());
        if let Some(vector) = &self.vector {
            let allowed = Some(&times.within);
            let best = self.compare_cues(vector, allowed, self.select_rows(allowed), CANDIDATES_OF_TIMES);
            append_missing(&mut arms.cue.best, best);
        }
    }

    /// Collects what ranking reads of the arms.
    fn evidence<'s>(&'s self, arms: &'s ArmResults, names: &'s [u64]) -> Evidence<'s> {
        Evidence {
            table: &self.snapshot.table,
            graph: &self.snapshot.graph,
            cues: &self.snapshot.cues,
            lexical: &arms.lexical.scores,
            vector: self.vector.as_ref(),
            names,
            times: self.times.as_ref(),
            lexical_best: &arms.lexical.best,
            cue_best: &arms.cue.best,
            threads: self.threads,
        }
    }

    /// Reads the best candidates' memories, on two threads if the search may use several.
    fn read_hits(&self, ranking: &Ranking<'_>) -> Result<Vec<Hit>> {
        let best = ranking.candidates.iter().filter(|candidate| candidate.score >= self.query.min_score);
        let best: Vec<&Candidate> = best.take(self.query.limit).collect();
        let (first, second) = best.split_at(best.len() / 2);
        let (first, second) =
            self.threads.both(|| ranking.read(self.snapshot, first), || ranking.read(self.snapshot, second));
        let mut hits = first?;
        hits.append(&mut second?);
        Ok(hits)
    }
}

impl ArmResults {
    /// Returns the documents that an arm found, ascending: the order in which they lie in memory.
    fn candidates(&self) -> Vec<u32> {
        let mut candidates = Vec::with_capacity(self.lexical.best.len() + self.cue.best.len());
        for (document, _) in self.lexical.best.iter().chain(&self.cue.best) {
            candidates.push(*document);
        }
        candidates.sort_unstable();
        candidates.dedup();
        candidates
    }
}

/// The candidates of one query, ranked.
struct Ranking<'a> {
    table: &'a Table,
    signals: Signals<'a>,
    /// The candidates, best first.
    candidates: Vec<Candidate>,
    /// The features of all candidates, in the order in which they were ranked.
    features: Vec<Features>,
    /// The documents that the graph arm found, each with the hit that it was reached from.
    reached_from: HashMap<u32, u32>,
}

/// A candidate, and what it is ranked by.
struct Candidate {
    number: u32,
    score: f32,
    updated: Millis,
    path: u64,
    /// The index of its features.
    features: usize,
}

impl Candidate {
    /// Orders by score, highest first, then by time, newest first, then by the path's hash, so that the order never
    /// depends on chance.
    fn order(a: &Self, b: &Self) -> std::cmp::Ordering {
        b.score.total_cmp(&a.score).then_with(|| b.updated.cmp(&a.updated)).then_with(|| a.path.cmp(&b.path))
    }
}

impl<'a> Ranking<'a> {
    fn new(table: &'a Table, signals: Signals<'a>, candidates: &[u32]) -> Self {
        let candidates_max = candidates.len() + EXPANDED_HITS * NEIGHBOURS_MAX;
        let mut ranking = Self {
            table,
            signals,
            candidates: Vec::with_capacity(candidates_max),
            features: Vec::with_capacity(candidates_max),
            reached_from: HashMap::new(),
        };
        ranking.rank(candidates);
        ranking
    }

    /// Ranks documents whose signals were added, among those that were ranked before.
    fn rank(&mut self, documents: &[u32]) {
        for number in documents.iter().copied() {
            let Some(document) = self.table.document(number) else { continue };
            let features = self.signals.features(number, document);
            self.candidates.push(Candidate {
                number,
                score: probability(&features),
                updated: document.time(TimeField::Updated),
                path: document.path(),
                features: self.features.len(),
            });
            self.features.push(features);
        }
        self.candidates.sort_unstable_by(Candidate::order);
    }

    /// Ranks the neighbours of the best candidates too. `candidates` holds the documents that were ranked before,
    /// ascending.
    fn add_neighbours(&mut self, graph: &Graph, allowed: Option<&Bitmap>, candidates: &[u32]) {
        let best = self.candidates.iter().map(|candidate| candidate.number);
        self.reached_from = expand(self.table, graph, best, allowed);
        let mut new = Vec::with_capacity(self.reached_from.len());
        for document in self.reached_from.keys() {
            if candidates.binary_search(document).is_err() {
                new.push(*document);
            }
        }
        self.signals.add(&new);
        self.rank(&new);
    }

    /// Reads the memories of candidates from the log.
    fn read(&self, snapshot: &Snapshot, candidates: &[&Candidate]) -> Result<Vec<Hit>> {
        let mut hits = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            if let Some(document) = self.table.document(candidate.number) {
                let memory = snapshot.memory(document)?;
                hits.push(self.hit(snapshot, candidate, memory)?);
            }
        }
        Ok(hits)
    }

    fn hit(&self, snapshot: &Snapshot, candidate: &Candidate, memory: Memory) -> Result<Hit> {
        let reached_from = self.reached_from.get(&candidate.number);
        let arms = Arms {
            lexical: self.signals.has_lexical(candidate.number),
            cue: self.signals.has_cue(candidate.number),
            graph: reached_from.is_some(),
        };
        let mut via = None;
        if !arms.lexical
            && !arms.cue
            && let Some(from) = reached_from
            && let Some(from) = self.table.document(*from)
        {
            via = Some(snapshot.memory(from)?.path);
        }
        Ok(Hit { memory, score: candidate.score, arms, via, features: self.features[candidate.features] })
    }
}

/// Appends to an arm's best those of another list that are not among them.
fn append_missing(best: &mut Scored, others: Scored) {
    let known: HashSet<u32> = best.iter().map(|(document, _)| *document).collect();
    best.extend(others.into_iter().filter(|(document, _)| !known.contains(document)));
}
