//! A query with everything that its search needs: the vector of its text, and the times and claims that it asks for.

use cuebase_language::claims;
use cuebase_language::claims::AskedClaims;
use cuebase_language::dates::question::{self, QuestionTimes};
use cuebase_retrieval::{Query, Reranker, Snapshot, Synonyms};
use jiff::Timestamp;

use super::reading::PausingReader;
use super::request::RetrievalRequest;

/// The text of a query, and its vector.
#[derive(Clone, Copy)]
pub(super) struct EmbeddedQuery<'a> {
    /// The text.
    pub(super) text: &'a str,
    /// Other wordings of parts of the text.
    pub(super) synonyms: &'a [Synonyms],
    /// Identity of the model of the vector.
    pub(super) model: &'a str,
    /// The vector; `None` if the model returned none.
    pub(super) vector: Option<&'a [f32]>,
}

/// A query with everything that its search needs.
pub(super) struct PreparedQuery<'a> {
    request: &'a RetrievalRequest,
    embedded: EmbeddedQuery<'a>,
    named: QuestionTimes,
    asked: AskedClaims,
    now: Timestamp,
    reader: Option<&'a PausingReader>,
}

impl<'a> PreparedQuery<'a> {
    /// Reads the times and the claims that a query asks for.
    pub(super) fn new(request: &'a RetrievalRequest, embedded: EmbeddedQuery<'a>, now: Timestamp) -> Self {
        let asked_at = request.asked_at(now);
        let named = match &request.zone {
            Some(zone) => question::find(embedded.text, asked_at, zone),
            None => QuestionTimes::default(),
        };
        let asked = claims::question::asked(embedded.text, &named.times, asked_at.as_millisecond());
        Self { request, embedded, named, asked, now, reader: None }
    }

    /// Makes a reader read the best candidates.
    pub(super) fn read_by(self, reader: &'a Option<PausingReader>) -> Self {
        Self { reader: reader.as_ref(), ..self }
    }

    /// Returns the claims that the query asks for.
    pub(super) fn asked(&self) -> &AskedClaims {
        &self.asked
    }

    /// Returns the name of the person who asks, if the request has it.
    pub(super) fn user(&self) -> Option<&str> {
        self.request.user.as_deref()
    }

    /// Returns the query of a snapshot, with the claims that it asks for there.
    pub(super) fn query<'q>(&'q self, snapshot: &Snapshot, asked: &'q AskedClaims) -> Query<'q> {
        let EmbeddedQuery { text, synonyms, model, mut vector } = self.embedded;
        // The index may have been replaced by one of another model since the embedding. Their vectors are not comparable.
        if snapshot.model() != model {
            vector = None;
        }
        Query {
            text,
            synonyms,
            vector,
            times: &self.named.times,
            time_words: &self.named.words,
            filter: &self.request.filter,
            min_score: self.request.min_score,
            limit: self.request.limit,
            now: self.now.as_millisecond(),
            as_of: self.request.as_of,
            currency: self.request.currency,
            asked,
            user: self.request.user.as_deref(),
            exact: false,
            explain: self.request.detail.explain,
            reranker: self.reader.map(|reader| reader as &dyn Reranker),
        }
    }
}
