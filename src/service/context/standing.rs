//! Standing facts: conditions and rules that a request touches without asking for them.
//!
//! Extraction marks the statements of users that state a condition or a rule with a tag, and memories of the tier for
//! rules stand as well. `standing` in the front matter of a memory overrides both. For a request, those that matter most to it come first in the context, the newest first.

use std::cmp::Reverse;
use std::collections::HashSet;

use cuebase_language::memory::Tier;
use cuebase_language::standing::request::Request;
use cuebase_language::standing::{NOT_STANDING_TAG, STANDING_TAG};
use cuebase_retrieval::{Currency, Filter};
use cuebase_storage::{AccountId, NamespaceName};

use super::response::StandingFacts;
use crate::error::Result;
use crate::service::reads::Reads;
use crate::service::retrieval::{FoundMemory, HitDetail, RetrievalRequest};

/// Standing memories that are read, the newest of each kind.
const READ_MAX: usize = 100;
/// Standing memories of a context.
const SHOWN_MAX: usize = 4;

/// Which of the standing memories a context shows.
enum Shown {
    /// Those that the request touches.
    Touched(Request),
    All,
}

/// Returns the standing memories for a query, newest first.
pub(super) fn standing_memories(
    reads: &Reads,
    account: &AccountId,
    namespaces: &[NamespaceName],
    request: &RetrievalRequest,
    wanted: StandingFacts,
) -> Result<Vec<FoundMemory>> {
    let query = request.query.as_deref().unwrap_or("");
    let shown = match wanted {
        StandingFacts::Off => None,
        StandingFacts::All => Some(Shown::All),
        StandingFacts::Auto => Request::read(query).map(Shown::Touched),
    };
    let Some(shown) = shown else { return Ok(Vec::new()) };
    let rules = Filter { tiers: vec![Tier::Rules.name().to_owned()], ..request.filter.clone() };
    let tagged = Filter { tags_any: vec![STANDING_TAG.to_owned()], ..request.filter.clone() };
    let mut found: Vec<(usize, FoundMemory)> = Vec::new();
    let mut contents = HashSet::new();
    for filter in [rules, tagged] {
        for hit in reads.find_in_all(account, namespaces, &listing(request, filter))?.hits {
            let strength = match &shown {
                Shown::Touched(request) => request.strength(&hit.memory.content),
                Shown::All => Some(0),
            };
            if let Some(strength) = strength
                && request.filter.accepts(&hit.memory)
                && !is_excepted(&hit)
                && contents.insert(hit.memory.content.clone())
            {
                found.push((strength, hit));
            }
        }
    }
    found.sort_by_key(|(strength, hit)| (Reverse(*strength), Reverse(hit.memory.occurred)));
    if matches!(shown, Shown::Touched(_)) {
        found.truncate(SHOWN_MAX);
    }
    found.sort_by_key(|(_, hit)| Reverse(hit.memory.occurred));
    Ok(found.into_iter().map(|(_, hit)| hit).collect())
}

/// Whether somebody said that a memory does not stand.
fn is_excepted(hit: &FoundMemory) -> bool {
    hit.memory.inferred_tags.iter().any(|tag| tag == NOT_STANDING_TAG)
}

/// Returns a request that lists the memories of a filter that hold.
fn listing(request: &RetrievalRequest, filter: Filter) -> RetrievalRequest {
    RetrievalRequest {
        query: None,
        filter,
        limit: READ_MAX,
        currency: Currency::Only,
        detail: HitDetail::default(),
        ..request.clone()
    }
}
