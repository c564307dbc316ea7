//! A search or a listing in several namespaces.
//!
//! The namespaces are searched one after the other, on the thread of the request, and each by its own vocabulary, model
//! and snapshot. Scores are calibrated probabilities, so the hits of all are merged by score. After each namespace only
//! as many hits as the limit allows are kept. A namespace of another node is searched there.

use std::cmp::{Ordering, Reverse};

use cuebase_language::relevance::{Admission, Searched};
use cuebase_retrieval::Arms;
use cuebase_storage::{AccountId, NamespaceName};

use super::request::RetrievalRequest;
use super::search_result::{FoundMemory, SearchResult};
use crate::error::{Error, Result};
use crate::memory::terms::identity;
use crate::metrics::day::events::RetrievalQuality;
use crate::namespace::registry::Lease;
use crate::service::reads::Reads;

/// Who owns a namespace of a request.
enum Owner {
    /// This node, which has it open.
    ThisNode(Lease),
    /// The node at an address.
    Node(String),
}

impl Reads {
    /// Searches namespaces, or lists their memories if the request has no query. The limit counts the hits of all
    /// namespaces together. With more than one namespace, each hit carries the name of its own.
    ///
    /// Nothing is searched unless all namespaces exist.
    ///
    /// # Errors
    ///
    /// The first error of a namespace. With more than one namespace it is an [`Error::InNamespace`].
    pub fn find_in_all(
        &self,
        account: &AccountId,
        namespaces: &[NamespaceName],
        request: &RetrievalRequest,
    ) -> Result<SearchResult> {
        let found = self.search_all(account, namespaces, request)?;
        if request.query.is_some() {
            self.metrics.days().record_retrieval(account, found.quality(request.admission));
        }
        Ok(found)
    }

    fn search_all(
        &self,
        account: &AccountId,
        namespaces: &[NamespaceName],
        request: &RetrievalRequest,
    ) -> Result<SearchResult> {
        if let [namespace] = namespaces {
            return self.find(account, namespace, request);
        }
        let mut owners = Vec::with_capacity(namespaces.len());
        for name in namespaces {
            match self.lease_or_owner(account, name) {
                Ok(lease) => owners.push(Owner::ThisNode(lease)),
                Err(Error::Elsewhere { address }) => owners.push(Owner::Node(address)),
                Err(error) => return Err(error.in_namespace(name.as_str())),
            }
        }
        let mut search = self.begin_search(request);
        search.share_reading(namespaces.len());
        let mut all = SearchResult::default();
        for (name, owner) in namespaces.iter().zip(owners) {
            let found = match owner {
                Owner::ThisNode(lease) => self.find_in(lease, &mut search),
                Owner::Node(address) => self.find_elsewhere(account, name, address, &search),
            };
            match found {
                Ok(found) => all.merge(found.named(name), request),
                // Returned as it is, so that the server finds the next owner.
                Err(error @ Error::NotOwner(_)) => return Err(error),
                Err(error) => return Err(error.in_namespace(name.as_str())),
            }
        }
        Ok(all)
    }
}

impl SearchResult {
    /// Returns how well a search found something. If the request admits all hits, the balanced level decides.
    fn quality(&self, admission: Admission) -> RetrievalQuality {
        let scores: Vec<f32> = self.hits.iter().map(|hit| hit.score).collect();
        let top_score = scores.iter().copied().reduce(f32::max);
        let is_admitted = match admission {
            Admission::All => Admission::Balanced.admitted(&scores, Searched::Whole).contains(&true),
            Admission::Recall | Admission::Balanced | Admission::Strict => top_score.is_some(),
        };
        RetrievalQuality { top_score, is_admitted }
    }

    /// Adds the name of the searched namespace to the result.
    pub(super) fn named(mut self, name: &NamespaceName) -> Self {
        for searched in &mut self.namespaces {
            searched.name = Some(name.clone());
        }
        for hit in &mut self.hits {
            hit.namespace = Some(name.clone());
        }
        self
    }

    /// Adds the result of the same request in a further namespace. If several namespaces define a term, the definition
    /// of the first one stays.
    pub(super) fn merge(&mut self, other: Self, request: &RetrievalRequest) {
        let Self { namespaces, hits, read, terms, defined } = other;
        self.read += read;
        self.namespaces.extend(namespaces);
        self.hits.extend(hits);
        sort_hits(&mut self.hits, request);
        self.hits.truncate(request.limit);
        self.terms = merged_terms(std::mem::take(&mut self.terms), terms);
        for definition in defined {
            let term = identity(&definition.term);
            if self.defined.iter().all(|known| identity(&known.term) != term) {
                self.defined.push(definition);
            }
        }
    }
}

/// Sorts the hits of a query by score, those that a query for a time listed earliest first, and those of a listing newest
/// first. Of equal ones, those of the former namespace come first, and those of one namespace stay in their order.
fn sort_hits(hits: &mut [FoundMemory], request: &RetrievalRequest) {
    if request.query.is_some() {
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| listed_time(a).cmp(&listed_time(b))));
        return;
    }
    let field = request.filter.time_field;
    hits.sort_by_key(|hit| Reverse(field.of(&hit.memory)));
}

/// Returns when a memory happened that was listed for its time.
fn listed_time(hit: &FoundMemory) -> Option<i64> {
    if hit.arms == Arms::default() { hit.memory.occurred } else { None }
}

/// Merges two sorted lists of words. A word occurs as often as in the list that has it more often: both lists have the
/// words of the query, which count once.
fn merged_terms(first: Vec<String>, second: Vec<String>) -> Vec<String> {
    let mut merged = Vec::with_capacity(first.len().max(second.len()));
    let mut first = first.into_iter().peekable();
    let mut second = second.into_iter().peekable();
    loop {
        let order = match (first.peek(), second.peek()) {
            (Some(a), Some(b)) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return merged,
        };
        let from_first = if order.is_le() { first.next() } else { None };
        let from_second = if order.is_ge() { second.next() } else { None };
        merged.extend(from_first.or(from_second));
    }
}

#[cfg(test)]
mod tests {
    use cuebase_retrieval::{Filter, Listed, Memory, TimeField};

    use super::*;
    use crate::service::retrieval::Definition;

    fn hit(path: &str, score: f32, occurred: Option<i64>) -> FoundMemory {
        let memory = Memory { path: path.to_owned(), occurred, ..Memory::default() };
        FoundMemory { score, ..FoundMemory::listed(Listed { memory, ..Listed::default() }) }
    }

    fn result(hits: Vec<FoundMemory>, terms: &[&str], defined: &[(&str, &str)]) -> SearchResult {
        let terms = terms.iter().map(|&term| term.to_owned()).collect();
        let mut definitions = Vec::new();
        for (term, definition) in defined {
            let (term, definition) = ((*term).to_owned(), (*definition).to_owned());
            definitions.push(Definition { term, aliases: Vec::new(), definition });
        }
        SearchResult { hits, terms, defined: definitions, ..SearchResult::default() }
    }

    fn merged(results: Vec<SearchResult>, request: &RetrievalRequest) -> SearchResult {
        let mut all = SearchResult::default();
        for (index, found) in results.into_iter().enumerate() {
            let name = NamespaceName::new(&format!("n{index}")).expect("a name");
            all.merge(found.named(&name), request);
        }
        all
    }

    /// Returns the hits as `namespace/path`.
    fn places(result: &SearchResult) -> Vec<String> {
        let mut places = Vec::new();
        for hit in &result.hits {
            places.push(format!("{}/{}", hit.namespace.clone().unwrap_or_default(), hit.memory.path));
        }
        places
    }

    #[test]
    fn hits_are_merged_by_score_within_one_limit() {
        let request = RetrievalRequest { query: Some("x".into()), limit: 4, ..RetrievalRequest::default() };
        let results = vec![
            result(vec![hit("a", 0.9, None), hit("b", 0.4, None), hit("c", 0.1, None)], &[], &[]),
            result(vec![hit("d", 0.4, None), hit("e", 0.2, None)], &[], &[]),
            result(vec![hit("f", 0.95, None)], &[], &[]),
        ];
        assert_eq!(places(&merged(results, &request)), ["n2/f", "n0/a", "n0/b", "n1/d"]);
    }

    #[test]
    fn a_listing_is_merged_newest_first_and_ends_with_unknown_times() {
        let filter = Filter { time_field: TimeField::Occurred, ..Filter::default() };
        let request = RetrievalRequest { filter, limit: 9, ..RetrievalRequest::default() };
        let results = vec![
            result(vec![hit("a", 1.0, Some(30)), hit("b", 1.0, None)], &[], &[]),
            result(vec![hit("c", 1.0, Some(40)), hit("d", 1.0, Some(30)), hit("e", 1.0, Some(10))], &[], &[]),
        ];
        assert_eq!(places(&merged(results, &request)), ["n1/c", "n0/a", "n1/d", "n1/e", "n0/b"]);
    }

    #[test]
    fn memories_that_were_listed_for_a_time_are_merged_earliest_first() {
        let request = RetrievalRequest { query: Some("last week".into()), limit: 9, ..RetrievalRequest::default() };
        let results = vec![
            result(vec![hit("a", 1.0, Some(30)), hit("b", 1.0, Some(50))], &[], &[]),
            result(vec![hit("c", 1.0, Some(40))], &[], &[]),
        ];
        assert_eq!(places(&merged(results, &request)), ["n0/a", "n1/c", "n0/b"]);
    }

    #[test]
    fn words_of_the_query_count_once_and_those_of_synonyms_are_added() {
        let results = vec![
            result(Vec::new(), &["bear", "bear", "den"], &[]),
            result(Vec::new(), &["bear", "cub", "den", "den"], &[]),
        ];
        let all = merged(results, &RetrievalRequest::default());
        assert_eq!(all.terms, ["bear", "bear", "cub", "den", "den"]);
    }

    #[test]
    fn the_first_namespace_defines_a_term() {
        let results = vec![
            result(Vec::new(), &[], &[("OKR", "A goal.")]),
            result(Vec::new(), &[], &[("okr", "Another goal."), ("SLO", "A promise.")]),
        ];
        let all = merged(results, &RetrievalRequest::default());
        let defined: Vec<&str> = all.defined.iter().map(|defined| defined.definition.as_str()).collect();
        assert_eq!(defined, ["A goal.", "A promise."]);
    }
}
