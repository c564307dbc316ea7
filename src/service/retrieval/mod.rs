//! Answering a retrieve: a validated request in, hits with everything they carry out.
//!
//! Here a query goes through the vocabulary, its embedding and the search. [`hit`] is how a hit is shown; [`history`] what
//! git remembers of it.

mod history;
mod hit;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebase_retrieval::{
    Arms, Filter, Hit, Listing, Memory, Mention, Query, Snapshot, Synonyms, Term, Vocabulary, content_terms,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::Service;
use crate::dates;
use crate::error::Result;
use crate::namespace::registry::Lease;

pub(super) use self::history::{histories, history_as_of};
pub use self::hit::HitView;
/// What to retrieve, already checked.
#[derive(Clone, Debug, Default)]
pub struct Retrieve {
    /// The words; none lists what the filter selects.
    pub query: Option<String>,
    /// What may be found.
    pub filter: Filter,
    /// Hits scored below are left out.
    pub min_score: f32,
    /// At most so many hits.
    pub limit: usize,
    /// Where the query's dates are read, so that it is likelier to find what happened then; without it they are not.
    pub zone: Option<TimeZone>,
    /// Whether to add history, last diff, relations and cues.
    pub full: bool,
}

/// The answer.
#[derive(Debug, Serialize)]
pub struct Retrieved {
    /// Best first; absent when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hits: Vec<HitView>,
    /// What the vocabulary says of terms that the query mentions; absent when it mentions none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub defined: Vec<Definition>,
    /// Time in embedding and the cue arm, milliseconds.
    pub vector_ms: f64,
    /// Time in the lexical arm, milliseconds.
    pub lexical_ms: f64,
    /// Time in expansion and ranking, milliseconds.
    pub graph_ms: f64,
    /// Whether the namespace had to be opened first.
    pub cold_start: bool,
}

/// A term that a query mentions.
#[derive(Debug, Serialize)]
pub struct Definition {
    term: String,
    aliases: Vec<String>,
    definition: String,
}

/// What a search or a listing found, before it is shown.
pub struct Findings {
    /// The open namespace.
    pub lease: Lease,
    /// The head that was searched.
    pub head: Option<String>,
    /// Best first.
    pub hits: Vec<Found>,
    /// The query's telling words, sorted.
    pub terms: Vec<String>,
    defined: Vec<Definition>,
    vector: Duration,
    lexical: Duration,
    graph: Duration,
}

/// A memory that was found.
pub struct Found {
    /// The memory.
    pub memory: Memory,
    /// The probability that it answers the query; 1 in a listing.
    pub score: f32,
    /// What produced it; nothing in a listing.
    pub arms: Arms,
    /// For a match of the graph alone: the path of the hit that pulled it in.
    pub via: Option<String>,
}

impl Found {
    /// The names of the arms that produced it.
    pub fn matched(&self) -> Vec<&'static str> {
        let arms = [("lexical", self.arms.lexical), ("cue", self.arms.cue), ("graph", self.arms.graph)];
        arms.into_iter().filter_map(|(name, did)| did.then_some(name)).collect()
    }
}

impl Service {
    /// Retrieves from a namespace that the caller may read.
    pub fn retrieve(&self, account: &str, namespace: &str, request: &Retrieve) -> Result<Retrieved> {
        let found = self.find(account, namespace, request)?;
        if request.query.is_some() {
            self.metrics.record_retrieval(found.vector, found.lexical, found.graph);
        }
        let milliseconds = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        Ok(Retrieved {
            hits: found.views(request.full)?,
            defined: found.defined,
            vector_ms: milliseconds(found.vector),
            lexical_ms: milliseconds(found.lexical),
            graph_ms: milliseconds(found.graph),
            cold_start: found.lease.cold,
        })
    }

    /// Searches, or lists where there is no query.
    pub fn find(&self, account: &str, namespace: &str, request: &Retrieve) -> Result<Findings> {
        let lease = self.namespaces.lease(account, namespace)?;
        let at = Timestamp::now();
        let now = at.as_millisecond();
        let mut findings = Findings {
            head: None,
            hits: Vec::new(),
            terms: Vec::new(),
            defined: Vec::new(),
            vector: Duration::ZERO,
            lexical: Duration::ZERO,
            graph: Duration::ZERO,
            lease,
        };
        let head = |snapshot: &Snapshot| snapshot.head().map(str::to_owned);
        let Some(text) = &request.query else {
            let listing = Listing { filter: &request.filter, limit: request.limit, now };
            // Everything that is listed scores 1, so a floor never hides it.
            let found = |memory| Found { memory, score: 1.0, arms: Arms::default(), via: None };
            let (head, listed) = findings.lease.read(|snapshot| Ok((head(snapshot), snapshot.list(&listing)?)))?;
            findings.head = head;
            findings.hits = listed.into_iter().map(found).collect();
            return Ok(findings);
        };
        let vocabulary = findings.lease.vocabulary();
        let mentions = vocabulary.mentions(text);
        let synonyms = vocabulary.synonyms(text, &mentions);
        let began = Instant::now();
        let model = findings.lease.snapshot().model().to_owned();
        let vector = self.query_vector(&model, &spelled_out(text, &synonyms));
        let embedding = began.elapsed();
        let known = vector.as_ref().filter(|vector| vector.iter().any(|value| *value != 0.0));
        let named = request.zone.as_ref().map(|zone| dates::question::find(text, at, zone)).unwrap_or_default();
        let query = Query {
            text,
            synonyms: &synonyms,
            vector: known.map(|vector| vector.as_slice()),
            times: &named.times,
            time_words: &named.words,
            filter: &request.filter,
            min_score: request.min_score,
            limit: request.limit,
            now,
            exact: false,
        };
        let search = |snapshot: &Snapshot| {
            // An index of another model may have taken its place meanwhile: its vectors cannot be compared.
            let vector = query.vector.filter(|_| snapshot.model() == model);
            Ok((head(snapshot), snapshot.search(&Query { vector, ..query.clone() })?))
        };
        let (head, outcome) = self.on_searchers(|| findings.lease.read(search))?;
        findings.head = head;
        findings.vector = outcome.vector_time + embedding;
        findings.lexical = outcome.lexical_time;
        findings.graph = outcome.graph_time;
        let found = |Hit { memory, score, arms, via, .. }| Found { memory, score, arms, via };
        findings.hits = outcome.hits.into_iter().map(found).collect();
        findings.terms = content_terms(text);
        for other in synonyms.iter().flat_map(|synonyms| &synonyms.forms) {
            findings.terms.extend(content_terms(other));
        }
        findings.terms.sort();
        findings.defined = defined(&vocabulary, &mentions);
        Ok(findings)
    }
}

impl Service {
    /// A query's vector by a model; none when the model is gone, or gives none in time: then the other arms answer alone.
    fn query_vector(&self, model: &str, text: &str) -> Option<Arc<Vec<f32>>> {
        let vectors = self.models.of(model)?;
        let made = vectors.of_query(text, self.models.query_deadline());
        made.inspect_err(|error| tracing::warn!(failure = error.kind(), "a query is answered without its vector")).ok()
    }

    /// Does something on the threads that searches run on, where that is not so yet.
    fn on_searchers<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        if self.searchers.current_thread_index().is_some() { work() } else { self.searchers.install(work) }
    }
}

/// The query with the first other form of every term put beside the one that was written, for its embedding.
fn spelled_out(text: &str, synonyms: &[Synonyms]) -> String {
    let mut spelled = String::with_capacity(text.len());
    let mut at = 0;
    for part in synonyms {
        spelled.push_str(text.get(at..part.range.end).unwrap_or_default());
        at = part.range.end;
        if let Some(form) = part.forms.first() {
            spelled.push(' ');
            spelled.push_str(form);
        }
    }
    spelled.push_str(text.get(at..).unwrap_or_default());
    spelled
}

/// Each mentioned term once, in the order of their first mention.
fn defined(vocabulary: &Vocabulary, mentions: &[Mention]) -> Vec<Definition> {
    let mut seen = HashSet::new();
    let numbers = mentions.iter().flat_map(|mention| &mention.terms).filter(|number| seen.insert(**number));
    let terms = numbers.filter_map(|number| vocabulary.term(*number)).cloned();
    terms.map(|Term { term, aliases, definition }| Definition { term, aliases, definition }).collect()
}
