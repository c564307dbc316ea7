//! The forms of a word: the terms under which it is found.
//!
//! Most words have one form of one term. A word has further forms if it is stemmed in a second language, if it is made
//! of parts, or if its end is doubtful. A memory is found by each form of its words. A word of a query counts once, by
//! the form that weighs most in the memory.

/// Limit of the bytes of a term. Longer words are base64 and the like.
pub(super) const TERM_BYTES_MAX: usize = 64;

/// Where a term stands in its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The first form of a word. Every text that has the word yields it, whatever the language of the text.
    Word,
    /// The first term of another form of the word.
    Form,
    /// A further term of the form.
    Part,
}

/// The forms of a word, in order, without empty ones and repetitions.
#[derive(Debug, Default)]
pub(super) struct Forms {
    terms: Vec<(Place, String)>,
}

impl Forms {
    /// Adds a form of one term.
    pub(super) fn add(&mut self, term: String) {
        let is_known = self.terms.iter().any(|(place, other)| *place != Place::Part && *other == term);
        if !is_known {
            self.push(Place::Form, term);
        }
    }

    /// Adds a form of several terms, which together stand for the word.
    pub(super) fn add_parts(&mut self, terms: Vec<String>) {
        let mut place = Place::Form;
        for term in terms {
            if self.push(place, term) {
                place = Place::Part;
            }
        }
    }

    /// Adds a term if it can be one. Returns whether it was added.
    fn push(&mut self, place: Place, term: String) -> bool {
        if !is_term(&term) {
            return false;
        }
        let place = if self.terms.is_empty() { Place::Word } else { place };
        self.terms.push((place, term));
        true
    }

    /// Returns the terms, each with its place.
    pub(super) fn terms(&self) -> &[(Place, String)] {
        &self.terms
    }
}

/// Whether a string can be a term.
pub(super) fn is_term(term: &str) -> bool {
    !term.is_empty() && term.len() <= TERM_BYTES_MAX
}
