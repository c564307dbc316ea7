//! Splits a text into sentences by UAX #29, with two exceptions: an abbreviation and the number of a list item do not
//! end a sentence.
//!
//! The time is linear in the text's length for every text. The segmenter of `unicode-segmentation` alone is not linear:
//! after a full stop, it looks ahead to the next letter from each of the brackets, quotes and spaces that follow. It
//! therefore receives the text in windows, in which at most [`RUN_CHARS_MAX`] such characters follow a full stop.

use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use crate::text::steps::{Interrupted, Steps};

/// Characters of a window. The window ends at the next position inside a word, where no sentence ends.
const WINDOW_CHARS: usize = 4096;
/// Characters of a window without such a position. A sentence ends with the window.
const WINDOW_CHARS_MAX: usize = 2 * WINDOW_CHARS;
/// Characters between a full stop and the next letter, digit or end of a sentence; a longer run is cut.
const RUN_CHARS_MAX: usize = 32;
/// Words whose full stop does not end a sentence.
const ABBREVIATIONS: [&str; 13] =
    ["dr", "mr", "mrs", "ms", "prof", "st", "mt", "messrs", "vs", "e.g", "i.e", "approx", "incl"];
/// Characters of the longest abbreviation.
const ABBREVIATION_CHARS_MAX: usize = 6;

/// Returns the sentences of a text, trimmed, without those that have neither a letter nor a digit.
///
/// # Errors
///
/// [`Interrupted`] if `steps` interrupts the work.
pub fn sentences<'a>(text: &'a str, steps: &Steps<'_>) -> Result<Vec<&'a str>, Interrupted> {
    let mut sentences = bounds(text, steps)?;
    for sentence in &mut sentences {
        *sentence = sentence.trim();
    }
    sentences.retain(|sentence| sentence.contains(char::is_alphanumeric));
    Ok(sentences)
}

/// Returns the sentences of a text, each with the white space up to the next sentence. Concatenated they are the text.
///
/// # Errors
///
/// [`Interrupted`] if `steps` interrupts the work.
pub fn bounds<'a>(text: &'a str, steps: &Steps<'_>) -> Result<Vec<&'a str>, Interrupted> {
    // These steps cover looking back over white space and words.
    steps.take(text.len())?;
    let mut bounds = Vec::new();
    let (mut sentence_start, mut piece_start) = (0, 0);
    let mut continues = false;
    for end in segment_ends(text, steps)? {
        let content = text[piece_start..end].trim_end();
        // White space does not change whether the sentence before it has ended.
        if !content.is_empty() {
            continues = is_cut_short(&text[sentence_start..piece_start + content.len()]);
        }
        piece_start = end;
        if !continues {
            bounds.push(&text[sentence_start..end]);
            sentence_start = end;
        }
    }
    if sentence_start < text.len() {
        bounds.push(&text[sentence_start..]);
    }
    Ok(bounds)
}

/// Returns whether a sentence without trailing white space ends with an abbreviation ("Dr.") or the number of a list
/// item.
fn is_cut_short(sentence: &str) -> bool {
    let Some(before) = sentence.strip_suffix('.') else { return false };
    ends_with_item_number(before) || ends_with_abbreviation(before)
}

/// Returns whether the last line consists of one or two digits.
fn ends_with_item_number(text: &str) -> bool {
    let rest = text.trim_end_matches(|c: char| c.is_ascii_digit());
    if !(1..=2).contains(&(text.len() - rest.len())) {
        return false;
    }
    let line = rest.trim_end_matches(|c: char| c != '\n' && c.is_whitespace());
    line.is_empty() || line.ends_with('\n')
}

fn ends_with_abbreviation(text: &str) -> bool {
    let mut word_start = text.len();
    for (at, c) in text.char_indices().rev().take(ABBREVIATION_CHARS_MAX + 1) {
        if !c.is_alphabetic() && c != '.' {
            break;
        }
        word_start = at;
    }
    let word = &text[word_start..];
    ABBREVIATIONS.iter().any(|abbreviation| word.eq_ignore_ascii_case(abbreviation))
}

/// Returns the byte offsets at which sentences end by UAX #29, ascending. The last is the end of the text.
fn segment_ends(text: &str, steps: &Steps<'_>) -> Result<Vec<usize>, Interrupted> {
    let mut ends = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let window = Window::at(text, start);
        steps.take(window.steps)?;
        let mut end = start;
        for segment in text[start..window.end].split_sentence_bounds() {
            end += segment.len();
            if end < window.end || window.ends_sentence {
                ends.push(end);
            }
        }
        start = window.end;
    }
    Ok(ends)
}

/// A part of a text that the segmenter handles in bounded time.
struct Window {
    /// Byte offset of the window's end in the text.
    end: usize,
    /// Whether a sentence ends with the window.
    ends_sentence: bool,
    /// Characters that the segmenter examines, including its look-ahead.
    steps: usize,
}

impl Window {
    /// Returns the window that begins at an offset before the text's end.
    fn at(text: &str, start: usize) -> Self {
        let mut steps = 0;
        // Characters from which the segmenter looks ahead past the current one: a full stop and the run after it.
        let mut run = 0;
        let mut run_grows = false;
        let mut previous = ' ';
        for (count, (at, c)) in text[start..].char_indices().enumerate() {
            let end = start + at;
            if run > RUN_CHARS_MAX {
                return Self { end, ends_sentence: previous.is_whitespace(), steps };
            }
            if count >= WINDOW_CHARS {
                if is_letter(previous) && is_letter(c) {
                    return Self { end, ends_sentence: false, steps };
                }
                if count >= WINDOW_CHARS_MAX {
                    return Self { end, ends_sentence: true, steps };
                }
            }
            steps += 1 + run;
            match Lookahead::of(c) {
                Lookahead::Begins => (run, run_grows) = (1, true),
                Lookahead::Stops => (run, run_grows) = (0, false),
                Lookahead::Passes => run_grows = false,
                Lookahead::Repeats if run_grows => run += 1,
                Lookahead::Repeats => {}
            }
            previous = c;
        }
        Self { end: text.len(), ends_sentence: true, steps }
    }
}

/// The effect of a character on the segmenter's look-ahead from a full stop to the next letter (rule SB8).
enum Lookahead {
    /// A full stop, where look-ahead begins.
    Begins,
    /// The look-ahead ends at this character.
    Stops,
    /// The look-ahead continues, but the run after the full stop ends.
    Passes,
    /// The character may belong to the run after the full stop. The segmenter looks ahead from each character of the
    /// run.
    Repeats,
}

impl Lookahead {
    fn of(c: char) -> Self {
        match c {
            '.' | '\u{2024}' | '\u{fe52}' | '\u{ff0e}' => Self::Begins,
            '!' | '?' | '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Self::Stops,
            '0'..='9' => Self::Passes,
            _ if is_letter(c) => Self::Stops,
            _ if !c.is_ascii() && c.is_numeric() => Self::Passes,
            _ => Self::Repeats,
        }
    }
}

/// Returns whether a character is a letter for the segmenter. Combining marks are not letters, even alphabetic ones.
fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    c.is_alphabetic() && !is_combining_mark(c) && !matches!(c, '\u{ff9e}' | '\u{ff9f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<&str> {
        sentences(text, &Steps::unlimited()).expect("nothing interrupts")
    }

    /// The definition that must hold with windows and bounded look-back.
    fn slow_bounds(text: &str) -> Vec<&str> {
        let is_cut_short = |sentence: &str| {
            let before = sentence.trim_end().strip_suffix('.').unwrap_or_default();
            let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
            if (1..=2).contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_digit()) {
                return true;
            }
            let word = before.rsplit(|c: char| !c.is_alphabetic() && c != '.').next().unwrap_or_default();
            ABBREVIATIONS.contains(&word.to_lowercase().as_str())
        };
        let mut bounds = Vec::new();
        let (mut rest, mut end) = (text, 0);
        for piece in text.split_sentence_bounds() {
            end += piece.len();
            if !is_cut_short(&rest[..end]) {
                let (sentence, after) = rest.split_at(end);
                bounds.push(sentence);
                (rest, end) = (after, 0);
            }
        }
        bounds.extend(Some(rest).filter(|rest| !rest.is_empty()));
        bounds
    }

    #[test]
    fn the_number_of_a_list_item_does_not_end_a_sentence() {
        let list = "Two novels:\n1. The Wall. A lodge in the Alps.\n2. Foster. A summer.\nIn all 12.\nRead both.";
        let expected = [
            "Two novels:",
            "1. The Wall.",
            "A lodge in the Alps.",
            "2. Foster.",
            "A summer.",
            "In all 12.",
            "Read both.",
        ];
        assert_eq!(read(list), expected);
    }

    #[test]
    fn an_abbreviation_does_not_end_a_sentence() {
        let text = "Dr. Diallo came. Then Prof. May, i.e. Ann.";
        assert_eq!(read(text), ["Dr. Diallo came.", "Then Prof. May, i.e. Ann."]);
        assert_eq!(read("Mr.\n\n Smith left."), ["Mr.\n\n Smith left."]);
    }

    #[test]
    fn a_long_run_of_spaces_still_separates_sentences() {
        let text = format!("It rained.{}We stayed.", " ".repeat(300));
        assert_eq!(read(&text), ["It rained.", "We stayed."]);
    }

    #[test]
    fn a_window_that_ends_inside_a_word_does_not_end_a_sentence() {
        let text = "word and other words ".repeat(2000);
        assert_eq!(read(&text), [text.trim()]);
        let short_sentences = "This sentence has exactly seven words here. ".repeat(1000);
        let found = bounds(&short_sentences, &Steps::unlimited()).expect("nothing interrupts");
        assert_eq!(found, slow_bounds(&short_sentences));
    }

    proptest! {
        #[test]
        fn ordinary_texts_are_split_as_defined(
            text in "(Mr\\. |e\\.g\\. |1\\. |12\\.\n|\n| |Hello |world|\\.|\\?|!|, |\"|\\(|\\)|é|日本|。|\\. a|\\.\u{301}|… |3\\.5){0,40}",
        ) {
            prop_assert_eq!(bounds(&text, &Steps::unlimited()).expect("nothing interrupts"), slow_bounds(&text));
        }

        #[test]
        fn any_text_is_split_without_loss(text in "\\PC{0,200}") {
            prop_assert_eq!(bounds(&text, &Steps::unlimited()).expect("nothing interrupts").concat(), text);
        }
    }
}
