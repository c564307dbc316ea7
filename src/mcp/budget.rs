//! Fits texts into a number of characters: how much of each memory is shown, where a text is cut, and how a cut is
//! marked.
//!
//! A tool's result goes into the context of a model, so its length is limited. The result counts what it leaves out and
//! names the call that returns it.

use std::ops::RangeInclusive;

/// Characters of a result when a call gives no `max_characters`.
pub(super) const CHARACTERS_DEFAULT: usize = 8_000;
/// Valid values of `max_characters`.
pub(super) const CHARACTERS_RANGE: RangeInclusive<usize> = 1_000..=100_000;
/// Fewest characters of a shortened memory. They include the mark of the cut, which names a path of up to 256 bytes.
const EXCERPT_MIN: usize = 400;
/// A memory longer than the room divided by this is shortened before a shorter one after it is left out.
const LONG_DIVISOR: usize = 4;

const _: () = assert!(EXCERPT_MIN * 2 < *CHARACTERS_RANGE.start());

/// A memory in a result.
pub(super) struct Passage<'a> {
    /// Line above the text.
    pub(super) heading: String,
    /// Text of the memory.
    pub(super) text: &'a str,
    /// Path under which `memory_read` returns all of it.
    pub(super) path: &'a str,
}

/// The part of a list that fits.
pub(super) struct Fitted {
    /// Text of the entries that fit.
    pub(super) text: String,
    /// Number of entries in the text.
    pub(super) shown: usize,
}

/// Lays out passages in `room` characters, in their order.
///
/// A passage longer than a quarter of the room is shortened, so that it does not push out the passages after it. Room
/// that those leave goes back to the shortened ones, in their order.
pub(super) fn passages(passages: &[Passage<'_>], room: usize) -> Fitted {
    let allotted = allot(passages, room);
    let mut text = String::new();
    for (passage, &characters) in passages.iter().zip(&allotted) {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&passage.heading);
        text.push('\n');
        text.push_str(&excerpt(passage.text, characters, passage.path));
    }
    Fitted { text, shown: allotted.len() }
}

/// Returns the number of characters for each text. Passages beyond the end of the list are left out.
fn allot(passages: &[Passage<'_>], room: usize) -> Vec<usize> {
    let long = (room / LONG_DIVISOR).max(EXCERPT_MIN);
    let mut left = room;
    let mut allotted = Vec::new();
    for passage in passages {
        // A line break after the heading, and an empty line after the text.
        let overhead = passage.heading.chars().count() + 3;
        let Some(rest) = left.checked_sub(overhead) else { break };
        let needed = passage.text.chars().count().min(long);
        if needed > rest {
            if rest >= EXCERPT_MIN {
                allotted.push(rest);
                left = 0;
            }
            break;
        }
        allotted.push(needed);
        left = rest - needed;
    }
    for (characters, passage) in allotted.iter_mut().zip(passages) {
        let missing = passage.text.chars().count() - *characters;
        let more = missing.min(left);
        *characters += more;
        left -= more;
    }
    allotted
}

/// Returns the lines that fit into `room` characters.
pub(super) fn lines(lines: &[String], room: usize) -> Fitted {
    let mut text = String::new();
    let mut left = room;
    let mut shown = 0;
    for line in lines {
        let Some(rest) = left.checked_sub(line.chars().count() + 1) else { break };
        if shown > 0 {
            text.push('\n');
        }
        text.push_str(line);
        left = rest;
        shown += 1;
    }
    Fitted { text, shown }
}

/// Shortens a memory's text to at most `characters`. The last line counts the missing characters and names the call that
/// returns them.
pub(super) fn excerpt(text: &str, characters: usize, path: &str) -> String {
    let length = text.chars().count();
    if length <= characters {
        return text.to_owned();
    }
    // The mark is longest when it counts all characters.
    let mark = excerpt_mark(length, path).chars().count() + 1;
    let shown = cut(text, characters.saturating_sub(mark)).trim_end();
    format!("{shown}\n{}", excerpt_mark(length - shown.chars().count(), path))
}

fn excerpt_mark(left: usize, path: &str) -> String {
    format!("… {} more characters: memory_read {path}", grouped(left))
}

/// Returns the beginning of a text, at most `characters` long, up to the end of a line, of a sentence or of a word.
///
/// A boundary in the first half is not used: it would leave out too much.
pub(super) fn cut(text: &str, characters: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(characters) else { return text };
    let head = &text[..end];
    for boundary in [line_end(head), sentence_end(head), word_end(head)] {
        if let Some(at) = boundary
            && at * 2 >= end
        {
            return &head[..at];
        }
    }
    head
}

fn line_end(text: &str) -> Option<usize> {
    text.rfind('\n')
}

/// Returns the position after the last sentence that ends inside of the text.
fn sentence_end(text: &str) -> Option<usize> {
    let mut space_follows = false;
    for (at, character) in text.char_indices().rev() {
        match character {
            '。' | '！' | '？' => return Some(at + character.len_utf8()),
            '.' | '!' | '?' if space_follows => return Some(at + 1),
            _ => space_follows = character.is_whitespace(),
        }
    }
    None
}

fn word_end(text: &str) -> Option<usize> {
    text.rfind(char::is_whitespace)
}

/// Formats a number with its thousands separated: `3,200`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn passage(text: &str) -> Passage<'_> {
        Passage { heading: "[0.50] facts/a.md".into(), text, path: "facts/a.md" }
    }

    #[test]
    fn a_text_is_cut_at_the_end_of_a_line_a_sentence_or_a_word() {
        assert_eq!(cut("short", 10), "short");
        assert_eq!(cut("one two three\nfour five", 18), "one two three");
        assert_eq!(cut("One two. Three. Four five six", 20), "One two. Three.");
        assert_eq!(cut("version 1.5 is out today", 15), "version 1.5 is");
        assert_eq!(cut("一二三。四五六。七八", 9), "一二三。四五六。");
        assert_eq!(cut("abcdefghij", 4), "abcd");
        // The only line break comes too early.
        assert_eq!(cut("a\nbcdefghijklm", 10), "a\nbcdefghi");
    }

    #[test]
    fn an_excerpt_counts_the_missing_characters_and_names_the_path() {
        let text = "word ".repeat(1_000);
        let excerpt = excerpt(&text, 1_000, "facts/x.md");
        assert!(excerpt.chars().count() <= 1_000, "{excerpt}");
        let (shown, mark) = excerpt.rsplit_once('\n').expect("a mark");
        let left = grouped(5_000 - shown.chars().count());
        assert_eq!(mark, format!("… {left} more characters: memory_read facts/x.md"));
    }

    #[test]
    fn short_passages_after_a_long_one_stay_whole() {
        let long = "long. ".repeat(5_000);
        let all = [passage(&long), passage("short one"), passage("short two")];
        let Fitted { text, shown } = passages(&all, 4_000);
        assert_eq!(shown, 3);
        assert!(text.ends_with("short one\n\n[0.50] facts/a.md\nshort two"), "{text}");
        let length = text.chars().count();
        // The long one gets the room that the others leave.
        assert!((3_900..=4_000).contains(&length), "{length}");
    }

    #[test]
    fn passages_that_do_not_fit_are_not_counted_as_shown() {
        let text = "x".repeat(900);
        let all: Vec<Passage<'_>> = (0..20).map(|_| passage(&text)).collect();
        let Fitted { text, shown } = passages(&all, 4_000);
        assert_eq!(shown, 4);
        assert!(!text.contains("more characters"), "{text}");
    }

    #[test]
    fn numbers_have_their_thousands_separated() {
        let numbers = [0, 999, 1_000, 46_586, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "46,586", "1,234,567"]);
    }

    proptest! {
        #[test]
        fn no_layout_is_longer_than_its_room(lengths in proptest::collection::vec(0usize..3_000, 0..30), room in 800usize..9_000) {
            let texts: Vec<String> = lengths.iter().map(|length| "wörd. ".repeat(length / 6)).collect();
            let all: Vec<Passage<'_>> = texts.iter().map(|text| passage(text)).collect();
            let fitted = passages(&all, room);
            prop_assert!(fitted.text.chars().count() <= room);
            prop_assert!(fitted.shown > 0 || all.is_empty());
        }

        #[test]
        fn any_text_can_be_cut_anywhere(text in "\\PC{0,80}", characters in 0usize..90) {
            let shown = cut(&text, characters);
            prop_assert!(shown.chars().count() <= characters);
            prop_assert!(text.starts_with(shown));
        }
    }
}
