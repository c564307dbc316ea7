//! Contexts: text that can be pasted into a prompt, made from what the memories hold about a query.
//!
//! A context begins with the claims that the query asks for (`claim_lines`). The memories follow that the query admits,
//! by the day on which they happened, or by topic if they have no time (`layout`). It stays within a number of tokens,
//! and it is empty if nothing is relevant. `passage` turns a memory into lines, and `claim_search` reads the claims
//! from the namespaces. Start with [`Reads::context`].

mod claim_lines;
mod claim_search;
mod layout;
mod passage;
mod response;

use std::collections::HashSet;

use cuebase_retrieval::{AskedPeriod, Currency};
use cuebase_storage::{AccountId, NamespaceName};

use self::claim_lines::ClaimQuestions;
pub use self::claim_search::ClaimSearch;
use self::claim_search::{RemoteClaims, claim_entries};
use self::layout::{LaidOut, lay_out};
use self::passage::Passages;
pub use self::response::{ContextCitation, ContextRequest, ContextResponse};
use super::reads::Reads;
use super::retrieval::{FoundMemory, RetrievalRequest};
use super::search_threads::pause;
use crate::error::{Error, Result};
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
        let ContextRequest { retrieval, max_tokens } = request;
        let table = StaticTable::built_in().map_err(Error::internal)?;
        let now = self.clock.now();
        let questions = ClaimQuestions::of(retrieval, now);
        let mut found = self.find_in_all(account, namespaces, retrieval)?;
        let former = former_memories(retrieval, &questions);
        found.hits = shown(std::mem::take(&mut found.hits), former);
        let remote = RemoteClaims { reads: self, account, request: retrieval, now };
        let mut entries = claim_entries(&found, &questions, &remote)?;
        let passages = Passages { terms: &found.terms, zone: retrieval.zone.as_ref(), words_max: max_tokens / 4 };
        for hit in &found.hits {
            pause()?;
            entries.push(passages.entry(hit));
        }
        pause()?;
        let LaidOut { text, tokens, citations } = lay_out(entries, *max_tokens, table);
        let names: Vec<&str> = namespaces.iter().map(NamespaceName::as_str).collect();
        Ok(ContextResponse { text, tokens, citations, namespace: names.join(",") })
    }
}

/// Decides by the time that the query asks for.
fn former_memories(request: &RetrievalRequest, questions: &ClaimQuestions) -> FormerMemories {
    if request.currency == Currency::Any || questions.period() != AskedPeriod::Present {
        return FormerMemories::Marked;
    }
    FormerMemories::LeftOut
}

/// Returns the hits that a context shows: those that hold, or are marked, and none whose content was shown already.
fn shown(hits: Vec<FoundMemory>, former: FormerMemories) -> Vec<FoundMemory> {
    let mut contents = HashSet::new();
    let mut shown = Vec::with_capacity(hits.len());
    for hit in hits {
        let is_shown = hit.validity.current || former == FormerMemories::Marked;
        if is_shown && contents.insert(hit.memory.content.trim().to_owned()) {
            shown.push(hit);
        }
    }
    shown
}
