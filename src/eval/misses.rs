//! The questions whose first hit does not answer, with what was expected and what was found.

use cuebase_retrieval::Hit;

/// Misses that are kept.
pub const MISSES_MAX: usize = 500;
/// Characters of a text that are kept.
pub const CHARACTERS_MAX: usize = 300;
/// Hits of a miss that are kept.
pub const HITS_MAX: usize = 3;

/// A question whose first hit does not answer.
#[derive(Clone, Debug)]
pub struct Miss {
    /// The id of the namespace or conversation.
    pub place: String,
    /// The words of the question.
    pub question: String,
    /// What answers it.
    pub expected: Vec<ExpectedMemory>,
    /// The first hits.
    pub hits: Vec<FoundMemory>,
}

/// A text that answers a question.
#[derive(Clone, Debug)]
pub struct ExpectedMemory {
    /// Its id in the file.
    pub label: String,
    /// The text, shortened.
    pub text: String,
    /// The rank of the first hit with it, from 1. `None` if no hit has it.
    pub rank: Option<usize>,
}

/// A hit.
#[derive(Clone, Debug)]
pub struct FoundMemory {
    /// Its score.
    pub score: f32,
    /// Its path.
    pub path: String,
    /// Its content, shortened.
    pub text: String,
}

/// The misses of a measurement: all are counted, and the first [`MISSES_MAX`] are kept.
#[derive(Clone, Debug, Default)]
pub struct Misses {
    kept: Vec<Miss>,
    count: usize,
}

impl Misses {
    /// Returns the misses that are kept.
    pub fn kept(&self) -> &[Miss] {
        &self.kept
    }

    /// Returns the number of all misses.
    pub fn count(&self) -> usize {
        self.count
    }
}

impl Extend<Miss> for Misses {
    fn extend<I: IntoIterator<Item = Miss>>(&mut self, misses: I) {
        for miss in misses {
            self.count += 1;
            if self.kept.len() < MISSES_MAX {
                self.kept.push(miss);
            }
        }
    }
}

/// Returns the first hits of a question.
pub(super) fn first_hits(hits: &[Hit]) -> Vec<FoundMemory> {
    let mut first = Vec::with_capacity(HITS_MAX);
    for Hit { memory, score, .. } in hits.iter().take(HITS_MAX) {
        first.push(FoundMemory { score: *score, path: memory.path.clone(), text: shortened(&memory.content) });
    }
    first
}

/// Returns the first [`CHARACTERS_MAX`] characters of a text, with an ellipsis if there are more.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let exact = "é".repeat(CHARACTERS_MAX);
        assert_eq!(shortened(&exact), exact);
        assert_eq!(shortened(&format!("{exact}x")), format!("{exact}…"));
    }

    #[test]
    fn misses_beyond_the_limit_are_counted_only() {
        let miss = Miss { place: String::new(), question: String::new(), expected: Vec::new(), hits: Vec::new() };
        let mut misses = Misses::default();
        misses.extend(vec![miss; MISSES_MAX + 7]);
        assert_eq!((misses.kept().len(), misses.count()), (MISSES_MAX, MISSES_MAX + 7));
    }
}
