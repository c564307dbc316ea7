//! A search in a namespace of another node: what this node asks for, and what the owner of the namespace returns.
//!
//! The owner returns the hits as it found them, not as the API shows them, so that the asking node merges, lays out and
//! answers from them as from its own. Only their histories are read by the owner, since they come from its repository.

use std::collections::HashMap;

use cuebase_storage::error::DiskTrouble;
use cuebase_storage::{AccountId, NamespaceName};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::history::History;
use super::remote::RemoteNamespace;
use super::request::RetrievalRequest;
use super::search::RequestSearch;
use super::search_result::{Definition, FoundMemory, SearchPlace, SearchResult, SearchTimes, SearchedNamespace};
use crate::error::{Error, Result};
use crate::namespace::registry::Lease;
use crate::service::peers::PeerTopic;
use crate::service::reads::Reads;

/// Owners that are asked for one namespace. The second one is asked if the namespace moves in the meantime.
const OWNERS_MAX: usize = 2;

/// A search, or a listing, in one namespace of another node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NamespaceSearch {
    /// The namespace.
    pub(in crate::service) namespace: NamespaceName,
    /// The request.
    pub(in crate::service) request: RetrievalRequest,
    /// The time of the request, milliseconds since the epoch, so that all nodes answer it as of one time.
    now_ms: i64,
}

/// The result of a search as its node sends it.
#[derive(Serialize, Deserialize)]
pub struct SentResult {
    hits: Vec<FoundMemory>,
    read: usize,
    terms: Vec<String>,
    defined: Vec<Definition>,
    times: SearchTimes,
    is_cold: bool,
    /// The history of each hit, if the request asks for it.
    histories: Vec<History>,
}

impl NamespaceSearch {
    /// Returns the search of a request in a namespace.
    pub(in crate::service) fn new(namespace: &NamespaceName, request: &RetrievalRequest, now: Timestamp) -> Self {
        Self { namespace: namespace.clone(), request: request.clone(), now_ms: now.as_millisecond() }
    }

    /// Returns the time of the request.
    ///
    /// # Errors
    ///
    /// A time that is out of range.
    pub(in crate::service) fn now(&self) -> Result<Timestamp> {
        Timestamp::from_millisecond(self.now_ms).map_err(Error::internal)
    }
}

impl Reads {
    /// Searches a namespace of the node at an address. If the namespace has moved, its new owner searches it.
    ///
    /// # Errors
    ///
    /// [`Error::NotOwner`] if the owner cannot be reached. The server then waits for the next owner, without the slot of
    /// the retrieval, as for a request that concerns only this namespace. Otherwise those of [`Reads::find`].
    pub(super) fn find_elsewhere(
        &self,
        account: &AccountId,
        name: &NamespaceName,
        mut address: String,
        search: &RequestSearch<'_>,
    ) -> Result<SearchResult> {
        let mut asked = NamespaceSearch::new(name, search.request, search.now);
        asked.request.reading = search.reading;
        for _ in 0..OWNERS_MAX {
            let answer: Result<SentResult> = self.peers.ask(&address, account, PeerTopic::Search, &asked);
            match answer {
                Ok(sent) => return Ok(sent.received(name, address)),
                Err(Error::Elsewhere { address: owner }) => address = owner,
                Err(Error::Disk { trouble: DiskTrouble::Unreachable, .. }) => {
                    return Err(Error::NotOwner(self.namespaces.existing(account, name)?.key()));
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::Elsewhere { address })
    }

    /// Leases a namespace. Claims it first if nobody owns it.
    ///
    /// # Errors
    ///
    /// [`Error::Elsewhere`] if another node owns the namespace.
    pub(in crate::service) fn lease_or_owner(&self, account: &AccountId, name: &NamespaceName) -> Result<Lease> {
        match self.namespaces.lease(account, name) {
            Err(Error::NotOwner(namespace)) => {
                self.peers.hold(&namespace)?;
                self.namespaces.lease(account, name)
            }
            leased => leased,
        }
    }

    /// Searches a namespace of this node for another one.
    ///
    /// # Errors
    ///
    /// [`Error::Elsewhere`] if this node does not own the namespace; otherwise those of [`Reads::find`].
    pub fn find_for_peer(&self, account: &AccountId, asked: &NamespaceSearch) -> Result<SentResult> {
        let lease = self.lease_or_owner(account, &asked.namespace)?;
        let mut search = self.begin_search(&asked.request);
        search.now = asked.now()?;
        SentResult::of(self.find_in(lease, &mut search)?, asked.request.detail.full)
    }
}

impl SentResult {
    /// Returns the result of a search in one namespace. `full` adds the histories of the hits.
    fn of(found: SearchResult, full: bool) -> Result<Self> {
        let histories = match full {
            true => found.histories_of_hits()?,
            false => Vec::new(),
        };
        let mut times = SearchTimes::default();
        let mut is_cold = false;
        for searched in &found.namespaces {
            times = searched.times;
            is_cold = searched.is_cold();
        }
        let SearchResult { hits, read, terms, defined, .. } = found;
        Ok(Self { hits, read, terms, defined, times, is_cold, histories })
    }

    /// Returns the result as that of a namespace of the node at an address.
    fn received(self, name: &NamespaceName, address: String) -> SearchResult {
        let Self { hits, read, terms, defined, times, is_cold, histories } = self;
        let mut histories_by_path = HashMap::with_capacity(histories.len());
        for (hit, history) in hits.iter().zip(histories) {
            histories_by_path.insert(hit.memory.path.clone(), history);
        }
        let namespace = RemoteNamespace { address, name: name.clone(), is_cold, histories: histories_by_path };
        let place = SearchPlace::Elsewhere(namespace);
        SearchResult {
            namespaces: vec![SearchedNamespace { place, name: None, head: None, times }],
            hits,
            read,
            terms,
            defined,
        }
    }
}

#[cfg(test)]
mod tests {
    use cuebase_language::relevance::Admission;
    use cuebase_retrieval::{
        Arms, Comparison, Condition, Currency, Filter, Memory, MetadataValue, TimeField, ValidityState,
    };
    use jiff::tz::TimeZone;

    use super::*;
    use crate::service::peers::{decode, encode};
    use crate::service::retrieval::{ExplanationView, HitDetail, RevisionView};

    fn hit(path: &str, score: f32) -> FoundMemory {
        let memory = Memory {
            path: path.to_owned(),
            content: "# Kiln\n\nThe kiln reaches cone ten.\n".to_owned(),
            metadata: vec![
                ("id".into(), MetadataValue::Integer(i128::from(u64::MAX))),
                ("share".into(), MetadataValue::Float(0.1)),
            ],
            occurred: Some(1_700_000_000_000),
            details: r#"{"occurred_precision":"day"}"#.to_owned(),
            ..Memory::default()
        };
        let explanation = ExplanationView { base_log_odds: -7.123_457, ..ExplanationView::default() };
        FoundMemory {
            memory,
            score,
            arms: Arms { lexical: true, ..Arms::default() },
            via: None,
            validity: ValidityState { current: true, from: Some(5), ..ValidityState::default() },
            also: vec!["facts/also.md".to_owned()],
            namespace: None,
            explanation: Some(Box::new(explanation)),
        }
    }

    /// The results of three namespaces, some of whose hits have equal scores.
    fn results() -> Vec<SearchResult> {
        let mut results = Vec::new();
        for hits in [[("a", 0.9), ("b", 0.3)], [("a", 0.9), ("c", 0.1)], [("d", 0.95), ("e", 0.3)]] {
            let definition = format!("What {} is.", hits[0].0);
            results.push(SearchResult {
                hits: hits.iter().map(|(path, score)| hit(path, *score)).collect(),
                terms: vec![hits[1].0.to_owned(), "kiln".to_owned()],
                defined: vec![Definition { term: "Kiln".to_owned(), aliases: Vec::new(), definition }],
                ..SearchResult::default()
            });
        }
        results
    }

    fn request() -> RetrievalRequest {
        RetrievalRequest { query: Some("kiln".to_owned()), limit: 5, ..RetrievalRequest::default() }
    }

    /// Returns what is shown of a result, as text.
    fn shown(result: SearchResult) -> String {
        let defined = serde_json::to_string(&result.defined).expect("encodes");
        let terms = result.terms.join(" ");
        let views = result.into_views(false).expect("views without histories");
        format!("{defined}\n{terms}\n{}", serde_json::to_string(&views).expect("encodes"))
    }

    /// Sends a result from one node to another.
    fn sent(result: SearchResult, name: &NamespaceName) -> SearchResult {
        let sent = SentResult::of(result, false).expect("no history is read");
        let bytes = encode(&sent).expect("encodes");
        decode::<SentResult>(&bytes).expect("decodes").received(name, "10.0.0.2:7071".to_owned())
    }

    /// Merges three results, of which those with a bit in `remote` are sent from another node.
    fn merged(remote: usize) -> String {
        let mut all = SearchResult::default();
        for (index, result) in results().into_iter().enumerate() {
            let name = NamespaceName::new(&format!("n{index}")).expect("a name");
            let found = if (remote >> index) & 1 == 1 { sent(result, &name) } else { result };
            all.merge(found.named(&name), &request());
        }
        shown(all)
    }

    #[test]
    fn results_are_merged_alike_whoever_owns_the_namespaces() {
        let expected = merged(0);
        assert!(expected.contains("18446744073709551615") && expected.contains("-7.123457"));
        for remote in 1..8 {
            assert_eq!(merged(remote), expected, "{remote:b}");
        }
    }

    #[test]
    fn a_hit_of_another_node_has_the_history_that_its_owner_read() {
        let name = NamespaceName::new("a").expect("a name");
        let revision = RevisionView { commit: "c".to_owned(), at: None, message: "Write".to_owned() };
        let history = History { revisions: vec![revision], last_diff: "+Kiln".to_owned() };
        let sent = SentResult {
            hits: vec![hit("facts/a.md", 0.5)],
            read: 1,
            terms: Vec::new(),
            defined: Vec::new(),
            times: SearchTimes::default(),
            is_cold: true,
            histories: vec![history],
        };
        let bytes = encode(&sent).expect("encodes");
        let received = decode::<SentResult>(&bytes).expect("decodes").received(&name, "10.0.0.2:7071".to_owned());
        assert!(received.namespaces[0].is_cold() && received.read == 1);
        let views = received.named(&name).into_views(true).expect("views");
        let full = views[0].full.as_ref().expect("the full view");
        assert_eq!((full.revisions[0].commit.as_str(), full.last_diff.as_str()), ("c", "+Kiln"));
    }

    #[test]
    fn a_request_is_the_same_on_the_other_node() {
        let condition = Condition { key: "team".to_owned(), comparison: Comparison::Equal("a".to_owned()) };
        let filter = Filter { conditions: vec![condition], time_field: TimeField::Occurred, ..Filter::default() };
        for zone in [TimeZone::UTC, TimeZone::get("Europe/Paris").expect("a zone")] {
            let request = RetrievalRequest {
                filter: filter.clone(),
                min_score: 0.1,
                admission: Admission::Strict,
                currency: Currency::Only,
                zone: Some(zone),
                detail: HitDetail { full: true, ..HitDetail::default() },
                ..request()
            };
            let name = NamespaceName::new("a").expect("a name");
            let search = NamespaceSearch::new(&name, &request, Timestamp::UNIX_EPOCH);
            let read: NamespaceSearch = decode(&encode(&search).expect("encodes")).expect("decodes");
            assert_eq!(format!("{read:?}"), format!("{search:?}"));
        }
    }
}
