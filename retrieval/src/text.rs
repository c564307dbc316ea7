//! Terms: how the texts of memories and queries become comparable words.
//!
//! A text is split by Unicode's word segmentation (UAX #29). Words are folded to lowercase without accents, English
//! stop words are removed, irregular forms are replaced by their base form, and the rest is stemmed as English.
//!
//! Scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) are split by ICU's dictionaries. A word of
//! several Chinese characters also yields each character as a word, because the split depends on the neighbouring
//! words.

#![expect(clippy::disallowed_types, reason = "this file hides tantivy")]

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use tantivy::tokenizer::{Language, Stemmer, TextAnalyzer, Token, TokenStream, Tokenizer};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Limit of the bytes of a term. Longer words are base64 and the like.
const TERM_BYTES_MAX: usize = 64;

/// English function words: articles, pronouns, auxiliaries, prepositions, conjunctions, question words and their
/// contractions, folded.
const STOP_WORDS: &str = "a an the this that these those i me my mine myself we us our ours you your yours he him his she \
    her hers it its they them their theirs am is are was were be been being do does did doing done have has had having \
    will would shall should can could may might must and or but nor so if then than as at by for from in into of off on \
    onto out over to up down with without about after before again during through between what which who whom whose \
    when where why how not no yes there here also just very too i'm i've i'd i'll you're you've you'd you'll he's she's \
    it's we're we've we'll they're they've that's there's what's who's don't doesn't didn't isn't aren't wasn't weren't \
    won't can't couldn't wouldn't shouldn't haven't hasn't hadn't";

/// English words with forms that a stemmer does not reduce to one: the base form, then the other forms.
const IRREGULAR: &str = "go went gone, buy bought, make made, run ran, teach taught, write wrote written, take took taken, \
    give gave given, get got gotten, see saw seen, feel felt, find found, tell told, say said, think thought, \
    bring brought, catch caught, come came, begin began begun, choose chose chosen, draw drew drawn, \
    drive drove driven, eat ate eaten, fall fell fallen, fly flew flown, forget forgot forgotten, grow grew grown, \
    hear heard, hold held, keep kept, know knew known, lead led, leave left, lose lost, meet met, pay paid, \
    ride rode ridden, rise rose risen, sing sang sung, sit sat, sleep slept, speak spoke spoken, spend spent, \
    stand stood, swim swam swum, throw threw thrown, understand understood, wake woke woken, wear wore worn, \
    win won, sell sold, send sent, build built, lend lent, break broke broken, steal stole stolen, shoot shot, \
    shake shook shaken, strike struck, seek sought, deal dealt, dream dreamt, fight fought, hang hung, \
    hide hid hidden, lay laid, light lit, mean meant, become became, bite bit bitten, blow blew blown, \
    child children, woman women, man men, foot feet, tooth teeth, mouse mice";

static STOPS: LazyLock<HashSet<&str>> = LazyLock::new(|| STOP_WORDS.split_whitespace().collect());
/// The base form of each irregular form.
static BASES: LazyLock<HashMap<&str, &str>> = LazyLock::new(base_forms);

fn base_forms() -> HashMap<&'static str, &'static str> {
    let mut bases = HashMap::new();
    for group in IRREGULAR.split(',') {
        let mut words = group.split_whitespace();
        let Some(base) = words.next() else { continue };
        for form in words {
            bases.insert(form, base);
        }
    }
    bases
}

/// Folds a word to the form in which words are compared: lowercase, without accents, with straight apostrophes.
pub fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(word.len());
    for letter in word.nfd() {
        if !is_accent(letter) {
            folded.extend(letter.to_lowercase().map(straighten));
        }
    }
    folded
}

fn straighten(c: char) -> char {
    if c == '’' { '\'' } else { c }
}

/// Whether a character only modifies the letter before it: an accent or a vowel point, but not a vowel sign.
fn is_accent(c: char) -> bool {
    // Combining classes: the fixed positions of Hebrew and Arabic, and marks that are attached, above or below.
    matches!(unicode_normalization::char::canonical_combining_class(c), 10..=36 | 200..=240)
}

/// The marks that end a question in Latin, Chinese and Arabic script.
pub const QUESTION_MARKS: [char; 3] = ['?', '？', '؟'];

/// Whether a character belongs to a script without spaces between words, which only a dictionary can split.
pub fn writes_no_spaces(c: char) -> bool {
    is_han(c)
        || matches!(c,
            // Thai, Lao; Burmese; Khmer; kana.
            '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}')
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Splits a text into words, each with the byte at which it begins.
fn words(text: &str) -> Vec<(usize, &str)> {
    static SEGMENTER: LazyLock<WordSegmenterBorrowed<'static>> =
        LazyLock::new(|| WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()));
    if !text.chars().any(writes_no_spaces) {
        return text.unicode_word_indices().collect();
    }
    let (mut words, mut start) = (Vec::new(), 0);
    for (end, kind) in SEGMENTER.segment_str(text).iter_with_word_type() {
        let word = &text[start..end];
        if kind.is_word_like() {
            words.push((start, word));
            if word.chars().nth(1).is_some() {
                for (offset, c) in word.char_indices().filter(|(_, c)| is_han(*c)) {
                    words.push((start + offset, &word[offset..offset + c.len_utf8()]));
                }
            }
        }
        start = end;
    }
    words
}

/// Whether a folded word is an English function word.
pub fn is_stop_word(word: &str) -> bool {
    STOPS.contains(word)
}

/// Calls a function with each term of a text, in order, with repeats.
pub(crate) fn for_each_term(text: &str, mut on_term: impl FnMut(&str)) {
    any_term(text, |term| {
        on_term(term);
        false
    });
}

/// Whether a condition holds for any term of a text. Stops at the first such term.
pub fn any_term(text: &str, mut condition: impl FnMut(&str) -> bool) -> bool {
    any_token(text, |token| condition(&token.text))
}

/// Whether a condition holds for any token of a text. Stops at the first such token.
fn any_token(text: &str, mut condition: impl FnMut(&Token) -> bool) -> bool {
    thread_local! {
        static ANALYZER: RefCell<TextAnalyzer> =
            RefCell::new(TextAnalyzer::builder(Words).filter(Stemmer::new(Language::English)).build());
    }
    ANALYZER.with_borrow_mut(|analyzer| {
        let mut stream = analyzer.token_stream(text);
        while let Some(token) = stream.next() {
            if condition(token) {
                return true;
            }
        }
        false
    })
}

/// Returns the terms of a text, stemmed and without stop words, in order, with repeats.
pub fn content_terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for_each_term(text, |term| terms.push(term.to_owned()));
    terms
}

/// A term, and the word of the text that it comes from.
pub(crate) struct TermOfWord<'a> {
    pub(crate) term: String,
    pub(crate) word: &'a str,
}

/// Returns the terms of a text with their words, in order, with repeats.
pub(crate) fn terms_of_words(text: &str) -> Vec<TermOfWord<'_>> {
    let mut terms = Vec::new();
    any_token(text, |token| {
        let word = text.get(token.offset_from..token.offset_to).unwrap_or_default();
        terms.push(TermOfWord { term: token.text.clone(), word });
        false
    });
    terms
}

/// Splits a text into folded words in their base form, without stop words.
#[derive(Clone)]
struct Words;

struct WordStream {
    tokens: std::vec::IntoIter<Token>,
    current: Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream {
        let mut tokens = Vec::new();
        for (start, word) in words(text) {
            if word.len() > TERM_BYTES_MAX {
                continue;
            }
            let folded = fold(word);
            if is_stop_word(&folded) {
                continue;
            }
            tokens.push(Token {
                offset_from: start,
                offset_to: start + word.len(),
                position: tokens.len(),
                text: base_form(folded),
                position_length: 1,
            });
        }
        WordStream { tokens: tokens.into_iter(), current: Token::default() }
    }
}

/// Removes a possessive ending and replaces an irregular form by its base form.
fn base_form(mut word: String) -> String {
    if word.ends_with("'s") {
        word.truncate(word.len() - "'s".len());
    }
    match BASES.get(word.as_str()) {
        Some(base) => (*base).to_owned(),
        None => word,
    }
}

impl TokenStream for WordStream {
    fn advance(&mut self) -> bool {
        match self.tokens.next() {
            Some(token) => {
                self.current = token;
                true
            }
            None => false,
        }
    }

    fn token(&self) -> &Token {
        &self.current
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.current
    }
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
        for TermOfWord { term, word } in terms_of_words("The Cafés of Ann's") {
            pairs.push(format!("{word}: {term}"));
        }
        assert_eq!(pairs, ["Cafés: cafe", "Ann's: ann"]);
    }

    #[test]
    fn words_of_scripts_without_spaces_are_found() {
        // "I like studying Chinese", "the cat drinks milk", "Grandmother lives in Kyoto".
        assert!(content_terms("我喜欢学习中文").contains(&"学习".to_owned()));
        assert_eq!(content_terms("แมวดื่มนม"), ["แมว", "ดื่ม", "นม"]);
        assert!(content_terms("祖母は京都に住んでいます").contains(&"京都".to_owned()));
        assert!(content_terms("sim 学校 42").ends_with(&["42".to_owned()]));
    }

    #[test]
    fn vowel_signs_are_kept_and_accents_are_removed() {
        assert_eq!(content_terms("किताब कताब").len(), 2);
        assert_ne!(fold("किताब"), fold("कताब"), "vowel signs distinguish Hindi words");
        assert_eq!(fold("كِتَاب"), fold("كتاب"), "vowel points do not distinguish Arabic words");
        assert_eq!(fold("Éclair"), "eclair");
    }
}
