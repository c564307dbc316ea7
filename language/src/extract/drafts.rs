//! The drafts of a conversation, linked to each other.

use std::collections::{BTreeMap, HashMap};

use super::draft::{Draft, Link};
use crate::memory::RelationKind;

/// Links by shared names per draft.
const SHARED_LINKS_MAX: usize = 3;
/// Earlier drafts that are searched for a shared name.
const SHARED_LINKS_WITHIN: usize = 100;
/// Words in the snippet of a link to the previous draft.
const SNIPPET_WORDS: usize = 12;

/// The drafts of a conversation, each linked to earlier ones.
#[derive(Default)]
pub(super) struct Drafts {
    list: Vec<Draft>,
    /// The indexes of the drafts with a name, ascending.
    by_name: HashMap<String, Vec<usize>>,
}

impl Drafts {
    /// Returns all drafts.
    pub(super) fn into_list(self) -> Vec<Draft> {
        self.list
    }

    /// Adds a draft, and links it to the previous one and to the latest ones with a name in common.
    pub(super) fn add(&mut self, mut draft: Draft) {
        let index = self.list.len();
        if let Some(previous) = self.list.last() {
            draft.links.push(Link {
                draft: index - 1,
                kind: RelationKind::Follows,
                snippet: first_words(&previous.body),
            });
        }
        // At most NAMES_MAX times SHARED_LINKS_MAX indexes, so the cost of a draft's links does not grow with the
        // number of drafts.
        let mut shared: BTreeMap<usize, &String> = BTreeMap::new();
        for name in &draft.entities {
            let Some(indexes) = self.by_name.get(name) else { continue };
            // One more, because the previous draft may be linked already.
            for other in indexes.iter().rev().take(SHARED_LINKS_MAX + 1) {
                if other + SHARED_LINKS_WITHIN >= index {
                    shared.entry(*other).or_insert(name);
                }
            }
        }
        for (other, name) in shared.into_iter().rev() {
            if draft.links.len() > SHARED_LINKS_MAX {
                break;
            }
            if !draft.links.iter().any(|link| link.draft == other) {
                draft.links.push(Link { draft: other, kind: RelationKind::Shares, snippet: name.clone() });
            }
        }
        for name in &draft.entities {
            self.by_name.entry(name.clone()).or_default().push(index);
        }
        self.list.push(draft);
    }
}

/// Returns the first words of a memory's body, as the snippet of a link to it.
pub fn first_words(body: &str) -> String {
    let words: Vec<&str> = body.trim_start_matches(['#', ' ']).split_whitespace().take(SNIPPET_WORDS).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::extract::draft::Inferred;
    use crate::memory::{Moment, OccurredPrecision, OccurredSource, Tier};

    /// A draft with names and nothing else.
    fn naming(names: &[&str]) -> Draft {
        Draft {
            tier: Tier::Facts,
            topic: String::new(),
            speaker: String::new(),
            body: "# A\n".to_owned(),
            name: String::new(),
            cues: Vec::new(),
            entities: names.iter().map(|name| (*name).to_owned()).collect(),
            occurred: Moment { at: Timestamp::UNIX_EPOCH, precision: OccurredPrecision::Instant },
            occurred_source: OccurredSource::Written,
            messages: Vec::new(),
            before: Vec::new(),
            links: Vec::new(),
            inferred: Inferred::default(),
        }
    }

    /// Returns the links of the last draft.
    fn links_of_last(drafts: &[&[&str]]) -> Vec<(usize, RelationKind, String)> {
        let mut added = Drafts::default();
        for names in drafts {
            added.add(naming(names));
        }
        let last = added.list.pop().expect("a draft");
        last.links.into_iter().map(|link| (link.draft, link.kind, link.snippet)).collect()
    }

    #[test]
    fn a_draft_is_linked_to_the_latest_ones_that_share_a_name() {
        let shares = |draft: usize, name: &str| (draft, RelationKind::Shares, name.to_owned());
        let drafts: [&[&str]; 6] = [&["Ann"], &["Bo", "Ann"], &["Ann"], &["Porto"], &["Bo"], &["Ann", "Bo"]];
        let expected =
            [(4, RelationKind::Follows, "A".to_owned()), shares(2, "Ann"), shares(1, "Ann"), shares(0, "Ann")];
        assert_eq!(links_of_last(&drafts), expected);
    }

    #[test]
    fn drafts_too_far_back_are_not_linked() {
        let (ann, nobody): (&[&str], &[&str]) = (&["Ann"], &[]);
        let mut drafts = vec![ann];
        drafts.extend(std::iter::repeat_n(nobody, SHARED_LINKS_WITHIN));
        drafts.push(ann);
        let last = SHARED_LINKS_WITHIN;
        assert_eq!(links_of_last(&drafts), [(last, RelationKind::Follows, "A".to_owned())]);
    }
}
