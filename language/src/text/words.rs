//! Counting the words of a text, in scripts with and without spaces, and cutting long sentences.

use crate::tokenize::writes_no_spaces;
use unicode_segmentation::UnicodeSegmentation;

use super::filler::is_filler;
use crate::text::steps::{Interrupted, Steps};

/// Characters that count as one word in scripts without spaces.
const WORD_CHARS: usize = 2;

/// Returns the number of words of a text.
pub fn words(text: &str) -> usize {
    text.split_whitespace().map(|word| weight(unspaced(word))).sum()
}

/// Returns the number of words in a run without white space, given how many of its characters are of scripts without
/// spaces.
fn weight(unspaced: usize) -> usize {
    unspaced.div_ceil(WORD_CHARS).max(1)
}

/// Counts the [`words`] of a text that is assembled from pieces. Each piece is read once.
#[derive(Default)]
pub struct WordCount {
    /// Words that are followed by white space.
    closed: usize,
    /// Characters of scripts without spaces in the last word, which the next piece may continue.
    open: Option<usize>,
}

impl WordCount {
    /// Appends a piece to the text.
    pub fn add(&mut self, piece: &str) {
        for c in piece.chars() {
            if c.is_whitespace() {
                self.closed = self.words();
                self.open = None;
            } else {
                self.open = Some(self.open.unwrap_or(0) + usize::from(writes_no_spaces(c)));
            }
        }
    }

    /// Returns the number of words so far.
    pub fn words(&self) -> usize {
        self.closed + self.open.map_or(0, weight)
    }
}

/// Returns how many characters of a text are of scripts without spaces.
pub fn unspaced(text: &str) -> usize {
    // Most texts are ASCII, which is cheap to check.
    if text.is_ascii() { 0 } else { text.chars().filter(|c| writes_no_spaces(*c)).count() }
}

/// Returns the number of content words of a text: words of at least three letters that are not filler.
pub fn telling_words(text: &str) -> usize {
    let folded = crate::tokenize::fold(text);
    let mut count = 0;
    for word in folded.split(|c: char| !c.is_alphanumeric() && c != '\'') {
        count += match unspaced(word) {
            0 => usize::from(word.chars().count() > 2 && !is_filler(word)),
            characters => characters / WORD_CHARS,
        };
    }
    count
}

/// Cuts a sentence of more than `words_max` words, such as a log or a table, between words, or between characters of
/// scripts without spaces.
///
/// # Errors
///
/// [`Interrupted`] if `steps` interrupts the work.
pub fn cut<'a>(sentence: &'a str, words_max: usize, steps: &Steps<'_>) -> Result<Vec<&'a str>, Interrupted> {
    steps.take(sentence.len())?;
    if words(sentence) <= words_max {
        return Ok(vec![sentence]);
    }
    let mut pieces = Vec::new();
    let (mut start, mut characters) = (0, 0);
    for (at, character) in sentence.grapheme_indices(true) {
        steps.take(character.len())?;
        let is_space = character.starts_with(char::is_whitespace);
        let unspaced = unspaced(character);
        characters += if is_space { WORD_CHARS } else { unspaced };
        if (is_space || unspaced > 0) && characters >= words_max * WORD_CHARS {
            pieces.push(&sentence[start..at]);
            (start, characters) = (at, unspaced);
        }
    }
    pieces.push(&sentence[start..]);
    Ok(pieces)
}

/// Returns a text on one line, with each run of white space replaced by a space.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_pieces_are_counted_as_those_of_the_whole() {
        let mut count = WordCount::default();
        let mut whole = String::new();
        for piece in ["We ", "paint", "ed ", "\n\n", "我们去", "了海", "边。", " end", "", "x"] {
            count.add(piece);
            whole.push_str(piece);
            assert_eq!(count.words(), words(&whole), "{whole:?}");
        }
    }
}
