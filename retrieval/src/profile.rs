//! Profiles: what the memories claim about a subject, and which subjects there are claims about.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

use cuebase_language::claims::question::USER;
use cuebase_language::claims::{AskedClaims, AskedPeriod};
use cuebase_language::tokenize::fold;
use serde::{Deserialize, Serialize};

use crate::claim::{Claim, Currency};
use crate::error::Result;
use crate::hash::{AttributeHash, FacetHash, NameHash, PathHash, SubjectHash};
use crate::ids::{ClaimId, DocumentId};
use crate::index::claim_entry::{ClaimEntry, is_positive};
use crate::index::entry::{NEVER, UNKNOWN};
use crate::index::{Document, Snapshot, ValidityFilter};
use crate::memory::{Memory, Millis};

/// Claims that are read at most, of all that a question is about: those that hold, then the latest. Reading one takes
/// some 10 microseconds.
const READ_MAX: usize = 2_000;

/// Returns what follows the name of the user in a subject: nothing, or the thing or person that is theirs ("'s sister").
fn owned_by_user(subject: &str) -> Option<&str> {
    let rest = subject.strip_prefix(USER)?;
    if rest.is_empty() || rest.starts_with("'s ") { Some(rest) } else { None }
}

/// A claim about a subject.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SubjectClaim {
    /// Path of the memory that claims it.
    pub path: String,
    /// The folded name of the subject.
    pub subject: String,
    /// The folded name of the attribute.
    pub attribute: String,
    /// The folded words of the value.
    pub value: String,
    /// When the claim began to hold, if known.
    pub from: Option<Millis>,
    /// When it stopped holding, if it did.
    pub until: Option<Millis>,
    /// Whether it holds at the time of the search.
    pub current: bool,
}

/// A subject that memories make claims about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimSubject {
    /// The folded name.
    pub name: String,
    /// The number of claims.
    pub claims: usize,
    /// Whether the subject is also the speaker of some of the memories.
    pub speaks: bool,
}

/// The time at which claims are judged.
#[derive(Clone, Copy, Debug)]
pub struct ClaimTime {
    /// The present.
    pub now: Millis,
    /// If given, claims are judged as of this time, and later ones are left out.
    pub as_of: Option<Millis>,
}

/// When a claim holds: from then on, and until then.
#[derive(Clone, Copy)]
struct ClaimPeriod {
    from: Millis,
    until: Millis,
}

impl ClaimPeriod {
    fn holds(self, at: Millis) -> bool {
        self.from <= at && at < self.until
    }

    /// Whether the claim held at the time that a query asks for. `at` is the time of the search.
    fn is_of(self, asked: AskedPeriod, at: Millis) -> bool {
        match asked {
            AskedPeriod::Present => self.holds(at),
            AskedPeriod::Former => !self.holds(at) && self.until != NEVER,
            AskedPeriod::Named(first, last) => self.from <= last && self.until > first,
        }
    }
}

/// A claim that was found and not read yet.
#[derive(Clone, Copy)]
struct FoundClaim {
    document: DocumentId,
    /// The position among the claims of the document.
    index: usize,
    period: ClaimPeriod,
}

/// The claims about a subject that were counted.
struct CountedSubject {
    subject: SubjectHash,
    claims: usize,
    /// A document with such a claim.
    document: DocumentId,
}

impl Snapshot {
    /// Returns what the memories claim about a subject, by its folded name, in the order of their writing. A claim that
    /// only ends others is not returned; the ends of the others show it. Of more than 2,000 claims, returns those that
    /// hold and the latest.
    pub fn claims_about(&self, subject: &str, time: ClaimTime) -> Result<Vec<SubjectClaim>> {
        let subject = SubjectHash::of(subject);
        let mut found = Vec::new();
        for id in self.table.holding(FacetHash::of_subject(subject)) {
            let Some(document) = self.visible_document(id, time) else { continue };
            for (index, entry) in document.claims().iter().enumerate() {
                if entry.subject == subject {
                    found.extend(self.found_claim(id, document, index, time));
                }
            }
        }
        self.read_claims(found, time)
    }

    /// Returns the claims that a query asks for in this namespace, in which "I" also stands for the person who asks: `user`,
    /// else the only person with a name who speaks in it.
    pub fn asked_of_user<'a>(&self, asked: &'a AskedClaims, user: Option<&str>) -> Result<Cow<'a, AskedClaims>> {
        if !asked.subjects.iter().any(|subject| owned_by_user(subject).is_some()) {
            return Ok(Cow::Borrowed(asked));
        }
        let only_user = match user {
            Some(user) => Some(user.to_owned()),
            None => self.only_user()?,
        };
        let Some(name) = only_user.map(|name| fold(&name)) else { return Ok(Cow::Borrowed(asked)) };
        let mut asked = asked.clone();
        for subject in asked.subjects.clone() {
            if let Some(rest) = owned_by_user(&subject) {
                asked.subjects.push(format!("{name}{rest}"));
            }
        }
        asked.subjects.sort();
        asked.subjects.dedup();
        Ok(Cow::Owned(asked))
    }

    /// Returns the name of the only person who speaks in the namespace, not counting an assistant without a name. `None` if
    /// there are several or none.
    pub fn only_user(&self) -> Result<Option<String>> {
        let Some(user) = self.table.habits().only_user() else { return Ok(None) };
        let Some(document) = self.table.document(user.memory) else { return Ok(None) };
        Ok(self.memory(document)?.speaker)
    }

    /// Whether several persons with names speak in the namespace, so that it is not clear for whom "I" stands.
    pub fn has_several_users(&self) -> bool {
        self.table.habits().has_several_named()
    }

    /// Returns the claims that a query asks for: those of any of its subjects about any of its attributes that held at
    /// the time in question. Reads only the memories that make them, at most 2,000 for each subject.
    pub fn asked_claims(&self, asked: &AskedClaims, time: ClaimTime) -> Result<Vec<SubjectClaim>> {
        let at = search_time(time);
        let mut attributes: Vec<AttributeHash> = asked.attributes.iter().map(|name| AttributeHash::of(name)).collect();
        attributes.sort_unstable();
        attributes.dedup();
        let mut claims = Vec::new();
        for subject in &asked.subjects {
            let subject = SubjectHash::of(subject);
            // Most names that a query may contain are the subject of no claim.
            if self.table.holding(FacetHash::of_subject(subject)).next().is_none() {
                continue;
            }
            let mut found = Vec::new();
            for attribute in &attributes {
                self.add_fact_claims(FacetHash::of_claim(subject, *attribute), time, &mut found);
            }
            found.retain(|claim| claim.period.is_of(asked.period, at));
            claims.extend(self.read_claims(found, time)?);
        }
        Ok(claims)
    }

    /// Returns what the memories claim about the facts (an attribute of a subject) that the memory at a path makes
    /// claims about, whatever the time. The claims about one fact are neighbours. Of more than 2,000 claims about a
    /// fact, returns those that hold and the latest. Returns `None` if the path holds no memory. Scans every path once.
    pub fn fact_claims(&self, path: &str, now: Millis) -> Result<Option<Vec<SubjectClaim>>> {
        let path = PathHash::of(path);
        let Some((_, document)) = self.table.documents().find(|(_, document)| document.path() == path) else {
            return Ok(None);
        };
        let time = ClaimTime { now, as_of: None };
        let mut facts = Vec::new();
        let mut claims = Vec::new();
        for entry in document.claims() {
            if facts.contains(&entry.key()) {
                continue;
            }
            facts.push(entry.key());
            let mut found = Vec::new();
            self.add_fact_claims(entry.key(), time, &mut found);
            claims.extend(self.read_claims(found, time)?);
        }
        Ok(Some(claims))
    }

    /// Returns up to `limit` subjects with a name, those with the most claims first. Scans every document once, and
    /// reads one memory of each returned subject.
    pub fn claim_subjects(&self, limit: usize) -> Result<Vec<ClaimSubject>> {
        let mut counted = self.counted_subjects();
        counted.sort_by_key(|one| (Reverse(one.claims), one.document));
        let mut subjects = Vec::new();
        for one in counted {
            if subjects.len() == limit {
                break;
            }
            let Some(document) = self.table.document(one.document) else { continue };
            let memory = self.memory(document)?;
            let Some(claim) = memory.claims.iter().find(|claim| SubjectHash::of(&claim.subject) == one.subject) else {
                continue;
            };
            let name = claim.subject.clone();
            subjects.push(ClaimSubject { speaks: self.speaks(one.subject, &name), name, claims: one.claims });
        }
        Ok(subjects)
    }

    /// Adds the claims about a fact, whatever their time.
    fn add_fact_claims(&self, key: FacetHash, time: ClaimTime, found: &mut Vec<FoundClaim>) {
        for piece in self.ledger.history().pieces(key) {
            for claim in piece.claims() {
                let Some(document) = self.visible_document(claim.document, time) else { continue };
                let first = document.claim_ids().start;
                let index = claim.order.id.index() - first.index();
                found.extend(self.found_claim(claim.document, document, index, time));
            }
        }
    }

    /// Returns a document if it is current and not hidden.
    fn visible_document(&self, id: DocumentId, time: ClaimTime) -> Option<Document<'_>> {
        if !self.table.alive().contains(id) {
            return None;
        }
        self.table.document(id).filter(|document| document.hidden_from() > time.now)
    }

    /// Returns a claim of a document by its position. `None` if it only ends others, or is later than the time.
    fn found_claim(&self, id: DocumentId, document: Document<'_>, index: usize, time: ClaimTime) -> Option<FoundClaim> {
        let entry = document.claims().get(index).filter(|entry| is_positive(entry.kind))?;
        let claim = document.claim_ids().start.after(index as u32);
        let period = self.claim_period(id, document, claim, entry);
        let is_later = time.as_of.is_some_and(|as_of| period.from > as_of);
        if is_later { None } else { Some(FoundClaim { document: id, index, period }) }
    }

    /// Reads claims, in the order of their writing. Of too many, those that hold and the latest.
    fn read_claims(&self, mut found: Vec<FoundClaim>, time: ClaimTime) -> Result<Vec<SubjectClaim>> {
        let at = search_time(time);
        if found.len() > READ_MAX {
            found.sort_unstable_by_key(|claim| {
                let is_over = !claim.period.holds(at);
                (is_over, Reverse(claim.period.from), claim.document, claim.index)
            });
            found.truncate(READ_MAX);
        }
        found.sort_unstable_by_key(|claim| (claim.document, claim.index));
        let mut claims = Vec::with_capacity(found.len());
        // A memory is read once. It has the names of the claims in the same order.
        for of_memory in found.chunk_by(|a, b| a.document == b.document) {
            let Some(document) = of_memory.first().and_then(|claim| self.table.document(claim.document)) else {
                continue;
            };
            let memory: Memory = self.memory(document)?;
            for one in of_memory {
                if let Some(claim) = memory.claims.get(one.index) {
                    claims.push(subject_claim(&memory.path, claim, &one.period, at));
                }
            }
        }
        Ok(claims)
    }

    /// Returns when a claim holds. What somebody set for its memory counts more than what follows from other claims.
    fn claim_period(
        &self,
        id: DocumentId,
        document: Document<'_>,
        claim_id: ClaimId,
        entry: &ClaimEntry,
    ) -> ClaimPeriod {
        let mut until = self.ledger.claim_end(claim_id);
        if let Some(slot) = self.table.slot_of(id) {
            until = until.min(self.ledger.replaced_from(slot));
        }
        ClaimPeriod { from: entry.from.max(document.valid_from()), until: until.min(document.valid_until()) }
    }

    /// Counts the claims about each subject with a name.
    fn counted_subjects(&self) -> Vec<CountedSubject> {
        let unnamed = SubjectHash::of("");
        let mut counted: Vec<CountedSubject> = Vec::new();
        let mut places: HashMap<SubjectHash, usize, ahash::RandomState> = HashMap::default();
        for (id, document) in self.table.documents() {
            if !document.dated() {
                continue;
            }
            for claim in document.claims() {
                if claim.subject == unnamed {
                    continue;
                }
                let place = *places.entry(claim.subject).or_insert(counted.len());
                match counted.get_mut(place) {
                    Some(one) => one.claims += 1,
                    None => counted.push(CountedSubject { subject: claim.subject, claims: 1, document: id }),
                }
            }
        }
        counted
    }

    /// Whether a subject with a name is the speaker of a memory with a claim about it.
    fn speaks(&self, subject: SubjectHash, name: &str) -> bool {
        let words: Vec<NameHash> = name.split_whitespace().map(NameHash::of).collect();
        let mut documents = self.table.holding(FacetHash::of_subject(subject));
        documents.any(|id| {
            let document = self.table.document(id);
            self.table.alive().contains(id) && document.is_some_and(|document| document.speaker() == words)
        })
    }
}

/// Returns the time at which claims are judged.
fn search_time(time: ClaimTime) -> Millis {
    ValidityFilter::new(time.now, time.as_of, Currency::Any).at
}

fn subject_claim(path: &str, claim: &Claim, period: &ClaimPeriod, at: Millis) -> SubjectClaim {
    SubjectClaim {
        path: path.to_owned(),
        subject: claim.subject.clone(),
        attribute: claim.attribute.clone(),
        value: claim.value.clone(),
        from: if period.from == UNKNOWN { None } else { Some(period.from) },
        until: if period.until == NEVER { None } else { Some(period.until) },
        current: period.holds(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::ClaimKind;
    use crate::head::Head;
    use crate::index::{Change, Index, IndexSettings};
    use crate::tokens::NoTokens;

    const NOW: ClaimTime = ClaimTime { now: 1000, as_of: None };

    fn memory(path: &str, speaker: &str, claims: &[(&str, &str, &str, ClaimKind, Millis)]) -> Change {
        let mut made = Vec::new();
        for (subject, attribute, value, kind, from) in claims {
            made.push(Claim {
                subject: (*subject).into(),
                attribute: (*attribute).into(),
                value: (*value).into(),
                kind: *kind,
                from: Some(*from),
            });
        }
        let memory = Memory { path: path.into(), speaker: Some(speaker.into()), claims: made, ..Memory::default() };
        Change::Put(Box::new(memory))
    }

    /// An index in which Ana moves from Oslo to Bergen and works at Acme until she quits.
    fn index(folder: &std::path::Path) -> Index {
        let settings = IndexSettings { dimensions: 1, model: "m".into(), tokens: &NoTokens };
        let mut index = Index::open(folder, settings).expect("opens");
        let only = ClaimKind::Only;
        let changes = vec![
            memory("facts/1.md", "Ana", &[("ana", "home", "oslo", only, 100), ("ana", "employer", "acme", only, 100)]),
            memory("facts/2.md", "Ana", &[("ana", "home", "bergen", only, 200)]),
            memory("facts/3.md", "Ana", &[("ana", "employer", "acme", ClaimKind::Ended, 300)]),
            memory("facts/4.md", "Ana", &[("bob", "home", "riga", only, 100), ("", "door code", "12", only, 100)]),
        ];
        index.apply(changes, Head::from([1; 20])).expect("applies");
        index
    }

    fn shown(claims: &[SubjectClaim]) -> Vec<String> {
        let mut lines = Vec::new();
        for claim in claims {
            let SubjectClaim { path, subject, attribute, value, from, until, current } = claim;
            lines.push(format!("{path} {subject}.{attribute}={value} {from:?}..{until:?} {current}"));
        }
        lines
    }

    #[test]
    fn claims_about_a_subject_have_their_times() {
        let folder = tempfile::tempdir().expect("a folder");
        let snapshot = index(folder.path()).published().load_full();
        let claims = snapshot.claims_about("ana", NOW).expect("reads");
        assert_eq!(
            shown(&claims),
            [
                "facts/1.md ana.home=oslo Some(100)..Some(200) false",
                "facts/1.md ana.employer=acme Some(100)..Some(300) false",
                "facts/2.md ana.home=bergen Some(200)..None true",
            ]
        );
        assert!(snapshot.claims_about("nobody", NOW).expect("reads").is_empty());
    }

    #[test]
    fn asked_claims_have_an_asked_subject_and_attribute() {
        let folder = tempfile::tempdir().expect("a folder");
        let snapshot = index(folder.path()).published().load_full();
        let asked = |attributes: &[&str]| {
            let subjects = vec![String::new(), "bob".to_owned(), "bob's".to_owned()];
            let attributes = attributes.iter().map(|&name| name.to_owned()).collect();
            let asked = AskedClaims { subjects, attributes, ..AskedClaims::default() };
            shown(&snapshot.asked_claims(&asked, NOW).expect("reads"))
        };
        let (code, home) =
            ("facts/4.md .door code=12 Some(100)..None true", "facts/4.md bob.home=riga Some(100)..None true");
        assert_eq!(asked(&["home", "pet"]), [home]);
        assert_eq!(asked(&["door code", "home"]), [code, home]);
        assert!(asked(&["pet"]).is_empty());
    }

    #[test]
    fn claims_about_the_facts_of_a_memory_are_those_of_every_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let snapshot = index(folder.path()).published().load_full();
        let facts = |path: &str| snapshot.fact_claims(path, 1000).expect("reads").map(|claims| shown(&claims));
        let oslo = "facts/1.md ana.home=oslo Some(100)..Some(200) false";
        let bergen = "facts/2.md ana.home=bergen Some(200)..None true";
        let acme = "facts/1.md ana.employer=acme Some(100)..Some(300) false";
        assert_eq!(facts("facts/1.md").expect("a memory"), [oslo, bergen, acme]);
        assert_eq!(facts("facts/2.md").expect("a memory"), [oslo, bergen]);
        assert_eq!(facts("facts/3.md").expect("a memory"), [acme], "the end of a fact is a claim about it");
        assert_eq!(facts("facts/9.md"), None);
    }

    #[test]
    fn claims_are_judged_as_of_a_time_and_later_ones_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let snapshot = index(folder.path()).published().load_full();
        let then = ClaimTime { now: 1000, as_of: Some(150) };
        let claims = snapshot.claims_about("ana", then).expect("reads");
        assert_eq!(
            shown(&claims),
            [
                "facts/1.md ana.home=oslo Some(100)..Some(200) true",
                "facts/1.md ana.employer=acme Some(100)..Some(300) true",
            ]
        );
    }

    #[test]
    fn subjects_are_counted_and_their_names_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let snapshot = index(folder.path()).published().load_full();
        let subjects = snapshot.claim_subjects(10).expect("reads");
        let ana = ClaimSubject { name: "ana".into(), claims: 4, speaks: true };
        let bob = ClaimSubject { name: "bob".into(), claims: 1, speaks: false };
        assert_eq!(subjects, [ana.clone(), bob]);
        assert_eq!(snapshot.claim_subjects(1).expect("reads"), [ana]);
    }
}
