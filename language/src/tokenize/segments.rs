//! The words of a text, by Unicode's rules and, for scripts without spaces, by ICU's dictionaries.

use std::sync::LazyLock;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use unicode_segmentation::UnicodeSegmentation;

/// The marks that end a question in Latin, Chinese and Arabic script.
pub const QUESTION_MARKS: [char; 3] = ['?', '？', '؟'];

/// Whether a character belongs to a script without spaces between words, which only a dictionary can split.
pub fn writes_no_spaces(c: char) -> bool {
    is_han(c)
        || matches!(c,
            // Thai, Lao; Burmese; Khmer; kana, also of half width.
            '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
            | '\u{ff66}'..='\u{ff9f}')
}

/// Whether a character is Chinese, also in Japanese and Korean texts.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Splits a text into words, each with the byte at which it begins.
pub(super) fn words(text: &str) -> Vec<(usize, &str)> {
    static SEGMENTER: LazyLock<WordSegmenterBorrowed<'static>> =
        LazyLock::new(|| WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()));
    if text.is_ascii() || !text.chars().any(writes_no_spaces) {
        return text.unicode_word_indices().collect();
    }
    let (mut words, mut start) = (Vec::new(), 0);
    for (end, kind) in SEGMENTER.segment_str(text).iter_with_word_type() {
        if kind.is_word_like() {
            words.push((start, &text[start..end]));
        }
        start = end;
    }
    words
}
