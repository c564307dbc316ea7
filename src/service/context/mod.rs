//! Contexts: text that can be pasted into a prompt, made from what the memories hold about a query.
//!
//! A context begins with what stands: conditions and rules that a request touches (`standing`). Then comes what the query
//! asks for by name: its claims (`claim_lines`). The memories follow that it admits, the most relevant first (`layout`). Each is a line with the mark of its citation. It stays within a number of tokens,
//! and it is empty if nothing is relevant. `passage` turns a memory into lines, and `claim_search` reads the claims
//! from the namespaces. Start with [`Reads::context`].

mod claim_lines;
mod claim_search;
mod layout;
mod passage;
mod response;
mod standing;

use std::collections::HashSet;

use cuebase_language::claims::AskedPeriod;
use cuebase_retrieval::Currency;
use cuebase_storage::{AccountId, NamespaceName};

use self::claim_lines::ClaimQuestions;
pub use self::claim_search::ClaimSearch;
use self::claim_search::{RemoteClaims, claim_entries};
use self::layout::{Entry, LaidOut, lay_out};
use self::passage::Passages;
pub use self::response::{ContextCitation, ContextRequest, ContextResponse, Marks, StandingFacts};
use self::standing::standing_memories;
use super::reads::Reads;
use super::retrieval::{FoundMemory, RetrievalRequest};
use super::search_threads::pause;
use crate::error::{Error, Result};
use crate::memory::quotations::Quotations;
use crate::model::StaticTable;

/// What becomes of memories that no longer hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormerMemories {
    LeftOut,
    /// They are marked as former.
    Marked,
}

impl Reads {
    /// Makes a context from namespaces that the caller may read.
    ///
    /// # Errors
    ///
    /// Those of [`Reads::find_in_all`].
    pub fn context(
        &self,
        account: &AccountId,
        namespaces: &[NamespaceName],
        request: &ContextRequest,
    ) -> Result<ContextResponse> {
        let ContextRequest { retrieval, max_tokens, marks, standing } = request;
        let table = StaticTable::built_in().map_err(Error::internal)?;
        let now = self.clock.now();
        let questions = ClaimQuestions::of(retrieval, now);
        let mut found = self.find_in_all(account, namespaces, retrieval)?;
        let former = former_memories(retrieval, &questions);
        found.hits = shown(std::mem::take(&mut found.hits), former);
        let remote = RemoteClaims { reads: self, account, request: retrieval, now };
        let claims = claim_entries(&found, &questions, &remote)?;
        let standing = standing_memories(self, account, namespaces, retrieval, *standing)?;
        let mut entries = claims_without_memories(claims, &mut found.hits);
        let passages = Passages { terms: &found.terms, zone: retrieval.zone.as_ref(), words_max: max_tokens / 4 };
        let mut standing_entries = Vec::with_capacity(standing.len());
        for hit in &standing {
            standing_entries.push(passages.standing_entry(hit));
        }
        found.hits.retain(|hit| !is_among(hit, &standing));
        for hit in &found.hits {
            pause()?;
            entries.push(passages.entry(hit));
        }
        pause()?;
        let LaidOut { text, tokens, citations } = lay_out(standing_entries, entries, *max_tokens, *marks, table);
        let names: Vec<&str> = namespaces.iter().map(NamespaceName::as_str).collect();
        Ok(ContextResponse { text, tokens, citations, read: found.read, namespace: names.join(",") })
    }
}

/// Whether a memory is one of some others.
fn is_among(hit: &FoundMemory, others: &[FoundMemory]) -> bool {
    others.iter().any(|other| other.memory.path == hit.memory.path && other.namespace == hit.namespace)
}

/// Moves the memories that make the asked claims to the front. Returns the claims whose memories are not shown.
fn claims_without_memories(claims: Vec<Entry>, hits: &mut [FoundMemory]) -> Vec<Entry> {
    let mut others = Vec::new();
    let mut asked = HashSet::new();
    for claim in claims {
        let ContextCitation { path, namespace, .. } = &claim.citation;
        if hits.iter().any(|hit| hit.memory.path == *path && hit.namespace_text() == *namespace) {
            asked.insert((path.clone(), namespace.clone()));
        } else {
            others.push(claim);
        }
    }
    hits.sort_by_cached_key(|hit| !asked.contains(&(hit.memory.path.clone(), hit.namespace_text())));
    others
}

/// Decides by the time that the query asks for.
fn former_memories(request: &RetrievalRequest, questions: &ClaimQuestions) -> FormerMemories {
    if request.currency == Currency::Any || questions.period() != AskedPeriod::Present {
        return FormerMemories::Marked;
    }
    FormerMemories::LeftOut
}

/// Returns the hits that a context shows: those that hold, or are marked, and none whose content is shown already, as a
/// memory or as what another memory quotes.
fn shown(hits: Vec<FoundMemory>, former: FormerMemories) -> Vec<FoundMemory> {
    let quotations = Quotations::of(hits.iter().map(|hit| hit.memory.content.as_str()));
    let mut contents = HashSet::new();
    let mut shown = Vec::with_capacity(hits.len());
    for hit in hits {
        let content = hit.memory.content.trim();
        let is_former_left_out = !hit.validity.current && former == FormerMemories::LeftOut;
        let is_shown = !is_former_left_out && !quotations.contain(content);
        if is_shown && contents.insert(content.to_owned()) {
            shown.push(hit);
        }
    }
    shown
}
