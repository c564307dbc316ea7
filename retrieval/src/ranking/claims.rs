//! Claims that a query asks for: which candidates answer with what held at the time in question, and which with what
//! held at another time.

use std::ops::Range;

use crate::bitmap::Bitmap;
use crate::claim::{AskedClaims, AskedKind, AskedPeriod};
use crate::hash::{AttributeHash, FacetHash, SubjectHash};
use crate::ids::{ClaimId, DocumentId};
use crate::index::claim_entry::ClaimEntry;
use crate::index::ledger::{HeldClaim, held_claims, is_positive};
use crate::index::{Document, Ledger, Table};
use crate::memory::Millis;

/// What a candidate says about the claims that the query asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing.
    #[default]
    Unrelated,
    /// A value that held at the time in question.
    Holding,
    /// A value that held at another time only.
    Outdated,
}

/// The claims that a query asks for, and the time in question.
pub(crate) struct ClaimQuestion<'a> {
    table: &'a Table,
    ledger: &'a Ledger,
    /// Ascending.
    subjects: Vec<SubjectHash>,
    /// Ascending.
    attributes: Vec<AttributeHash>,
    period: AskedPeriod,
    kind: AskedKind,
    /// The time of the search.
    now: Millis,
}

impl<'a> ClaimQuestion<'a> {
    /// Takes the names that the query contains. `now` is the time as of which the search answers.
    pub(crate) fn new(table: &'a Table, ledger: &'a Ledger, asked: &AskedClaims, now: Millis) -> Self {
        let mut subjects: Vec<SubjectHash> = asked.subjects.iter().map(|name| SubjectHash::of(name)).collect();
        let mut attributes: Vec<AttributeHash> = asked.attributes.iter().map(|name| AttributeHash::of(name)).collect();
        subjects.sort_unstable();
        attributes.sort_unstable();
        Self { table, ledger, subjects, attributes, period: asked.period, kind: asked.kind, now }
    }

    /// Whether the time in question is that of the search.
    pub(crate) fn asks_for_present(&self) -> bool {
        self.period == AskedPeriod::Present
    }

    /// Returns what a document says about the claims in question.
    pub(crate) fn standing(&self, document: Document<'_>) -> Standing {
        let mut standing = Standing::Unrelated;
        // True of most queries, and cheap to find out.
        let asks_for_nothing = self.subjects.is_empty() || self.attributes.is_empty();
        if asks_for_nothing || !document.dated() {
            return standing;
        }
        let ids = document.claim_ids();
        for (id, claim) in ids.start.until(ids.end).zip(document.claims()) {
            if !self.asks_for(claim) {
                continue;
            }
            if self.answers(id, claim) {
                return Standing::Holding;
            }
            if is_positive(claim.kind) {
                standing = Standing::Outdated;
            }
        }
        standing
    }

    /// Returns the keys of the claims of a document that are in question and did not hold at the time in question.
    pub(crate) fn outdated_keys(&self, document: Document<'_>) -> Vec<FacetHash> {
        let mut keys = Vec::new();
        let ids = document.claim_ids();
        for (id, claim) in ids.start.until(ids.end).zip(document.claims()) {
            if is_positive(claim.kind) && self.asks_for(claim) && !self.holds(id, claim) {
                keys.push(claim.key());
            }
        }
        keys
    }

    /// Returns the allowed documents with a claim of a key that held at the time in question, in the order
    /// of their times.
    pub(crate) fn holding(&self, key: FacetHash, allowed: Option<&Bitmap>) -> Vec<DocumentId> {
        let mut holding = Vec::new();
        for claim in held_claims(self.table, key) {
            let is_allowed = allowed.is_none_or(|allowed| allowed.contains(claim.document));
            if is_allowed && is_positive(claim.entry.kind) && self.holds(claim.id, &claim.entry) {
                holding.push(claim.document);
            }
        }
        holding
    }

    fn asks_for(&self, claim: &ClaimEntry) -> bool {
        self.subjects.binary_search(&claim.subject).is_ok() && self.attributes.binary_search(&claim.attribute).is_ok()
    }

    /// Whether a claim answers the question: it held at the time in question, or it is the end that was asked for.
    fn answers(&self, id: ClaimId, claim: &ClaimEntry) -> bool {
        if is_positive(claim.kind) {
            return self.holds(id, claim);
        }
        self.kind == AskedKind::Continuation && self.is_last(id, claim)
    }

    /// Whether no claim with the same key is later.
    fn is_last(&self, id: ClaimId, claim: &ClaimEntry) -> bool {
        let all = held_claims(self.table, claim.key());
        let known = all.iter().rev().find(|held| held.entry.from <= self.now);
        known.is_some_and(|last| last.id == id)
    }

    /// Whether a claim held at the time in question.
    fn holds(&self, id: ClaimId, claim: &ClaimEntry) -> bool {
        let held = claim.from..self.ledger.claim_end(id);
        match self.period {
            AskedPeriod::Present => held.contains(&self.now),
            AskedPeriod::Named(first, last) => self.held_between(&held, claim, first, last),
            AskedPeriod::Former => self.is_former(id, claim),
        }
    }

    /// Whether a claim held between two times, for at least half as long as any other of the same key. The first claim
    /// of all is taken to have held before, too.
    fn held_between(&self, held: &Range<Millis>, claim: &ClaimEntry, first: Millis, last: Millis) -> bool {
        let asked = first..last.saturating_add(1);
        let own = common_time(held, &asked);
        let all = held_claims(self.table, claim.key());
        if own == 0 {
            return last < held.start && all.first().is_some_and(|earliest| earliest.entry.from == claim.from);
        }
        for other in &all {
            let other_held = other.entry.from..self.ledger.claim_end(other.id);
            if is_positive(other.entry.kind) && common_time(&other_held, &asked) / 2 > own {
                return false;
            }
        }
        true
    }

    /// Whether a claim is the last one with another value than the present one.
    fn is_former(&self, id: ClaimId, claim: &ClaimEntry) -> bool {
        if self.ledger.claim_end(id) > self.now {
            return false;
        }
        let all = held_claims(self.table, claim.key());
        let mut former: Option<&HeldClaim> = None;
        for held in &all {
            let ended = self.ledger.claim_end(held.id) <= self.now;
            if ended && is_positive(held.entry.kind) {
                former = Some(held);
            }
        }
        former.is_some_and(|former| former.entry.value.is_same(claim.value))
    }
}

/// Returns for how long two periods overlap.
fn common_time(a: &Range<Millis>, b: &Range<Millis>) -> Millis {
    a.end.min(b.end).saturating_sub(a.start.max(b.start)).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{AskedKind, Claim, ClaimKind};
    use crate::head::Head;
    use crate::index::{Change, Index, IndexSettings};
    use crate::memory::Memory;
    use crate::tokens::NoTokens;

    fn memory(path: &str, value: &str, from: Millis) -> Change {
        let claim = Claim {
            subject: "ana".into(),
            attribute: "home".into(),
            value: value.into(),
            kind: ClaimKind::Only,
            from: Some(from),
        };
        Change::Put(Box::new(Memory { path: path.into(), claims: vec![claim], ..Memory::default() }))
    }

    /// Returns the paths whose claim holds, of three homes written out of order.
    fn holding(period: AskedPeriod, now: Millis) -> Vec<usize> {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = IndexSettings { dimensions: 1, model: "m".into(), tokens: &NoTokens };
        let mut index = Index::open(folder.path(), settings).expect("opens");
        for (path, value, from) in
            [("facts/1.md", "bergen", 200), ("facts/0.md", "oslo", 100), ("facts/2.md", "oslo", 300)]
        {
            index.apply(vec![memory(path, value, from)], Head::from([1; 20])).expect("applies");
        }
        let snapshot = index.published().load_full();
        let asked = AskedClaims {
            subjects: vec!["ana".into()],
            attributes: vec!["home".into()],
            period,
            kind: AskedKind::State,
        };
        let question = ClaimQuestion::new(&snapshot.table, &snapshot.ledger, &asked, now);
        let mut holding = Vec::new();
        for memory in 0..3 {
            let path = crate::hash::PathHash::of(&format!("facts/{memory}.md"));
            let (_, document) =
                snapshot.table.documents().find(|(_, document)| document.path() == path).expect("exists");
            if question.standing(document) == Standing::Holding {
                holding.push(memory);
            }
        }
        holding
    }

    #[test]
    fn the_time_in_question_decides_which_claim_holds() {
        assert_eq!(holding(AskedPeriod::Present, 1000), [2]);
        assert_eq!(holding(AskedPeriod::Present, 250), [1]);
        assert_eq!(holding(AskedPeriod::Named(110, 120), 1000), [0]);
        assert_eq!(holding(AskedPeriod::Named(150, 250), 1000), [0, 1]);
        assert_eq!(holding(AskedPeriod::Named(110, 220), 1000), [0], "the other one held for less than half as long");
        assert_eq!(holding(AskedPeriod::Named(10, 20), 1000), [0], "the first claim is taken to have held before");
        assert_eq!(holding(AskedPeriod::Former, 1000), [1]);
    }
}
