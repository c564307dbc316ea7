//! Terms: how the texts of memories and queries become comparable words.

use std::borrow::Cow;

use super::characters;
use super::detection::{Evidence, TextLanguages};
use super::fold::{fold_term, lowercase};
use super::forms::{Forms, Place, TERM_BYTES_MAX, is_term};
use super::language::Language;
use super::script::{Script, is_in_other_script};
use super::stop_words::{self, StopWord};
use super::{arabic, english, hebrew, identifiers, korean, numbers, segments, stems};

/// Signs of money before and after an amount, and the sign of a share.
const AMOUNT_SIGNS: [char; 8] = ['$', '€', '£', '¥', '₹', '₩', '₽', '%'];
/// The hyphens of a compound: ASCII and Unicode.
const HYPHENS: [char; 3] = ['-', '\u{2010}', '\u{2011}'];

/// A term of a text.
#[derive(Clone, Copy, Debug)]
pub struct Term<'t, 'a> {
    pub text: &'t str,
    pub place: Place,
    /// The word of the text that the term comes from.
    pub word: &'a str,
}

/// A word of a text. Words of ASCII borrow their forms, since most texts have no others.
struct Word<'a> {
    text: &'a str,
    start: usize,
    script: Script,
    /// The form in which terms are compared, and the lowercase form with accents if that is another.
    folded: Cow<'a, str>,
    lowercase: Option<String>,
    stop: StopWord,
}

impl<'a> Word<'a> {
    /// Returns a word that begins at `start`, given its text with ASCII letters in lowercase.
    fn new(start: usize, text: &'a str, ascii_lowercase: &'a str) -> Self {
        if text.is_ascii() {
            let stop = stop_words::latin(ascii_lowercase);
            let folded = Cow::Borrowed(ascii_lowercase);
            return Self { text, start, script: Script::Latin, folded, lowercase: None, stop };
        }
        let script = Script::of(text);
        let (folded, lowercase) = (fold_term(text), lowercase(text));
        let mut stop = StopWord::default();
        if script == Script::Latin {
            stop = stop_words::latin(&lowercase);
            stop.is_english = stop_words::is_stop_word(&folded);
        }
        Self { text, start, script, folded: Cow::Owned(folded), lowercase: Some(lowercase), stop }
    }

    fn end(&self) -> usize {
        self.start + self.text.len()
    }

    fn lowercase(&self) -> &str {
        self.lowercase.as_deref().unwrap_or(&self.folded)
    }

    fn is_stop_word(&self, languages: &TextLanguages) -> bool {
        if self.script == Script::Latin {
            self.stop.is_english || self.stop.languages.intersects(languages.stopped)
        } else {
            stop_words::is_in_other_script(&self.folded)
        }
    }

    /// Returns the term of the word that every text yields.
    fn stem(&self) -> String {
        stems::stem(self.script, self.text, &self.folded)
    }
}

/// Calls a function with each term of a text, in order, with repeats.
pub fn for_each_term<'a>(text: &'a str, mut on_term: impl FnMut(Term<'_, 'a>)) {
    find_term(text, |term| {
        on_term(term);
        false
    });
}

/// Whether a condition holds for any term of a text. Stops at the first such term.
pub fn any_term(text: &str, mut condition: impl FnMut(&str) -> bool) -> bool {
    find_term(text, |term| condition(term.text))
}

/// Whether nothing in a text tells that it is in another language than English.
pub fn may_be_english(text: &str) -> bool {
    !is_in_other_script(text) && languages(&words(text, &text.to_ascii_lowercase())).is_english()
}

/// Returns the terms of a text, stemmed and without stop words, in order, with repeats.
pub fn content_terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for_each_term(text, |term| terms.push(term.text.to_owned()));
    terms
}

/// Whether a condition holds for any term of a text. Stops at the first such term.
fn find_term<'a>(text: &'a str, mut condition: impl FnMut(Term<'_, 'a>) -> bool) -> bool {
    let ascii_lowercase = text.to_ascii_lowercase();
    let words = words(text, &ascii_lowercase);
    let languages = languages(&words);
    for (index, word) in words.iter().enumerate() {
        if word.is_stop_word(&languages) {
            continue;
        }
        let of_text = &text[word.start..word.end()];
        let joined = joined_with_next(text, &words, index);
        if joined.is_none() && is_plain(word, &languages) {
            let stem = english::stem(&word.folded);
            if is_term(&stem) && condition(Term { text: &stem, place: Place::Word, word: of_text }) {
                return true;
            }
            continue;
        }
        for (place, term) in forms(text, word, &languages, joined).terms() {
            if condition(Term { text: term, place: *place, word: of_text }) {
                return true;
            }
        }
    }
    false
}

/// Splits a text into words that can be terms, given the text with ASCII letters in lowercase.
fn words<'a>(text: &'a str, ascii_lowercase: &'a str) -> Vec<Word<'a>> {
    let segments = segments::words(text);
    let mut words = Vec::with_capacity(segments.len());
    for (start, word) in segments {
        if word.len() <= TERM_BYTES_MAX {
            words.push(Word::new(start, word, &ascii_lowercase[start..start + word.len()]));
        }
    }
    words
}

/// Returns the languages that the words in Latin script may be of.
fn languages(words: &[Word<'_>]) -> TextLanguages {
    let mut evidence = Evidence::new();
    for word in words {
        if word.script != Script::Latin {
            continue;
        }
        evidence.add_word(word.stop);
        if let Some(lowercase) = &word.lowercase {
            evidence.add_letters(lowercase);
        }
    }
    evidence.languages()
}

/// Whether the only form of a word is its English stem.
fn is_plain(word: &Word<'_>, languages: &TextLanguages) -> bool {
    word.script == Script::Latin && languages.is_english() && !identifiers::may_have_parts(word.text)
}

/// Returns a word and the next one as one, if a hyphen joins just these two: "e-mail" is found as "email".
fn joined_with_next(text: &str, words: &[Word<'_>], index: usize) -> Option<String> {
    let (word, next) = (&words[index], words.get(index + 1)?);
    if !is_hyphen(text, word.end(), next.start) {
        return None;
    }
    let follows_hyphen = index > 0 && is_hyphen(text, words[index - 1].end(), word.start);
    let has_third = text[next.end()..].starts_with(HYPHENS);
    let has_letters = word.text.chars().all(char::is_alphabetic) && next.text.chars().all(char::is_alphabetic);
    if follows_hyphen || has_third || !has_letters {
        return None;
    }
    let both = format!("{}{}", word.text, next.text);
    Some(stems::stem(word.script, &both, &format!("{}{}", word.folded, next.folded)))
}

/// Whether there is only a hyphen between two bytes of a text.
fn is_hyphen(text: &str, start: usize, end: usize) -> bool {
    match text.get(start..end).and_then(|between| between.strip_prefix(HYPHENS)) {
        Some(rest) => rest.is_empty(),
        None => false,
    }
}

/// Returns the forms of a word that is not plain.
fn forms(text: &str, word: &Word<'_>, languages: &TextLanguages, joined: Option<String>) -> Forms {
    let mut forms = Forms::default();
    match word.script {
        _ if numbers::is_number(&word.folded) => add_number(&mut forms, text, word),
        Script::Latin => add_latin(&mut forms, word, languages),
        Script::Arabic => {
            forms.add(word.stem());
            if let Some(stem) = arabic::stem_without_prefix(&word.folded) {
                forms.add(stem.to_owned());
            }
        }
        Script::Hebrew => {
            forms.add(word.stem());
            for rest in hebrew::without_prefixes(&word.folded) {
                forms.add(hebrew::without_ending(rest).to_owned());
            }
        }
        Script::Hangul => {
            forms.add(word.folded.to_string());
            if let Some(rest) = korean::without_particle(&word.folded) {
                forms.add(rest.to_owned());
            }
            forms.add_parts(characters::pairs(&word.folded));
        }
        Script::Han => {
            forms.add(word.folded.to_string());
            forms.add_parts(characters::han(&word.folded));
        }
        Script::Cyrillic | Script::Greek | Script::Devanagari | Script::Tamil | Script::Unspaced | Script::Other => {
            forms.add(word.stem());
        }
    }
    add_parts(&mut forms, word);
    if let Some(joined) = joined {
        forms.add(joined);
    }
    forms
}

/// Adds the forms of a word in Latin script: the English stem, then the stems of the text's languages.
fn add_latin(forms: &mut Forms, word: &Word<'_>, languages: &TextLanguages) {
    forms.add(english::stem(&identifiers::joined(&word.folded)).into_owned());
    if let Some(number) = identifiers::version(&word.folded) {
        forms.add(number.to_owned());
    }
    for language in languages.stemmed() {
        forms.add(stems::stem_in(language, word.lowercase()));
        if language == Language::Vietnamese {
            forms.add(word.folded.to_string());
        }
    }
}

/// Adds the forms of a number.
fn add_number(forms: &mut Forms, text: &str, word: &Word<'_>) {
    let plain = numbers::plain(&word.folded);
    let before = text[..word.start].trim_end().chars().next_back();
    let after = text[word.end()..].trim_start().chars().next();
    let is_amount = before.is_some_and(is_amount_sign) || after.is_some_and(is_amount_sign);
    let trimmed = numbers::without_final_zeros(&plain).map(str::to_owned);
    let thousands = numbers::with_points_as_thousands(&plain);
    forms.add(plain);
    if is_amount && let Some(trimmed) = trimmed {
        forms.add(trimmed);
    }
    if let Some(thousands) = thousands {
        forms.add(thousands);
    }
}

fn is_amount_sign(c: char) -> bool {
    AMOUNT_SIGNS.contains(&c)
}

/// Adds the parts of an identifier as one form.
fn add_parts(forms: &mut Forms, word: &Word<'_>) {
    if !identifiers::may_have_parts(word.text) || numbers::is_number(&word.folded) {
        return;
    }
    let mut parts = Vec::new();
    for part in identifiers::parts(word.text) {
        let folded = fold_term(part);
        let is_initial = part.chars().nth(1).is_none() && part.chars().all(char::is_alphabetic);
        if !is_initial && !stop_words::is_stop_word(&folded) {
            parts.push(stems::stem(Script::of(part), part, &folded));
        }
    }
    forms.add_parts(parts);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_stemmed_and_stripped_of_stop_words() {
        assert_eq!(content_terms("The Cafés were running, Ann's dogs!"), ["cafe", "run", "ann", "dog"]);
        assert_eq!(content_terms("日本語 ok"), ["日本語", "日", "本", "語", "ok"]);
        assert_eq!(content_terms("She bought; they went"), content_terms("buy go"));
        assert!(content_terms("the of and").is_empty());
        assert!(content_terms(&"x".repeat(100)).is_empty());
    }

    #[test]
    fn a_term_comes_with_its_word() {
        let mut pairs = Vec::new();
        for_each_term("The Cafés of Ann's", |term| pairs.push(format!("{}: {}", term.word, term.text)));
        assert_eq!(pairs, ["Cafés: cafe", "Ann's: ann"]);
    }

    #[test]
    fn words_of_scripts_without_spaces_are_found() {
        // "I like studying Chinese", "Grandmother lives in Kyoto".
        assert!(content_terms("我喜欢学习中文").contains(&"学习".to_owned()));
        assert!(content_terms("祖母は京都に住んでいます").contains(&"京都".to_owned()));
        assert!(content_terms("sim 学校 42").ends_with(&["42".to_owned()]));
    }
}
