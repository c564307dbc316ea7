//! Sentences of a text, by UAX #29, except that neither an abbreviation nor the number of a list's item ends one.
//!
//! The time is linear in the text's length, whatever the text holds. The segmenter of `unicode-segmentation` is not: after
//! a full stop it looks ahead to the next letter from each of the brackets, quotes and spaces that follow. It is therefore
//! given the text in windows, in which only [`RUN_CHARS_MAX`] characters may follow a full stop.

use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use crate::text::steps::{Interrupted, Steps};

/// Characters of a window; it ends at the next place inside a word, where no sentence ends.
const WINDOW_CHARS: usize = 4096;
/// A window that meets no such place ends after this many characters, and a sentence with it.
const WINDOW_CHARS_MAX: usize = 2 * WINDOW_CHARS;
/// Characters that may follow a full stop before a letter, a digit or another end of a sentence; a longer run is cut.
const RUN_CHARS_MAX: usize = 32;
/// Words whose full stop ends no sentence.
const ABBREVIATIONS: [&str; 13] =
    ["dr", "mr", "mrs", "ms", "prof", "st", "mt", "messrs", "vs", "e.g", "i.e", "approx", "incl"];
/// Characters of the longest abbreviation.
const ABBREVIATION_CHARS_MAX: usize = 6;

/// Returns the sentences of a text, trimmed; a sentence without a letter or a digit is left out.
///
/// # Errors
///
/// [`Interrupted`] when the steps are.
pub fn sentences<'a>(text: &'a str, steps: &Steps<'_>) -> Result<Vec<&'a str>, Interrupted> {
    let mut sentences = bounds(text, steps)?;
    for sentence in &mut sentences {
        *sentence = sentence.trim();
    }
    sentences.retain(|sentence| sentence.contains(char::is_alphanumeric));
    Ok(sentences)
}

/// Returns the sentences of a text, each with all that follows it up to the next: together they are the text.
pub fn bounds<'a>(text: &'a str, steps: &Steps<'_>) -> Result<Vec<&'a str>, Interrupted> {
    // For the white space and the words that are looked back at.
    steps.take(text.len())?;
    let mut bounds = Vec::new();
    let (mut sentence_start, mut piece_start) = (0, 0);
    let mut continues = false;
    for end in segment_ends(text, steps)? {
        let content = text[piece_start..end].trim_end();
        // White space alone changes nothing about how the sentence before it ended.
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

/// Whether a sentence, which ends in no white space, ends with an abbreviation ("Dr.") or the number of a list's item.
fn is_cut_short(sentence: &str) -> bool {
    let Some(before) = sentence.strip_suffix('.') else { return false };
    ends_with_item_number(before) || ends_with_abbreviation(before)
}

/// Whether the last line holds nothing but one or two digits.
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

/// Returns where sentences end by UAX #29, in bytes, ascending; the text's own end is the last.
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
    /// Where it ends, in bytes of the text.
    end: usize,
    /// Whether a sentence ends there.
    ends_sentence: bool,
    /// Characters that the segmenter examines, those that it looks ahead at included.
    steps: usize,
}

impl Window {
    /// The window that begins at a place before the text's end.
    fn at(text: &str, start: usize) -> Self {
        let mut steps = 0;
        // Characters from which the segmenter looks ahead over the current one: a full stop and the run after it.
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

/// What a character does to the segmenter's look ahead from a full stop to the next letter (rule SB8).
enum Lookahead {
    /// A full stop: what follows is looked at.
    Begins,
    /// Nothing behind it is looked at.
    Stops,
    /// It is looked at, and ends the run after the full stop.
    Passes,
    /// It may belong to the run after the full stop, from each character of which the segmenter looks ahead.
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

/// Whether a character is a letter for the segmenter; marks, though some are alphabetic, belong to what precedes them.
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

    /// The definition that the windows and the bounded look back must not change.
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
    fn a_list_keeps_its_numbers() {
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
    fn an_abbreviation_ends_no_sentence() {
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
    fn a_window_that_ends_inside_a_word_ends_no_sentence() {
        let text = "word and other words ".repeat(2000);
        assert_eq!(read(&text), [text.trim()]);
        let told = "This sentence has exactly seven words here. ".repeat(1000);
        assert_eq!(bounds(&told, &Steps::unlimited()).expect("nothing interrupts"), slow_bounds(&told));
    }

    proptest! {
        #[test]
        fn ordinary_texts_are_cut_as_the_definition_says(
            text in "(Mr\\. |e\\.g\\. |1\\. |12\\.\n|\n| |Hello |world|\\.|\\?|!|, |\"|\\(|\\)|é|日本|。|\\. a|\\.\u{301}|… |3\\.5){0,40}",
        ) {
            prop_assert_eq!(bounds(&text, &Steps::unlimited()).expect("nothing interrupts"), slow_bounds(&text));
        }

        #[test]
        fn any_text_is_cut_without_loss(text in "\\PC{0,200}") {
            prop_assert_eq!(bounds(&text, &Steps::unlimited()).expect("nothing interrupts").concat(), text);
        }
    }
}
