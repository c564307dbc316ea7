//! The surface forms of a vocabulary, in a trie of folded segments.
//!
//! A walk follows one edge for each segment, so its work does not grow with the number of forms that share their first
//! words. Adding a form takes one lookup for each of its segments.

use std::collections::HashMap;

/// Most segments of a form. A longer form is not added, because every position of a text could begin as long a walk.
/// Forms of the API have at most 120 characters; only a pushed file can have a longer one.
const SEGMENTS_MAX: usize = 256;
/// Most terms of one form. Further terms are found by their other forms only. Without this limit, a query that repeats
/// a form of many terms would cost the product of both numbers.
pub(crate) const TERMS_PER_FORM_MAX: usize = 32;

/// The node that every form begins at.
const ROOT: usize = 0;

/// The surface forms of a vocabulary.
#[derive(Debug)]
pub(crate) struct SurfaceForms {
    /// The number of each folded segment that some form has.
    segments: HashMap<String, usize>,
    /// The node that a segment leads to from a node.
    edges: HashMap<(usize, usize), usize>,
    /// For each node, the numbers of the terms whose form ends there, ascending.
    terms: Vec<Vec<usize>>,
}

/// A form with which a text begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FoundForm<'a> {
    /// The number of its segments.
    pub(crate) segments: usize,
    /// The numbers of the terms with this form, ascending.
    pub(crate) terms: &'a [usize],
}

impl Default for SurfaceForms {
    fn default() -> Self {
        Self { segments: HashMap::new(), edges: HashMap::new(), terms: vec![Vec::new()] }
    }
}

impl SurfaceForms {
    /// Adds a form of a term. The terms must be added in the order of their numbers.
    pub(crate) fn add(&mut self, segments: Vec<String>, term: usize) {
        if segments.is_empty() || segments.len() > SEGMENTS_MAX {
            return;
        }
        let mut node = ROOT;
        for segment in segments {
            count_lookup();
            let next_segment = self.segments.len();
            let segment = *self.segments.entry(segment).or_insert(next_segment);
            let next_node = self.terms.len();
            node = *self.edges.entry((node, segment)).or_insert(next_node);
            if node == next_node {
                self.terms.push(Vec::new());
            }
        }
        let terms = &mut self.terms[node];
        if terms.len() < TERMS_PER_FORM_MAX && terms.last() != Some(&term) {
            terms.push(term);
        }
    }

    /// Whether there are no forms.
    pub(crate) fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// Returns the number of a folded segment, for [`SurfaceForms::longest`]. Returns `None` if no form has it.
    pub(crate) fn number(&self, segment: &str) -> Option<usize> {
        count_lookup();
        self.segments.get(segment).copied()
    }

    /// Returns the longest form with which a text begins, given the numbers of its segments.
    pub(crate) fn longest(&self, text: &[Option<usize>]) -> Option<FoundForm<'_>> {
        let mut longest = None;
        let mut node = ROOT;
        for (index, segment) in text.iter().enumerate() {
            let Some(segment) = segment else { break };
            count_lookup();
            let Some(next) = self.edges.get(&(node, *segment)) else { break };
            node = *next;
            let terms = &self.terms[node];
            if !terms.is_empty() {
                longest = Some(FoundForm { segments: index + 1, terms });
            }
        }
        longest
    }
}

/// Counts a lookup, so that tests can compare the work for vocabularies of different sizes.
fn count_lookup() {
    #[cfg(test)]
    lookups::LOOKUPS.set(lookups::LOOKUPS.get() + 1);
}

/// The number of lookups of this thread.
#[cfg(test)]
pub(crate) mod lookups {
    use std::cell::Cell;

    thread_local! {
        pub(super) static LOOKUPS: Cell<usize> = const { Cell::new(0) };
    }

    /// Returns the number of lookups since the last call.
    pub(crate) fn take() -> usize {
        LOOKUPS.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(added: &[(&[&str], usize)]) -> SurfaceForms {
        let mut forms = SurfaceForms::default();
        for (segments, term) in added {
            forms.add(segments.iter().map(|&segment| segment.to_owned()).collect(), *term);
        }
        forms
    }

    fn longest<'a>(forms: &'a SurfaceForms, text: &[&str]) -> Option<FoundForm<'a>> {
        let numbers: Vec<Option<usize>> = text.iter().map(|segment| forms.number(segment)).collect();
        forms.longest(&numbers)
    }

    #[test]
    fn the_longest_form_is_found_also_if_a_longer_one_ends_otherwise() {
        let forms = forms(&[(&["a"], 0), (&["a", "b"], 1), (&["a", "b", "c", "d"], 2), (&["a", "b"], 3)]);
        assert_eq!(longest(&forms, &["a", "b", "c", "x"]), Some(FoundForm { segments: 2, terms: &[1, 3] }));
        assert_eq!(longest(&forms, &["a", "x"]), Some(FoundForm { segments: 1, terms: &[0] }));
        assert_eq!(longest(&forms, &["a", "b", "c", "d"]), Some(FoundForm { segments: 4, terms: &[2] }));
        assert_eq!(longest(&forms, &["b"]), None);
        assert_eq!(longest(&forms, &[]), None);
    }

    #[test]
    fn a_form_has_a_limited_number_of_terms_and_segments() {
        let mut forms = SurfaceForms::default();
        for term in 0..2 * TERMS_PER_FORM_MAX {
            forms.add(vec!["a".to_owned()], term);
        }
        forms.add(vec!["b".to_owned(); SEGMENTS_MAX + 1], 0);
        forms.add(Vec::new(), 0);
        let expected: Vec<usize> = (0..TERMS_PER_FORM_MAX).collect();
        assert_eq!(longest(&forms, &["a"]), Some(FoundForm { segments: 1, terms: &expected }));
        assert_eq!(forms.number("b"), None);
    }
}
