//! A search or a listing in one namespace.
//!
//! A query goes through the vocabulary of the namespace, its embedding, and the search in an index snapshot.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebase_language::relevance::{Admission, asking_part};
use cuebase_language::tokenize::content_terms;
use cuebase_retrieval::{
    Error as IndexError, Head, Listing, ListingOrder, Mention, SearchResults, Snapshot, Synonyms, Term, Vocabulary,
};
use cuebase_storage::{AccountId, NamespaceName};
use jiff::Timestamp;

use super::prepared_query::{EmbeddedQuery, PreparedQuery};
use super::reading::{PausingReader, ReadMode, Reading};
use super::request::{ReplyBudget, RetrievalRequest};
use super::search_result::{Definition, FoundMemory, SearchResult, SearchTimes, SearchedNamespace};
use super::time_listing::{TimeListing, list_time};
use crate::error::Result;
use crate::model::{Deadline, QueryReader};
use crate::namespace::registry::Lease;
use crate::service::reads::Reads;
use crate::service::search_threads::pause;

/// A request while it is answered from its namespaces, one after the other.
pub(super) struct RequestSearch<'a> {
    pub(super) request: &'a RetrievalRequest,
    /// The time of the request.
    pub(super) now: Timestamp,
    /// Limits the wait for all vectors of the query.
    deadline: Deadline,
    /// Which candidates are read in each search.
    pub(super) reading: Reading,
    /// The vectors so far. Namespaces with the same model and the same synonyms of the query share one.
    embeddings: Vec<QueryEmbedding>,
}

/// The vector of a query.
#[derive(Clone)]
pub(super) struct QueryEmbedding {
    /// Identity of the model.
    model: String,
    /// The embedded text.
    text: String,
    /// `None` if the model returned no vector, or only zeros.
    vector: Option<Arc<Vec<f32>>>,
    /// Time in the embedding.
    time: Duration,
}

impl RequestSearch<'_> {
    /// Shares the time of the reader among several searches.
    pub(super) fn share_reading(&mut self, searches: usize) {
        if let Some(budget) = &mut self.reading.budget {
            *budget /= u32::try_from(searches.max(1)).unwrap_or(u32::MAX);
        }
    }
}

/// What a search for one text found in a namespace.
pub(super) struct TextResults {
    pub(super) head: Option<Head>,
    /// Found memories, best first.
    pub(super) hits: Vec<FoundMemory>,
    /// How many candidates were read.
    pub(super) read: usize,
    /// Content words of the text and of its synonyms, sorted.
    pub(super) terms: Vec<String>,
    /// Vocabulary terms that the text mentions.
    pub(super) defined: Vec<Definition>,
    pub(super) times: SearchTimes,
}

impl TextResults {
    /// Returns the results as those of a request in an open namespace.
    pub(super) fn of_request(self, lease: Lease) -> SearchResult {
        let Self { head, hits, read, terms, defined, times } = self;
        SearchResult { namespaces: vec![SearchedNamespace::here(lease, head, times)], hits, read, terms, defined }
    }
}

/// The results of a search, and the head of the searched snapshot.
struct SnapshotResults {
    head: Option<Head>,
    results: SearchResults,
}

impl QueryEmbedding {
    /// Returns the query that was embedded.
    pub(super) fn of<'a>(&'a self, text: &'a str, synonyms: &'a [Synonyms]) -> EmbeddedQuery<'a> {
        EmbeddedQuery { text, synonyms, model: &self.model, vector: self.vector.as_deref().map(Vec::as_slice) }
    }
}

impl Reads {
    /// Searches a namespace, or lists its memories if the request has no query.
    pub fn find(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        request: &RetrievalRequest,
    ) -> Result<SearchResult> {
        let lease = self.namespaces.lease(account, namespace)?;
        self.find_in(lease, &mut self.begin_search(request))
    }

    /// Returns the state of a request that no namespace was searched for yet.
    pub(super) fn begin_search<'a>(&self, request: &'a RetrievalRequest) -> RequestSearch<'a> {
        let (now, deadline) = (self.clock.now(), self.models.query_deadline());
        let reading = Reading { budget: Some(self.read_budget(request)), ..request.reading };
        RequestSearch { request, now, deadline, reading, embeddings: Vec::new() }
    }

    /// Searches an open namespace, or lists its memories if the request has no query.
    pub(super) fn find_in(&self, lease: Lease, search: &mut RequestSearch<'_>) -> Result<SearchResult> {
        let request = search.request;
        match &request.query {
            Some(query) => self.find_text(lease, &asking_part(query), search),
            None => list(lease, request, search.now),
        }
    }

    /// Searches an open namespace for what a query asks for, or lists the memories of the time that it asks for.
    pub(super) fn find_text(&self, lease: Lease, text: &str, search: &mut RequestSearch<'_>) -> Result<SearchResult> {
        if let Some(asked) = search.request.time_only(text, search.now) {
            let TimeListing { head, hits } = list_time(&lease, &asked, search.request, search.now)?;
            if !hits.is_empty() {
                let namespaces = vec![SearchedNamespace::here(lease, head, SearchTimes::default())];
                return Ok(SearchResult { namespaces, hits, ..SearchResult::default() });
            }
        }
        if search.request.admission == Admission::All {
            let results = self.search_text(&lease, text, search)?;
            return Ok(results.of_request(lease));
        }
        self.search_admitted(lease, text, search)
    }

    /// Searches an open namespace for a text: the query of the request, or a part of it.
    pub(super) fn search_text(&self, lease: &Lease, text: &str, search: &mut RequestSearch<'_>) -> Result<TextResults> {
        pause()?;
        let vocabulary = lease.vocabulary();
        let mentions = vocabulary.mentions(text);
        let synonyms = vocabulary.synonyms(text, &mentions);
        let embedding = self.embed_query(lease, with_synonyms(text, &synonyms), search);
        let reader = self.query_reader(text, search.reading);
        let prepared = PreparedQuery::new(search.request, embedding.of(text, &synonyms), search.now).read_by(&reader);
        let budget = &search.request.budget;
        let SnapshotResults { head, results } =
            self.on_searchers(|| lease.read(|snapshot| search_snapshot(snapshot, &prepared, budget)))?;
        let times = SearchTimes {
            vector: results.vector_time + embedding.time,
            lexical: results.lexical_time,
            graph: results.graph_time,
        };
        Ok(TextResults {
            head,
            hits: results.hits.into_iter().map(FoundMemory::from).collect(),
            read: reader.as_ref().map_or(0, |reader| reader.0.read_count()),
            terms: query_terms(text, &synonyms),
            defined: definitions(&vocabulary, &mentions),
            times,
        })
    }

    /// Returns how long the reader may take for a request.
    fn read_budget(&self, request: &RetrievalRequest) -> Duration {
        request.reading.budget.unwrap_or_else(|| self.models.read_budget())
    }

    /// Returns the reader of a query, if its candidates are read.
    pub(super) fn query_reader(&self, text: &str, reading: Reading) -> Option<PausingReader> {
        let reader = self.models.reader()?;
        let budget = match reading.mode {
            ReadMode::Off => return None,
            ReadMode::Auto => reading.budget,
            ReadMode::Always => None,
        };
        QueryReader::new(reader, text, budget).map(PausingReader)
    }

    /// Embeds a query with the model of the namespace's index, unless a former namespace had the same model and text.
    pub(super) fn embed_query(&self, lease: &Lease, text: String, search: &mut RequestSearch<'_>) -> QueryEmbedding {
        let began = Instant::now();
        let model = lease.snapshot().model().to_owned();
        for known in &search.embeddings {
            if known.model == model && known.text == text {
                return QueryEmbedding { time: began.elapsed(), ..known.clone() };
            }
        }
        let vector = self.query_vector(lease.account(), &model, &text, search.deadline);
        let time = began.elapsed();
        let vector = vector.filter(|vector| vector.iter().any(|value| *value != 0.0));
        let embedding = QueryEmbedding { model, text, vector, time };
        search.embeddings.push(embedding.clone());
        embedding
    }

    /// Returns the vector of a query by a model. Returns `None` if the model is missing or does not respond in time;
    /// the other arms then find memories without it.
    fn query_vector(&self, account: &AccountId, model: &str, text: &str, deadline: Deadline) -> Option<Arc<Vec<f32>>> {
        match self.models.of(model)?.of_query(account, text, deadline) {
            Ok(vector) => Some(vector),
            Err(error) => {
                tracing::warn!(error = error.kind(), "a query is searched without its vector");
                None
            }
        }
    }

    /// Runs work on the search threads, directly if the caller is one of them.
    pub(super) fn on_searchers<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let pool = self.searchers.pool();
        if pool.current_thread_index().is_some() { work() } else { pool.install(work) }
    }
}

fn list(lease: Lease, request: &RetrievalRequest, now: Timestamp) -> Result<SearchResult> {
    let listing = Listing {
        filter: &request.filter,
        order: ListingOrder::NewestFirst,
        offset: 0,
        limit: request.limit,
        now: now.as_millisecond(),
        as_of: request.as_of,
        currency: request.currency,
    };
    let (head, page) =
        lease.read(|snapshot| Ok((snapshot.head(), snapshot.list_within(&listing, &request.budget)?)))?;
    Ok(SearchResult {
        namespaces: vec![SearchedNamespace::here(lease, head, SearchTimes::default())],
        hits: page.memories.into_iter().map(FoundMemory::listed).collect(),
        ..SearchResult::default()
    })
}

fn search_snapshot(
    snapshot: &Snapshot,
    prepared: &PreparedQuery<'_>,
    budget: &ReplyBudget,
) -> Result<SnapshotResults, IndexError> {
    let asked = snapshot.asked_of_user(prepared.asked(), prepared.user())?;
    let results = snapshot.search_within(&prepared.query(snapshot, &asked), budget)?;
    Ok(SnapshotResults { head: snapshot.head(), results })
}

/// Returns the text to be embedded: the query with the first synonym of each term after the term.
pub(super) fn with_synonyms(text: &str, synonyms: &[Synonyms]) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut position = 0;
    for part in synonyms {
        expanded.push_str(text.get(position..part.range.end).unwrap_or(""));
        position = part.range.end;
        if let Some(form) = part.forms.first() {
            expanded.push(' ');
            expanded.push_str(form);
        }
    }
    expanded.push_str(text.get(position..).unwrap_or(""));
    expanded
}

/// Returns the content words of a query and of its synonyms, sorted.
fn query_terms(text: &str, synonyms: &[Synonyms]) -> Vec<String> {
    let mut terms = content_terms(text);
    for part in synonyms {
        for form in &part.forms {
            terms.extend(content_terms(form));
        }
    }
    terms.sort();
    terms
}

/// Returns each mentioned term once, in the order of the first mentions.
fn definitions(vocabulary: &Vocabulary, mentions: &[Mention]) -> Vec<Definition> {
    let mut seen = HashSet::new();
    let mut definitions = Vec::new();
    for mention in mentions {
        for number in &mention.terms {
            if seen.insert(*number)
                && let Some(term) = vocabulary.term(*number)
            {
                let Term { term, aliases, definition } = term.clone();
                definitions.push(Definition { term, aliases, definition });
            }
        }
    }
    definitions
}
