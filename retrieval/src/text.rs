//! Words: the one way in which memories and queries become terms.
//!
//! Words by Unicode's segmentation (UAX #29), lowercase, without accents, without English stop words, irregular forms as
//! their base form, stemmed as English. Where a script writes no spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese)
//! words are found in ICU's dictionaries; a word of several Chinese characters is also each of them, since how a text was
//! cut depends on what stood beside it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use tantivy::tokenizer::{Language, Stemmer, TextAnalyzer, Token, TokenStream, Tokenizer};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Longest term, in bytes; longer ones are base64 and the like.
const TERM_BYTES_MAX: usize = 64;

/// English words that carry grammar and no subject: articles, pronouns, auxiliaries, prepositions, conjunctions,
/// question words and their contractions, as [`fold`] leaves them.
const STOP_WORDS: &str = "a an the this that these those i me my mine myself we us our ours you your yours he him his she \
    her hers it its they them their theirs am is are was were be been being do does did doing done have has had having \
    will would shall should can could may might must and or but nor so if then than as at by for from in into of off on \
    onto out over to up down with without about after before again during through between what which who whom whose \
    when where why how not no yes there here also just very too i'm i've i'd i'll you're you've you'd you'll he's she's \
    it's we're we've we'll they're they've that's there's what's who's don't doesn't didn't isn't aren't wasn't weren't \
    won't can't couldn't wouldn't shouldn't haven't hasn't hadn't";

/// English words whose forms a stemmer does not bring together: the base form, then the others.
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
static BASES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let pairs = IRREGULAR.split(',').flat_map(|group| {
        let mut words = group.split_whitespace();
        let base = words.next().unwrap_or_default();
        words.map(move |form| (form, base))
    });
    pairs.collect()
});

/// Lowercase without accents: the form in which words are compared.
pub fn fold(word: &str) -> String {
    let folded = |c: char| if c == '’' { '\'' } else { c };
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let decomposed = word.nfd().filter(|c| !is_accent(*c));
    decomposed.flat_map(char::to_lowercase).map(folded).collect()
}

/// Whether a character only modifies the letter before it: an accent or a vowel point, not a vowel sign of its own.
fn is_accent(c: char) -> bool {
    // Combining classes: the fixed positions of Hebrew and Arabic, and whatever is attached, above or below.
    matches!(unicode_normalization::char::canonical_combining_class(c), 10..=36 | 200..=240)
}

/// What ends a question, in Latin, Chinese and Arabic writing.
pub const QUESTION_MARKS: [char; 3] = ['?', '？', '؟'];

/// Whether a character is of a script that writes no spaces between words, so that only a dictionary tells them apart.
pub fn writes_no_spaces(c: char) -> bool {
    is_han(c)
        || matches!(c,
            // Thai, Lao; Burmese; Khmer; kana.
            '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}')
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The words of a text, each with where it begins.
fn words(text: &str) -> Vec<(usize, &str)> {
    static SEGMENTER: LazyLock<WordSegmenterBorrowed<'static>> =
        LazyLock::new(|| WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()));
    if !text.chars().any(writes_no_spaces) {
        return text.unicode_word_indices().collect();
    }
    let (mut words, mut from) = (Vec::new(), 0);
    for (to, kind) in SEGMENTER.segment_str(text).iter_with_word_type() {
        let word = &text[from..to];
        if kind.is_word_like() {
            words.push((from, word));
            if word.chars().nth(1).is_some() {
                let characters = word.char_indices().filter(|(_, c)| is_han(*c));
                words.extend(characters.map(|(at, c)| (from + at, &word[at..at + c.len_utf8()])));
            }
        }
        from = to;
    }
    words
}

/// Whether a folded word carries grammar and no subject.
pub fn is_stop_word(word: &str) -> bool {
    STOPS.contains(word)
}

/// Hands over the stemmed terms of a text that are no stop words, in order, with repeats.
pub(crate) fn for_each_term(text: &str, mut take: impl FnMut(&str)) {
    any_term(text, |term| {
        take(term);
        false
    });
}

/// Whether any of a text's terms is a wanted one; those after the first that is are not looked at.
pub fn any_term(text: &str, mut wanted: impl FnMut(&str) -> bool) -> bool {
    thread_local! {
        static ANALYZER: RefCell<TextAnalyzer> =
            RefCell::new(TextAnalyzer::builder(Words).filter(Stemmer::new(Language::English)).build());
    }
    ANALYZER.with_borrow_mut(|analyzer| {
        let mut stream = analyzer.token_stream(text);
        while let Some(token) = stream.next() {
            if wanted(&token.text) {
                return true;
            }
        }
        false
    })
}

/// The stemmed terms of a text that are no stop words, in order, with repeats.
pub fn content_terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for_each_term(text, |term| terms.push(term.to_owned()));
    terms
}

#[derive(Clone)]
struct Words;

struct WordStream {
    tokens: std::vec::IntoIter<Token>,
    current: Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream {
        let words = words(text).into_iter().filter(|(_, word)| word.len() <= TERM_BYTES_MAX);
        let words =
            words.map(|(start, word)| (start, word.len(), fold(word))).filter(|(_, _, word)| !is_stop_word(word));
        let token = |(position, (start, length, word)): (usize, (usize, usize, String))| {
            let word = word.strip_suffix("'s").map(str::to_owned).unwrap_or(word);
            let base = BASES.get(word.as_str());
            let text = base.map_or(word, |base| (*base).to_owned());
            Token { offset_from: start, offset_to: start + length, position, text, position_length: 1 }
        };
        let tokens: Vec<Token> = words.enumerate().map(token).collect();
        WordStream { tokens: tokens.into_iter(), current: Token::default() }
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
    fn words_are_found_where_no_spaces_are_written() {
        // "I like studying Chinese", "the cat drinks milk", "Grandmother lives in Kyoto".
        assert!(content_terms("我喜欢学习中文").contains(&"学习".to_owned()));
        assert_eq!(content_terms("แมวดื่มนม"), ["แมว", "ดื่ม", "นม"]);
        assert!(content_terms("祖母は京都に住んでいます").contains(&"京都".to_owned()));
        assert!(content_terms("sim 学校 42").ends_with(&["42".to_owned()]));
    }

    #[test]
    fn vowel_signs_stay_and_accents_go() {
        assert_eq!(content_terms("किताब कताब").len(), 2);
        assert_ne!(fold("किताब"), fold("कताब"), "vowel signs tell Hindi words apart");
        assert_eq!(fold("كِتَاب"), fold("كتاب"), "vowel points do not tell Arabic words apart");
        assert_eq!(fold("Éclair"), "eclair");
    }
}
