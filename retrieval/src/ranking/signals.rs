//! What the arms know about the candidates and about their neighbours: the memories said right before and right after.

use std::collections::HashMap;
use std::ops::Range;

use super::claims::ClaimQuestion;
use super::premise::{SpeakerMatch, others_stand_out};
use super::session::SessionSignals;
use super::speakers::chat_speakers;
use super::spread::spread;
use crate::arms::lexical::LexicalScores;
use crate::arms::soft::{BestCosines, SoftMatch, TokenCosines};
use crate::arms::time::NamedTimes;
use crate::hash::{NameHash, SessionHash};
use crate::ids::{DocumentId, RowId, SlotId};
use crate::index::{CueTable, Document, Graph, Ledger, Row, Table, ValidityFilter};
use crate::kernels::{AHEAD, prefetch};
use crate::threads::Threads;
use crate::top_k::Scored;

/// Standardised cosines are clamped to this many deviations and divided by it.
const STANDARDISED_MAX: f32 = 6.0;
/// The usual mean of the candidates' soft matches with neighbours, and the number of candidates it counts for: the mean
/// of few candidates is unreliable.
const USUAL_WITH_NEIGHBOURS: f32 = 0.35;
const USUAL_WITH_NEIGHBOURS_COUNT: f32 = 8.0;
/// Lower limit of the range from the mean to the best: if the best is nearer to the mean, nothing stands out.
const WITH_NEIGHBOURS_RANGE_MIN: f32 = 0.3;
/// Upper limit of the length of a memory relative to what is usual. Few texts on which the coefficients were fitted are
/// longer, so a document of a mebibyte counts as one of ten pages.
const LENGTH_MAX: f32 = 1.1;
/// Words of a memory whose end the vectors of its pieces may not know: of a long text, only the first 16 KiB are read.
const PIECES_WORDS: u32 = 2500;
/// Fewer documents than this are processed by one thread.
const PARALLEL_MIN: usize = 128;

/// Whether the vectors of word pieces say what a query means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pieces {
    /// They do.
    Known,
    /// They do not, because the built-in model does not know the language of the query. The table has only single letters
    /// of other scripts than Latin, and the encoder knows only English.
    Unknown,
}

/// What the vectors of cues and queries come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vectors {
    /// The built-in table: a text is the sum of its word pieces.
    Table,
    /// The built-in encoder, which reads a text as a whole, and knows English.
    Encoder,
    /// Another model, which reads a text as a whole.
    OtherModel,
}

/// The inputs of [`Signals`].
pub(crate) struct Evidence<'a> {
    pub(crate) table: &'a Table,
    pub(crate) graph: &'a Graph,
    pub(crate) cues: &'a CueTable,
    pub(crate) lexical: &'a LexicalScores,
    /// The query's vector, if it has one.
    pub(crate) vector: Option<&'a Row>,
    /// What this vector and those of cues come from.
    pub(crate) vectors: Vectors,
    /// The query's words that may be names.
    pub(crate) names: &'a [NameHash],
    /// The times that the query names, if any memory is near them.
    pub(crate) times: Option<&'a NamedTimes<'a>>,
    /// The best documents of the lexical arm with their BM25 scores, best first.
    pub(crate) lexical_best: &'a [Scored],
    /// The best documents of the cue arm with their cosines, best first.
    pub(crate) cue_best: &'a [Scored],
    /// Whether the word pieces of the query have vectors that say what they mean.
    pub(crate) pieces: Pieces,
    /// The claims that the query asks for.
    pub(crate) claims: &'a ClaimQuestion<'a>,
    pub(crate) ledger: &'a Ledger,
    /// The time as of which the search answers.
    pub(crate) validity: &'a ValidityFilter,
    /// The threads that process documents.
    pub(crate) threads: Threads,
}

/// What the arms know about the candidates of one query and about their neighbours.
pub(crate) struct Signals<'a> {
    pub(super) evidence: Evidence<'a>,
    pub(super) soft_match: SoftMatch<'a>,
    /// One cache for each of two threads.
    token_cosines: [TokenCosines; 2],
    pub(super) best_bm25: f32,
    pub(super) best_cosine: f32,
    pub(super) best_soft: f32,
    /// The mean of the candidates' [`CandidateSignals::soft_with_neighbours`], with [`USUAL_WITH_NEIGHBOURS`] mixed in.
    mean_with_neighbours: f32,
    /// The highest of the same.
    best_with_neighbours: f32,
    /// The highest [`CandidateSignals::weakest_with_neighbours`] of the candidates.
    pub(super) best_weakest: f32,
    /// The mean and the deviation of the cosines of sampled memories.
    mean_cosine: f32,
    deviation_cosine: f32,
    pub(super) lexical_ranks: HashMap<DocumentId, usize, ahash::RandomState>,
    /// The rank and the cosine of each of the cue arm's best.
    pub(super) cue_ranks: HashMap<DocumentId, (usize, f32), ahash::RandomState>,
    /// The index in `computed` of each document added so far.
    positions: HashMap<DocumentId, usize, ahash::RandomState>,
    computed: Vec<CandidateSignals>,
    /// The previous and the next memory of each document added so far.
    neighbours: HashMap<DocumentId, [Option<DocumentId>; 2], ahash::RandomState>,
    pub(super) sessions: HashMap<SessionHash, SessionSignals, ahash::RandomState>,
    /// The speakers of chats with an assistant.
    pub(super) chat_speakers: [NameHash; 2],
    /// Whether the query names the speaker of any candidate.
    pub(super) any_speaker_named: bool,
    /// How much better the memories of others match the query than those of the speakers that it names.
    pub(super) others_stand_out: f32,
}

/// What the arms know about one memory: a candidate, or a neighbour of one.
#[derive(Clone, Copy, Default)]
pub(super) struct CandidateSignals {
    pub(super) bm25_of_best: f32,
    pub(super) cosine: f32,
    pub(super) cosine_standardised: f32,
    pub(super) best_cosines: BestCosines,
    pub(super) soft: f32,
    pub(super) soft_squared: f32,
    /// The soft match of the memory and its neighbours as one text. Zero for a neighbour that is not a candidate.
    pub(super) soft_with_neighbours: f32,
    /// What of the query the memory matches worst.
    pub(super) weakest: f32,
    /// What of the query the memory and its neighbours match worst. Zero for a neighbour that is not a candidate.
    pub(super) weakest_with_neighbours: f32,
    /// The parts of the query that the memory holds.
    pub(super) matched: u32,
    /// The memory's length relative to what is usual for its speaker.
    pub(super) length: f32,
    /// Whether the memory asks, relative to how often its speaker asks.
    pub(super) asks: f32,
}

impl<'a> Signals<'a> {
    /// Computes the signals of the candidates, and those that depend on all of them: sessions, named speakers, the best
    /// of each kind.
    pub(crate) fn new(evidence: Evidence<'a>, soft_match: SoftMatch<'a>, candidates: &[DocumentId]) -> Self {
        let lexical_best = evidence.lexical_best.iter().enumerate();
        let cue_best = evidence.cue_best.iter().enumerate();
        let mut signals = Self {
            lexical_ranks: lexical_best.map(|(rank, scored)| (scored.document, rank)).collect(),
            cue_ranks: cue_best.map(|(rank, scored)| (scored.document, (rank, scored.score))).collect(),
            best_bm25: best_score(evidence.lexical_best),
            best_cosine: best_score(evidence.cue_best),
            best_soft: 0.0,
            mean_with_neighbours: 0.0,
            best_with_neighbours: 0.0,
            best_weakest: 0.0,
            mean_cosine: 0.0,
            deviation_cosine: 1.0,
            positions: HashMap::default(),
            computed: Vec::new(),
            neighbours: HashMap::default(),
            sessions: HashMap::default(),
            chat_speakers: chat_speakers(),
            any_speaker_named: false,
            others_stand_out: 0.0,
            evidence,
            soft_match,
            token_cosines: Default::default(),
        };
        signals.measure_cosines();
        signals.add(candidates);
        signals.combine(candidates);
        signals.measure_soft_with_neighbours(candidates);
        signals
    }

    /// Measures the mean and the deviation of the cosines in a sample of the namespace.
    fn measure_cosines(&mut self) {
        let sample: Vec<DocumentId> = self.evidence.table.sample().collect();
        let mut cosines: Vec<f32> = self.cosines(&sample).into_iter().flatten().collect();
        (self.mean_cosine, self.deviation_cosine) = spread(&mut cosines);
    }

    /// Combines the candidates' signals by session and by whether the query names their speakers.
    fn combine(&mut self, candidates: &[DocumentId]) {
        let table = self.evidence.table;
        let mut speaker_matches = Vec::with_capacity(candidates.len());
        for id in candidates {
            let Some(document) = table.document(*id) else { continue };
            let Some(own) = self.get(*id).copied() else { continue };
            self.best_soft = self.best_soft.max(own.soft);
            let (speaker, session) = (document.speaker(), document.session());
            let named = self.is_named(speaker);
            self.any_speaker_named |= named;
            if !speaker.is_empty() && !self.is_chat_speaker(speaker) {
                speaker_matches.push(SpeakerMatch { named, session, soft_match: own.soft });
            }
            if let Some(session) = session {
                let session = self.sessions.entry(session).or_default();
                session.cosine.push(own.cosine_standardised);
                session.matched |= own.matched;
                session.best_cosines.merge(&own.best_cosines);
            }
        }
        self.others_stand_out = others_stand_out(&speaker_matches);
    }

    /// Measures the mean and the best of the candidates' soft matches with neighbours.
    fn measure_soft_with_neighbours(&mut self, candidates: &[DocumentId]) {
        let mut values = Vec::with_capacity(candidates.len());
        for id in candidates {
            if let Some(signals) = self.get(*id).copied() {
                values.push(signals.soft_with_neighbours);
                self.best_weakest = self.best_weakest.max(signals.weakest_with_neighbours);
            }
        }
        let count = values.len() as f32;
        // Also sorts.
        let (mean, _) = spread(&mut values);
        self.mean_with_neighbours = (mean * count + USUAL_WITH_NEIGHBOURS * USUAL_WITH_NEIGHBOURS_COUNT)
            / (count + USUAL_WITH_NEIGHBOURS_COUNT);
        if let Some(best) = values.last() {
            self.best_with_neighbours = *best;
        }
    }

    /// Relates a soft match with neighbours to the candidates': 0 is their mean, 1 the best if it stands out.
    pub(super) fn standing(&self, soft_with_neighbours: f32) -> f32 {
        let range = (self.best_with_neighbours - self.mean_with_neighbours).max(WITH_NEIGHBOURS_RANGE_MIN);
        (soft_with_neighbours - self.mean_with_neighbours) / range
    }

    pub(crate) fn has_lexical(&self, id: DocumentId) -> bool {
        self.evidence.lexical.score(id) > 0.0
    }

    pub(crate) fn has_cue(&self, id: DocumentId) -> bool {
        self.cue_ranks.contains_key(&id)
    }

    /// Returns the BM25 score of a document.
    pub(crate) fn bm25(&self, id: DocumentId) -> f32 {
        self.evidence.lexical.score(id)
    }

    /// Returns the rank of a document in the lexical arm, from 0; `None` if it is not among the arm's best.
    pub(crate) fn lexical_rank(&self, id: DocumentId) -> Option<usize> {
        self.lexical_ranks.get(&id).copied()
    }

    /// Returns the rank of a document in the cue arm, from 0, and its cosine; `None` if the arm did not find it.
    pub(crate) fn cue_rank(&self, id: DocumentId) -> Option<(usize, f32)> {
        self.cue_ranks.get(&id).copied()
    }

    /// Whether the query holds every word of a name.
    pub(super) fn is_named(&self, name: &[NameHash]) -> bool {
        !name.is_empty() && name.iter().all(|word| self.evidence.names.contains(word))
    }

    /// Whether a name is that of the user or the assistant in a chat.
    pub(super) fn is_chat_speaker(&self, name: &[NameHash]) -> bool {
        matches!(name, [name] if self.chat_speakers.contains(name))
    }

    /// Returns the signals of a document that was added, or of a neighbour of one.
    pub(super) fn get(&self, id: DocumentId) -> Option<&CandidateSignals> {
        self.computed.get(*self.positions.get(&id)?)
    }

    /// Returns the previous and the next memory of a document that was added.
    pub(super) fn neighbours(&self, id: DocumentId) -> [Option<DocumentId>; 2] {
        self.neighbours.get(&id).copied().unwrap_or_default()
    }

    /// Computes the signals of documents and of their neighbours.
    ///
    /// Every step runs over all documents before the next step begins, because most of the time is spent waiting for
    /// memory.
    pub(crate) fn add(&mut self, documents: &[DocumentId]) {
        self.find_neighbours(documents);
        let missing = self.without_signals(documents);
        self.compute_all(&missing);
        for id in documents {
            self.add_soft_with_neighbours(*id);
        }
        for id in documents {
            if let Some(document) = self.evidence.table.document(*id) {
                prefetch(document.speaker());
                prefetch(document.entities());
            }
        }
    }

    /// Looks up the previous and the next memory of each document.
    fn find_neighbours(&mut self, documents: &[DocumentId]) {
        let (table, graph) = (self.evidence.table, self.evidence.graph);
        documents.iter().for_each(|id| table.prefetch_slot_of(*id));
        let slots: Vec<Option<SlotId>> = documents.iter().map(|id| table.slot_of(*id)).collect();
        slots.iter().flatten().for_each(|slot| graph.prefetch_neighbours(*slot));
        let neighbour_slots = slots.iter().map(|slot| match slot {
            Some(slot) => graph.neighbours(*slot),
            None => [None; 2],
        });
        let neighbour_slots: Vec<[Option<SlotId>; 2]> = neighbour_slots.collect();
        neighbour_slots.iter().flatten().flatten().for_each(|slot| table.prefetch_current(*slot));
        let neighbours = neighbour_slots.into_iter().map(|slots| slots.map(|slot| table.current(slot?)));
        self.neighbours.extend(documents.iter().copied().zip(neighbours));
    }

    /// Returns those documents and neighbours of them whose signals are not computed yet, ascending.
    fn without_signals(&self, documents: &[DocumentId]) -> Vec<DocumentId> {
        let mut all = Vec::with_capacity(3 * documents.len());
        for id in documents {
            all.extend(self.neighbours(*id).into_iter().flatten());
        }
        all.extend_from_slice(documents);
        all.sort_unstable();
        all.dedup();
        all.retain(|id| !self.positions.contains_key(id));
        all
    }

    fn add_soft_with_neighbours(&mut self, id: DocumentId) {
        let Some(&position) = self.positions.get(&id) else { return };
        let mut best_cosines = self.computed[position].best_cosines;
        for neighbour in self.neighbours(id).into_iter().flatten() {
            if let Some(signals) = self.get(neighbour) {
                best_cosines.merge(&signals.best_cosines);
            }
        }
        // The mean of the joint text is below that of the memory alone only if the end of the memory is not known.
        let alone = self.computed[position].soft;
        self.computed[position].soft_with_neighbours = self.soft_match.mean(&best_cosines).0.max(alone);
        self.computed[position].weakest_with_neighbours = self.soft_match.weakest(&best_cosines);
    }

    /// Computes the signals of documents, on two threads if they are many.
    fn compute_all(&mut self, documents: &[DocumentId]) {
        let mut caches = std::mem::take(&mut self.token_cosines);
        let [first, second] = &mut caches;
        let threads = if documents.len() < PARALLEL_MIN { Threads::One } else { self.evidence.threads };
        // One thread takes all documents, so that it computes every piece's cosines only once.
        let parts = if threads == Threads::One { 1 } else { 2 };
        let (front, back) = documents.split_at(documents.len() / parts);
        let (front, back) = threads.both(|| self.compute(front, first), || self.compute(back, second));
        self.token_cosines = caches;
        for (id, signals) in front.into_iter().chain(back) {
            self.positions.insert(id, self.computed.len());
            self.computed.push(signals);
        }
    }

    /// Computes the signals of documents that exist.
    fn compute(&self, documents: &[DocumentId], cache: &mut TokenCosines) -> Vec<(DocumentId, CandidateSignals)> {
        let (table, lexical) = (self.evidence.table, self.evidence.lexical);
        for id in documents {
            if let Some(document) = table.document(*id) {
                document.prefetch();
            }
        }
        documents.iter().for_each(|id| lexical.prefetch(*id));
        let mut all = Vec::with_capacity(documents.len());
        for (index, (id, cosine)) in documents.iter().zip(self.cosines(documents)).enumerate() {
            if let Some(ahead) = documents.get(index + AHEAD)
                && let Some(ahead) = table.document(*ahead)
            {
                prefetch(ahead.tokens());
                prefetch(ahead.speaker());
                prefetch(ahead.claims());
            }
            if let Some(next) = documents.get(index + 1)
                && let Some(next) = table.document(*next)
            {
                self.soft_match.prefetch(next, cache);
            }
            if let Some(document) = table.document(*id) {
                all.push((*id, self.compute_one(*id, document, cosine, cache)));
            }
        }
        all
    }

    #[inline]
    fn compute_one(
        &self,
        id: DocumentId,
        document: Document<'_>,
        cosine: Option<f32>,
        cache: &mut TokenCosines,
    ) -> CandidateSignals {
        let lexical = self.evidence.lexical;
        let deviations = match cosine {
            Some(cosine) => (cosine - self.mean_cosine) / self.deviation_cosine,
            None => 0.0,
        };
        let best_cosines = self.soft_match.best_cosines(document, cache);
        let (mut soft, mut soft_squared) = self.soft_match.mean(&best_cosines);
        let (bm25, matched) = (lexical.score(id), lexical.matched(id));
        if document.words() > PIECES_WORDS {
            // What the memory holds word for word is matched, wherever it stands.
            let held = lexical.coverage(matched);
            soft = soft.max(held);
            soft_squared = soft_squared.max(held);
        }
        let (length, asks) = self.evidence.table.habits().relative(document);
        CandidateSignals {
            bm25_of_best: of_best(bm25, self.best_bm25),
            cosine: cosine.unwrap_or(0.0),
            cosine_standardised: deviations.clamp(-STANDARDISED_MAX, STANDARDISED_MAX) / STANDARDISED_MAX,
            best_cosines,
            soft,
            soft_squared,
            soft_with_neighbours: 0.0,
            weakest: self.soft_match.weakest(&best_cosines),
            weakest_with_neighbours: 0.0,
            matched,
            length: length.min(LENGTH_MAX),
            asks,
        }
    }

    /// Returns the highest cosine of each document's cues. Rows are prefetched ahead of their turn, on the assumption
    /// of two per document.
    fn cosines(&self, documents: &[DocumentId]) -> Vec<Option<f32>> {
        let rows: Vec<Range<RowId>> = documents.iter().map(|id| self.rows_to_compare(*id)).collect();
        let mut cosines = Vec::with_capacity(documents.len());
        for (index, id) in documents.iter().enumerate() {
            if let Some(ahead) = rows.get(index + AHEAD / 2) {
                ahead.start.until(ahead.end).for_each(|row| self.evidence.cues.prefetch(row));
            }
            cosines.push(self.cosine(*id, rows[index].clone()));
        }
        cosines
    }

    /// Returns the rows of a document's cues; none if the cue arm compared them already.
    #[inline]
    fn rows_to_compare(&self, id: DocumentId) -> Range<RowId> {
        if self.cue_ranks.contains_key(&id) {
            return Range::default();
        }
        match self.evidence.table.document(id) {
            Some(document) => document.rows(),
            None => Range::default(),
        }
    }

    #[inline]
    fn cosine(&self, id: DocumentId, rows: Range<RowId>) -> Option<f32> {
        if let Some((_, cosine)) = self.cue_ranks.get(&id) {
            return Some(*cosine);
        }
        self.evidence.cues.cosine(self.evidence.vector?, rows)
    }
}

/// Returns the first score of a list that is sorted, best first; zero for an empty list.
fn best_score(scores: &[Scored]) -> f32 {
    match scores.first() {
        Some(best) => best.score,
        None => 0.0,
    }
}

/// Returns a value relative to the best of the candidates. Above 1 for a memory that a filter excludes and that is better
/// than all of them.
pub(super) fn of_best(value: f32, best: f32) -> f32 {
    if best > 0.0 { value / best } else { 0.0 }
}
