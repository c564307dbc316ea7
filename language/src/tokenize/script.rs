//! The script of a word, which decides how the word is stemmed.

use super::segments::{is_han, writes_no_spaces};

/// A script, or several that are treated alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// Latin letters, and words without letters.
    Latin,
    Cyrillic,
    Greek,
    Arabic,
    Hebrew,
    Devanagari,
    Tamil,
    /// Korean syllables.
    Hangul,
    /// Chinese characters.
    Han,
    /// Any other script without spaces between words.
    Unspaced,
    /// Any other script.
    Other,
}

/// Whether most letters of a text are of another script than Latin.
pub fn is_in_other_script(text: &str) -> bool {
    if text.is_ascii() {
        return false;
    }
    let (mut latin, mut other) = (0_usize, 0_usize);
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        match Script::of_letter(c) {
            Script::Latin => latin += 1,
            _ => other += 1,
        }
    }
    other > latin
}

impl Script {
    /// Returns the script of a word: that of its first letter.
    pub(super) fn of(word: &str) -> Self {
        if word.is_ascii() {
            return Self::Latin;
        }
        for c in word.chars() {
            if c.is_alphabetic() {
                return Self::of_letter(c);
            }
        }
        Self::Latin
    }

    fn of_letter(c: char) -> Self {
        match c {
            'A'..='Z'
            | 'a'..='z'
            | '\u{00aa}'..='\u{02af}'
            | '\u{1e00}'..='\u{1eff}'
            | '\u{2c60}'..='\u{2c7f}'
            | '\u{a720}'..='\u{a7ff}'
            | '\u{fb00}'..='\u{fb06}'
            | '\u{ff21}'..='\u{ff5a}' => Self::Latin,
            '\u{0370}'..='\u{03ff}' | '\u{1f00}'..='\u{1fff}' => Self::Greek,
            '\u{0400}'..='\u{052f}' | '\u{1c80}'..='\u{1c8f}' => Self::Cyrillic,
            '\u{0590}'..='\u{05ff}' | '\u{fb1d}'..='\u{fb4f}' => Self::Hebrew,
            '\u{0600}'..='\u{06ff}'
            | '\u{0750}'..='\u{077f}'
            | '\u{08a0}'..='\u{08ff}'
            | '\u{fb50}'..='\u{fdff}'
            | '\u{fe70}'..='\u{fefe}' => Self::Arabic,
            '\u{0900}'..='\u{097f}' => Self::Devanagari,
            '\u{0b80}'..='\u{0bff}' => Self::Tamil,
            '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' => Self::Hangul,
            _ if is_han(c) => Self::Han,
            _ if writes_no_spaces(c) => Self::Unspaced,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_letters_decide_the_script_of_a_text() {
        for text in ["Где живёт Анна?", "安娜住在哪里", "Ποῦ το wifi;", "أين تعيش آنا؟"]
        {
            assert!(is_in_other_script(text), "{text}");
        }
        for text in ["Where does Ana live?", "Où habite Ana ?", "42", "", "the Москва office in Oslo"] {
            assert!(!is_in_other_script(text), "{text}");
        }
    }
}
