//! Claims that a query asks for: which candidates answer with what held at the time in question, and which with what
//! held at another time.

use std::sync::OnceLock;

use cuebase_language::claims::{AskedClaims, AskedKind, AskedPeriod};

use crate::bitmap::Bitmap;
use crate::hash::{AttributeHash, FacetHash, SubjectHash};
use crate::ids::{ClaimId, DocumentId};
use crate::index::claim_entry::{ClaimEntry, ValueSignature, is_positive};
use crate::index::{Document, Ledger};
use crate::memory::Millis;

/// Most documents that hold at the time in question, of one fact: the latest. They rank before those that do not.
const HOLDING_MAX: usize = 64;

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
    ledger: &'a Ledger,
    /// Ascending.
    subjects: Vec<SubjectHash>,
    /// Ascending.
    attributes: Vec<AttributeHash>,
    period: AskedPeriod,
    kind: AskedKind,
    /// The time of the search.
    now: Millis,
    /// The facts in question, ascending, with what decides which of their claims held at the time in question. Empty if
    /// that is the time of the search.
    facts: Vec<(FacetHash, OnceLock<AskedFact>)>,
}

/// What decides which claims of a fact held at a time in question other than that of the search. Computed once it is
/// needed, and not again for each claim.
#[derive(Clone, Copy, Debug, Default)]
struct AskedFact {
    /// When the first claim begins.
    first_from: Option<Millis>,
    /// For how long the claim that held longest at a named time did.
    longest: Millis,
    /// The last value that no longer holds.
    former: Option<ValueSignature>,
}

/// A time from its beginning to its end, which is excluded.
#[derive(Clone, Copy)]
struct Period {
    start: Millis,
    end: Millis,
}

impl Period {
    /// Returns for how long two periods overlap.
    fn common_time(self, other: Self) -> Millis {
        self.end.min(other.end).saturating_sub(self.start.max(other.start)).max(0)
    }
}

impl<'a> ClaimQuestion<'a> {
    /// Takes the names that the query contains. `now` is the time as of which the search answers.
    pub(crate) fn new(ledger: &'a Ledger, asked: &AskedClaims, now: Millis) -> Self {
        let mut subjects: Vec<SubjectHash> = asked.subjects.iter().map(|name| SubjectHash::of(name)).collect();
        let mut attributes: Vec<AttributeHash> = asked.attributes.iter().map(|name| AttributeHash::of(name)).collect();
        subjects.sort_unstable();
        attributes.sort_unstable();
        let mut facts = Vec::new();
        if asked.period != AskedPeriod::Present {
            for subject in &subjects {
                for attribute in &attributes {
                    facts.push((FacetHash::of_claim(*subject, *attribute), OnceLock::new()));
                }
            }
            facts.sort_unstable_by_key(|(key, _)| *key);
        }
        Self { ledger, subjects, attributes, period: asked.period, kind: asked.kind, now, facts }
    }

    /// Whether the time in question is that of the search.
    pub(crate) fn asks_for_present(&self) -> bool {
        self.period == AskedPeriod::Present
    }

    /// Whether the query asks how something is, or whether it still is so.
    pub(crate) fn asks_for_state(&self) -> bool {
        self.kind != AskedKind::Anything
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

    /// Returns the allowed documents with a claim of a key that held at the time in question, in the order of their
    /// times. Of many, the latest.
    pub(crate) fn holding(&self, key: FacetHash, allowed: Option<&Bitmap>) -> Vec<DocumentId> {
        let mut holding = Vec::new();
        for piece in self.ledger.history().pieces(key).rev() {
            if self.period == AskedPeriod::Present && !piece.may_end_after(self.now) {
                continue;
            }
            for claim in piece.claims().iter().rev() {
                let is_allowed = allowed.is_none_or(|allowed| allowed.contains(claim.document));
                let held = Period { start: claim.order.from, end: claim.end() };
                if is_allowed && claim.claimed.is_positive() && self.held(key, held, claim.claimed.value) {
                    holding.push(claim.document);
                    if holding.len() == HOLDING_MAX {
                        holding.reverse();
                        return holding;
                    }
                }
            }
        }
        holding.reverse();
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
        let last = self.ledger.history().last_by(claim.key(), self.now);
        last.is_some_and(|last| last.order.id == id)
    }

    /// Whether a claim of a document held at the time in question.
    fn holds(&self, id: ClaimId, claim: &ClaimEntry) -> bool {
        let held = Period { start: claim.from, end: self.ledger.claim_end(id) };
        self.held(claim.key(), held, claim.value)
    }

    /// Whether a claim of a fact, which held for some time, held at the time in question.
    fn held(&self, key: FacetHash, held: Period, value: ValueSignature) -> bool {
        match self.period {
            AskedPeriod::Present => held.start <= self.now && self.now < held.end,
            AskedPeriod::Named(first, last) => self.fact(key).is_some_and(|fact| held_between(fact, held, first, last)),
            // The value is the last one before the present one.
            AskedPeriod::Former => {
                let former = self.fact(key).and_then(|fact| fact.former);
                held.end <= self.now && former.is_some_and(|former| former.is_same(value))
            }
        }
    }

    /// Returns what decides about a fact; `None` if it is not in question.
    fn fact(&self, key: FacetHash) -> Option<&AskedFact> {
        let index = self.facts.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        let (_, fact) = self.facts.get(index)?;
        Some(fact.get_or_init(|| self.asked_fact(key)))
    }

    /// Computes what decides about a fact.
    fn asked_fact(&self, key: FacetHash) -> AskedFact {
        let history = self.ledger.history();
        let mut fact =
            AskedFact { first_from: history.first(key).map(|first| first.order.from), ..AskedFact::default() };
        match self.period {
            AskedPeriod::Present => {}
            AskedPeriod::Named(first, last) => {
                let asked = Period { start: first, end: last.saturating_add(1) };
                for piece in history.pieces_by(key, last) {
                    if !piece.may_end_after(first) {
                        continue;
                    }
                    for claim in piece.claims() {
                        if claim.claimed.is_positive() {
                            let held = Period { start: claim.order.from, end: claim.end() };
                            fact.longest = fact.longest.max(held.common_time(asked));
                        }
                    }
                }
            }
            AskedPeriod::Former => {
                for piece in history.pieces(key).rev() {
                    if !piece.may_end_by(self.now) {
                        continue;
                    }
                    for claim in piece.claims().iter().rev() {
                        if claim.claimed.is_positive() && claim.end() <= self.now {
                            fact.former = Some(claim.claimed.value);
                            return fact;
                        }
                    }
                }
            }
        }
        fact
    }
}

/// Whether a claim held between two times, for at least half as long as any other of its fact. The first claim of all
/// is taken to have held before, too.
fn held_between(fact: &AskedFact, held: Period, first: Millis, last: Millis) -> bool {
    let own = held.common_time(Period { start: first, end: last.saturating_add(1) });
    if own == 0 {
        return last < held.start && fact.first_from == Some(held.start);
    }
    fact.longest / 2 <= own
}

#[cfg(test)]
mod tests {
    use cuebase_language::claims::AskedKind;

    use super::*;
    use crate::claim::{Claim, ClaimKind};
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
        let question = ClaimQuestion::new(&snapshot.ledger, &asked, now);
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
