//! Candidates: the best documents of the lexical and of the cue arm.
//!
//! Both arms search within the filter's bitmap, side by side if the search may use several threads. If the query names
//! times, the best of the memories of those times are added, because they may be lost among all others.

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::prepared::Search;
use crate::arms::cue::{RowSelection, ScanPlan, is_few, nearest_documents};
use crate::arms::lexical::LexicalScores;
use crate::arms::soft::SoftMatch;
use crate::bitmap::Bitmap;
use crate::hash::NameHash;
use crate::ids::DocumentId;
use crate::index::{Row, Snapshot};
use crate::ranking::speakers::{name_hashes, words_of_name};
use crate::top_k::{Scored, TopK};

/// Candidates taken from each arm. It equals the largest limit of a query, because both arms may find the same
/// memories.
const CANDIDATES_PER_ARM: usize = 200;
/// Candidates taken from each arm among the memories of the named times.
const CANDIDATES_OF_TIMES: usize = 50;
/// Lower cosines occur by chance: such a memory is not a candidate of the cue arm.
const COSINE_MIN: f32 = 0.12;

/// What the lexical and the cue arm found.
pub(super) struct ArmResults {
    pub(super) lexical: LexicalResult,
    pub(super) cue: CueResult,
}

pub(super) struct LexicalResult {
    pub(super) scores: LexicalScores,
    /// The best documents with their BM25 scores, best first.
    pub(super) best: Vec<Scored>,
    pub(super) time: Duration,
}

pub(super) struct CueResult {
    /// The best documents with their cosines, best first.
    pub(super) best: Vec<Scored>,
    pub(super) time: Duration,
}

/// The query's words, prepared for ranking.
pub(super) struct QueryWords<'a> {
    pub(super) soft_match: SoftMatch<'a>,
    /// The words that may be names.
    pub(super) names: Vec<NameHash>,
}

impl<'a> Search<'a> {
    /// Runs the lexical and the cue arm.
    pub(super) fn run_arms(&self) -> (ArmResults, QueryWords<'a>) {
        // The lexical arm is the faster one, so its thread also prepares the words.
        let (by_words, cue) =
            self.threads.both(|| (self.run_lexical_arm(), self.prepare_words()), || self.run_cue_arm());
        let (lexical, words) = by_words;
        (ArmResults { lexical, cue }, words)
    }

    /// Returns the documents that an arm found, ascending: the order in which they lie in memory. Adds the best of the
    /// named times first.
    pub(super) fn candidates(&self, arms: &mut ArmResults) -> Vec<DocumentId> {
        self.add_best_of_times(arms);
        let mut candidates = Vec::with_capacity(arms.lexical.best.len() + arms.cue.best.len());
        for scored in arms.lexical.best.iter().chain(&arms.cue.best) {
            candidates.push(scored.document);
        }
        candidates.sort_unstable();
        candidates.dedup();
        candidates
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
            names: name_hashes(self.query.text, &self.words_of_user()),
        }
    }

    /// Returns the words of the name of the person who asks: as the query names them, else the only person who speaks in the
    /// namespace.
    fn words_of_user(&self) -> Cow<'_, [NameHash]> {
        if let Some(name) = self.query.user {
            return Cow::Owned(words_of_name(name));
        }
        match self.snapshot.table.habits().only_user() {
            Some(user) => Cow::Borrowed(&user.name),
            None => Cow::Borrowed(&[]),
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
        for id in allowed.iter() {
            if let Some(document) = table.document(id) {
                let document_rows = document.rows();
                rows.extend(document_rows.start.until(document_rows.end));
            }
        }
        RowSelection::Listed(rows)
    }

    /// Returns the `limit` allowed documents with the nearest cues.
    fn compare_cues(&self, vector: &Row, allowed: Option<&Bitmap>, rows: RowSelection, limit: usize) -> Vec<Scored> {
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
            top.offer(Scored { document, score: arms.lexical.scores.score(document) });
        }
        append_missing(&mut arms.lexical.best, top.finish());
        if let Some(vector) = &self.vector {
            let allowed = Some(&times.within);
            let best = self.compare_cues(vector, allowed, self.select_rows(allowed), CANDIDATES_OF_TIMES);
            append_missing(&mut arms.cue.best, best);
        }
    }
}

/// Appends to an arm's best those of another list that are not among them.
fn append_missing(best: &mut Vec<Scored>, others: Vec<Scored>) {
    let known: HashSet<DocumentId> = best.iter().map(|scored| scored.document).collect();
    best.extend(others.into_iter().filter(|other| !known.contains(&other.document)));
}
