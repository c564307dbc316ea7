//! The claims that a query asks for, from the namespaces that were searched. The owner of a namespace reads them.

use std::collections::HashSet;

use cuebase_retrieval::SubjectClaim;
use cuebase_storage::{AccountId, NamespaceName};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::claim_lines::ClaimQuestions;
use super::layout::Entry;
use crate::error::Result;
use crate::service::peers::PeerTopic;
use crate::service::reads::Reads;
use crate::service::retrieval::{NamespaceSearch, RemoteNamespace, RetrievalRequest, SearchPlace, SearchResult};
use crate::service::search_threads::pause;

/// A search for the claims that a query asks for, in one namespace of another node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClaimSearch {
    search: NamespaceSearch,
    /// Paths of the admitted memories of the namespace.
    admitted: Vec<String>,
}

/// A request whose namespaces are in part on other nodes.
pub(super) struct RemoteClaims<'a> {
    pub(super) reads: &'a Reads,
    pub(super) account: &'a AccountId,
    pub(super) request: &'a RetrievalRequest,
    /// The time of the request.
    pub(super) now: Timestamp,
}

/// Returns the entries of the claims that a query asks for, in the namespaces that were searched.
pub(super) fn claim_entries(
    found: &SearchResult,
    questions: &ClaimQuestions,
    remote: &RemoteClaims<'_>,
) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (name, place) in found.places() {
        pause()?;
        let mut admitted = HashSet::new();
        for hit in &found.hits {
            if hit.namespace.as_ref() == name {
                admitted.insert(hit.memory.path.as_str());
            }
        }
        let claims = match place {
            SearchPlace::Here(lease) => lease.read(|snapshot| questions.claims(snapshot, &admitted)),
            SearchPlace::Elsewhere(namespace) => remote.claims(namespace, questions, &admitted),
        };
        let claims = match (claims, name) {
            (Ok(claims), _) => claims,
            (Err(error), Some(name)) => return Err(error.in_namespace(name.as_str())),
            (Err(error), None) => return Err(error),
        };
        for claim in claims {
            entries.push(questions.entry(claim, name.map(NamespaceName::as_str)));
        }
    }
    Ok(entries)
}

impl RemoteClaims<'_> {
    /// Returns the claims in a namespace that the query asks for. `admitted` are the paths of its admitted memories.
    fn claims(
        &self,
        namespace: &RemoteNamespace,
        questions: &ClaimQuestions,
        admitted: &HashSet<&str>,
    ) -> Result<Vec<SubjectClaim>> {
        if !questions.name_a_subject() {
            return Ok(Vec::new());
        }
        let mut paths = Vec::with_capacity(admitted.len());
        for path in admitted {
            paths.push((*path).to_owned());
        }
        let search = NamespaceSearch::new(&namespace.name, self.request, self.now);
        let asked = ClaimSearch { search, admitted: paths };
        self.reads.peers().ask(&namespace.address, self.account, PeerTopic::Claims, &asked)
    }
}

impl Reads {
    /// Returns the claims in a namespace of this node that the query of another node asks for.
    ///
    /// # Errors
    ///
    /// [`Error::Elsewhere`](crate::error::Error::Elsewhere) if this node does not own the namespace; otherwise those of
    /// [`Reads::find`].
    pub fn claims_for_peer(&self, account: &AccountId, asked: &ClaimSearch) -> Result<Vec<SubjectClaim>> {
        let ClaimSearch { search, admitted } = asked;
        let lease = self.lease_or_owner(account, &search.namespace)?;
        let questions = ClaimQuestions::of(&search.request, search.now()?);
        let admitted: HashSet<&str> = admitted.iter().map(String::as_str).collect();
        lease.read(|snapshot| questions.claims(snapshot, &admitted))
    }
}
