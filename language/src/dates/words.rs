//! Splits a text into words, and guesses its language by common words. Text without spaces is split at the words of the
//! [`lexicon`](super::lexicon); what lies between them is one word.

use std::borrow::Cow;
use std::ops::Range;

use super::languages::table::{Language, Role};
use super::lexicon::{Meaning, longest, meanings};
use super::normal::{continues_word, normal};

/// Words of a text that are read for dates. Only logs and tables have longer statements.
const WORDS_MAX: usize = 4096;
/// Characters of the longest number in Chinese characters.
const NUMERAL_CHARS_MAX: usize = 4;

/// A word in the form of [`normal`], its bytes in the text, and what it means.
pub(crate) struct Word<'t> {
    pub(crate) text: Cow<'t, str>,
    pub(crate) range: Range<usize>,
    pub(crate) meanings: &'static [Meaning],
}

/// The first [`WORDS_MAX`] words of a text.
pub(crate) struct Text<'t> {
    pub(crate) words: Vec<Word<'t>>,
    /// The language in Latin letters that has the most words in the text, if one has.
    pub(crate) language: Option<Language>,
}

/// A kind of characters that form words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Spaced,
    /// Chinese characters and kana.
    Unspaced,
}

impl<'t> Text<'t> {
    pub(crate) fn read(text: &'t str) -> Self {
        let mut words = Vec::new();
        let mut run: Option<(usize, Script)> = None;
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            let script = script_of(c, run);
            if let Some((begin, last)) = run
                && script != Some(last)
            {
                match last {
                    Script::Spaced => words.push(spaced_word(text, begin..at)),
                    Script::Unspaced => push_unspaced(text, begin..at, &mut words),
                }
                run = None;
                if words.len() >= WORDS_MAX {
                    break;
                }
            }
            if let Some(script) = script
                && run.is_none()
            {
                run = Some((at, script));
            }
        }
        words.truncate(WORDS_MAX);
        let language = language_of(&words);
        Self { words, language }
    }

    /// Whether the text is in a language in Latin letters other than this one.
    pub(crate) fn is_in_another_language(&self, language: Language) -> bool {
        language.is_latin() && self.language.is_some_and(|known| known != language)
    }

    /// Whether the word at an index is a word of the text's language in dates.
    pub(crate) fn is_word_of_its_language(&self, index: usize) -> bool {
        self.meanings_at(index).iter().any(|meaning| Some(meaning.language) == self.language)
    }

    /// Returns what the word at an index means.
    pub(crate) fn meanings_at(&self, index: usize) -> &'static [Meaning] {
        match self.words.get(index) {
            Some(word) => word.meanings,
            None => &[],
        }
    }

    /// Returns the bytes of some words.
    pub(crate) fn bytes(&self, words: &Range<usize>) -> Range<usize> {
        self.words[words.start].range.start..self.words[words.end - 1].range.end
    }
}

/// Returns the word at an index, or an empty text after the last word.
pub(crate) fn word_at<'w>(words: &'w [Word<'_>], index: usize) -> &'w str {
    match words.get(index) {
        Some(word) => &word.text,
        None => "",
    }
}

/// Returns the script of a character that belongs to a word.
fn script_of(c: char, run: Option<(usize, Script)>) -> Option<Script> {
    if c.is_ascii() {
        let is_word = c.is_ascii_alphanumeric() || c == '-' || c == '\'';
        return if is_word { Some(Script::Spaced) } else { None };
    }
    if is_unspaced(c) && c.is_alphanumeric() {
        return Some(Script::Unspaced);
    }
    let continues = continues_word(c) && matches!(run, Some((_, Script::Spaced)));
    if continues || c.is_alphanumeric() { Some(Script::Spaced) } else { None }
}

/// Whether a character is a Chinese character, a kana or a punctuation mark between kana.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}')
        || matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

fn spaced_word(text: &str, range: Range<usize>) -> Word<'_> {
    let word = normal(&text[range.clone()]);
    let mut found = meanings(&word);
    if found.is_empty()
        && let Some(after) = without_joined_word(&word)
    {
        found = meanings(after);
    }
    Word { text: word, range, meanings: found }
}

/// Returns a word without another one that is joined to its beginning: "l'année", or "and" in Arabic.
fn without_joined_word(word: &str) -> Option<&str> {
    match word.rsplit_once('\'') {
        Some((_, after)) => Some(after),
        None => word.strip_prefix('و'),
    }
}

/// Adds the words of a text without spaces.
fn push_unspaced<'t>(text: &'t str, range: Range<usize>, words: &mut Vec<Word<'t>>) {
    let mut at = range.start;
    let mut unknown = range.start;
    while at < range.end && words.len() < WORDS_MAX {
        let Some(word) = known_word(text, at..range.end) else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        if unknown < at {
            words.push(unknown_word(text, unknown..at));
        }
        at = word.range.end;
        unknown = at;
        words.push(word);
    }
    if unknown < at {
        words.push(unknown_word(text, unknown..at));
    }
}

/// Returns the longest word of the lexicon, or the number, with which some bytes begin.
fn known_word(text: &str, range: Range<usize>) -> Option<Word<'_>> {
    let begin = range.start;
    let rest = &text[range];
    if let Some((length, meanings)) = longest(rest) {
        return Some(Word { text: Cow::Borrowed(&rest[..length]), range: begin..begin + length, meanings });
    }
    let (length, number) = numeral(rest)?;
    Some(Word { text: Cow::Owned(number.to_string()), range: begin..begin + length, meanings: &[] })
}

fn unknown_word(text: &str, range: Range<usize>) -> Word<'_> {
    Word { text: Cow::Borrowed(&text[range.clone()]), range, meanings: &[] }
}

/// Reads a number in Chinese characters at the beginning of a text: "二十三", "二〇二三". Returns its bytes and its value.
fn numeral(text: &str) -> Option<(usize, u32)> {
    let mut value = 0;
    let mut length = 0;
    for c in text.chars().take(NUMERAL_CHARS_MAX) {
        if c == '十' {
            // "十二" and "二十"; "二十十" is not a number.
            value = if value == 0 { 10 } else { value * 10 };
        } else if let Some(digit) = numeral_digit(c) {
            let is_unit = text[..length].ends_with('十');
            value = if is_unit { value + digit } else { value * 10 + digit };
        } else {
            break;
        }
        length += c.len_utf8();
    }
    if length == 0 { None } else { Some((length, value)) }
}

fn numeral_digit(c: char) -> Option<u32> {
    Some(match c {
        '〇' | '零' => 0,
        '一' => 1,
        '二' | '两' | '兩' => 2,
        '三' => 3,
        '四' => 4,
        '五' => 5,
        '六' => 6,
        '七' => 7,
        '八' => 8,
        '九' => 9,
        _ => return None,
    })
}

/// Returns the language in Latin letters to which most words belong. English goes before others with as many.
fn language_of(words: &[Word<'_>]) -> Option<Language> {
    let mut counts = [0_usize; Language::COUNT];
    for word in words {
        let mut last = None;
        for meaning in word.meanings {
            if meaning.language.is_latin() && last != Some(meaning.language) && is_evidence(meaning) {
                counts[meaning.language.index()] += 1;
                last = Some(meaning.language);
            }
        }
    }
    let most = *counts.iter().max()?;
    if most == 0 {
        return None;
    }
    if counts[Language::English.index()] == most {
        return Some(Language::English);
    }
    let mut best = None;
    for language in Language::LATIN {
        if counts[language.index()] == most && best.replace(language).is_some() {
            return None;
        }
    }
    best
}

/// Whether a word with this meaning shows that a text is in the language.
fn is_evidence(meaning: &Meaning) -> bool {
    let is_word = matches!(
        meaning.role,
        Role::Common
            | Role::Month(_)
            | Role::DoubtfulMonth(_)
            | Role::DayName(_)
            | Role::Day(_)
            | Role::StepAfter(_)
            | Role::Period(_)
            | Role::Counted(_)
    );
    is_word && meaning.rest.is_empty() && !meaning.is_shared
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        Text::read(text).words.iter().map(|word| word.text.to_string()).collect()
    }

    #[test]
    fn text_without_spaces_is_split_at_dates() {
        assert_eq!(
            split("我2023年5月12日去了iPhone店"),
            ["我", "2023", "年", "5", "月", "12", "日", "去了", "iphone", "店"]
        );
        assert_eq!(split("二〇二三年十二月二十五日"), ["2023", "年", "12", "月", "25", "日"]);
        assert_eq!(split("三天前"), ["3", "天", "前"]);
    }

    #[test]
    fn signs_inside_of_words_do_not_split_them() {
        assert_eq!(split("अप्रैल में"), ["अप्रैल", "में"]);
        assert_eq!(split("সেপ্টেম্বর"), ["সেপ্টেম্বর"]);
    }

    #[test]
    fn the_language_is_the_one_with_most_words() {
        for (text, language) in [
            ("What did I do here?", Some(Language::English)),
            ("Was ist hier passiert?", Some(Language::German)),
            ("Qu'est-ce que j'ai fait hier ?", Some(Language::French)),
            ("¿Qué hice en Sevilla?", Some(Language::Spanish)),
            ("O que eu fiz ontem?", Some(Language::Portuguese)),
            ("Che cosa ho fatto ieri?", Some(Language::Italian)),
            ("Wat heb ik gisteren gedaan?", Some(Language::Dutch)),
            ("hier", None),
            ("", None),
        ] {
            assert_eq!(Text::read(text).language, language, "{text}");
        }
    }
}
