//! Profiles: what the memories claim about a subject, and which subjects there are claims about.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::claim::{AskedClaims, Claim, Currency};
use crate::error::Result;
use crate::hash::{AttributeHash, FacetHash, NameHash, PathHash, SubjectHash};
use crate::ids::{ClaimId, DocumentId};
use crate::index::claim_entry::ClaimEntry;
use crate::index::entry::{NEVER, UNKNOWN};
use crate::index::ledger::is_positive;
use crate::index::{Document, Snapshot, ValidityFilter};
use crate::memory::{Memory, Millis};

/// A claim about a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
struct ClaimPeriod {
    from: Millis,
    until: Millis,
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
    /// only ends others is not returned; the ends of the others show it.
    pub fn claims_about(&self, subject: &str, time: ClaimTime) -> Result<Vec<SubjectClaim>> {
        let mut claims = Vec::new();
        self.add_subject_claims(SubjectHash::of(subject), None, time, &mut claims)?;
        Ok(claims)
    }

    /// Returns the claims that a query may ask for, whatever their time: those of any of its subjects about any of its
    /// attributes. Reads only the memories that make them.
    pub fn asked_claims(&self, asked: &AskedClaims, time: ClaimTime) -> Result<Vec<SubjectClaim>> {
        let attributes: Vec<AttributeHash> = asked.attributes.iter().map(|name| AttributeHash::of(name)).collect();
        let mut claims = Vec::new();
        for subject in &asked.subjects {
            self.add_subject_claims(SubjectHash::of(subject), Some(&attributes), time, &mut claims)?;
        }
        Ok(claims)
    }

    /// Returns what the memories claim about the facts (an attribute of a subject) that the memory at a path makes
    /// claims about, whatever the time. The claims about one fact are neighbours. Returns `None` if the path holds no
    /// memory. Scans every path once.
    pub fn fact_claims(&self, path: &str, now: Millis) -> Result<Option<Vec<SubjectClaim>>> {
        let path = PathHash::of(path);
        let Some((_, document)) = self.table.documents().find(|(_, document)| document.path() == path) else {
            return Ok(None);
        };
        let mut facts = Vec::new();
        let mut claims = Vec::new();
        for entry in document.claims() {
            if facts.contains(&entry.key()) {
                continue;
            }
            facts.push(entry.key());
            let attributes = std::slice::from_ref(&entry.attribute);
            self.add_subject_claims(entry.subject, Some(attributes), ClaimTime { now, as_of: None }, &mut claims)?;
        }
        Ok(Some(claims))
    }

    /// Returns up to `limit` subjects with a name, those with the most claims first. Scans every document once, and
    /// reads one memory of each returned subject.
    pub fn claim_subjects(&self, limit: usize) -> Result<Vec<ClaimSubject>> {
        let mut counted = self.counted_subjects();
        counted.sort_by_key(|one| (std::cmp::Reverse(one.claims), one.document));
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

    /// Adds the claims about a subject. With `attributes`, only those about one of them.
    fn add_subject_claims(
        &self,
        subject: SubjectHash,
        attributes: Option<&[AttributeHash]>,
        time: ClaimTime,
        claims: &mut Vec<SubjectClaim>,
    ) -> Result<()> {
        let at = ValidityFilter::new(time.now, time.as_of, Currency::Any).at;
        for id in self.table.holding(FacetHash::of_subject(subject)) {
            let Some(document) = self.table.document(id) else { continue };
            if !self.table.alive().contains(id) || document.hidden_from() <= time.now {
                continue;
            }
            // The memory is read once one of its claims is wanted. It has the names of the claims in the same order.
            let mut memory: Option<Memory> = None;
            let ids = document.claim_ids();
            for (index, claim_id) in ids.start.until(ids.end).enumerate() {
                let Some(entry) = document.claims().get(index) else { continue };
                let is_asked = attributes.is_none_or(|wanted| wanted.contains(&entry.attribute));
                if entry.subject != subject || !is_asked || !is_positive(entry.kind) {
                    continue;
                }
                let period = self.claim_period(id, document, claim_id, entry);
                if time.as_of.is_some_and(|as_of| period.from > as_of) {
                    continue;
                }
                if memory.is_none() {
                    memory = Some(self.memory(document)?);
                }
                let Some(memory) = &memory else { continue };
                if let Some(claim) = memory.claims.get(index) {
                    claims.push(subject_claim(&memory.path, claim, &period, at));
                }
            }
        }
        Ok(())
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

fn subject_claim(path: &str, claim: &Claim, period: &ClaimPeriod, at: Millis) -> SubjectClaim {
    SubjectClaim {
        path: path.to_owned(),
        subject: claim.subject.clone(),
        attribute: claim.attribute.clone(),
        value: claim.value.clone(),
        from: if period.from == UNKNOWN { None } else { Some(period.from) },
        until: if period.until == NEVER { None } else { Some(period.until) },
        current: (period.from..period.until).contains(&at),
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
