//! Words of a text: how they are counted, also in scripts that are written without spaces, and where a text is cut.

use cuebase_retrieval::writes_no_spaces;
use unicode_segmentation::UnicodeSegmentation;

use super::filler::is_filler;
use crate::text::steps::{Interrupted, Steps};

/// Where no spaces are written, so many characters count as a word.
const WORD_CHARS: usize = 2;

/// The words of a text, as they are counted here.
pub fn words(text: &str) -> usize {
    text.split_whitespace().map(|word| weight(unspaced(word))).sum()
}

/// How many words something without white space is, by its characters of scripts that write no spaces.
fn weight(unspaced: usize) -> usize {
    unspaced.div_ceil(WORD_CHARS).max(1)
}

/// The number of [`words`] of a text that is put together from pieces, each looked at once.
#[derive(Default)]
pub struct WordCount {
    /// Words that white space follows.
    closed: usize,
    /// The unspaced characters of the word at the end, which the next piece may continue.
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

/// How many characters of a text are of scripts that write no spaces.
pub fn unspaced(text: &str) -> usize {
    // Most texts have none, which is told by their bytes.
    if text.is_ascii() { 0 } else { text.chars().filter(|c| writes_no_spaces(*c)).count() }
}

/// The words of a text that carry a subject.
pub fn telling_words(text: &str) -> usize {
    let folded = cuebase_retrieval::fold(text);
    let words = folded.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let telling = |word: &str| match unspaced(word) {
        0 => usize::from(word.chars().count() > 2 && !is_filler(word)),
        characters => characters / WORD_CHARS,
    };
    words.map(telling).sum()
}

/// Cuts a sentence of more words than so many (a log, a table) between words, or between characters where no spaces are
/// written.
///
/// # Errors
///
/// [`Interrupted`] when the steps are.
pub fn cut<'a>(sentence: &'a str, words_max: usize, steps: &Steps<'_>) -> Result<Vec<&'a str>, Interrupted> {
    steps.take(sentence.len())?;
    if words(sentence) <= words_max {
        return Ok(vec![sentence]);
    }
    let mut pieces = Vec::new();
    let (mut start, mut characters) = (0, 0);
    for (at, character) in sentence.grapheme_indices(true) {
        steps.take(character.len())?;
        let (space, unspaced) = (character.starts_with(char::is_whitespace), unspaced(character));
        characters += if space { WORD_CHARS } else { unspaced };
        if (space || unspaced > 0) && characters >= words_max * WORD_CHARS {
            pieces.push(&sentence[start..at]);
            (start, characters) = (at, unspaced);
        }
    }
    pieces.push(&sentence[start..]);
    Ok(pieces)
}

/// A text on one line.
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
