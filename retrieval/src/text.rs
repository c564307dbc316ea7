//! Words: the one way in which memories and queries become terms.
//!
//! Words by Unicode's segmentation (UAX #29), lowercase, without accents, without English stop words, irregular forms as
//! their base form, stemmed as English. Scripts without spaces come out a character or a syllable at a time, which still
//! matches.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

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
    let decomposed = word.nfd().filter(|c| !unicode_normalization::char::is_combining_mark(*c));
    decomposed.flat_map(char::to_lowercase).map(folded).collect()
}

/// Whether a folded word carries grammar and no subject.
pub fn is_stop_word(word: &str) -> bool {
    STOPS.contains(word)
}

/// Hands over the stemmed terms of a text that are no stop words, in order, with repeats.
pub(crate) fn for_each_term(text: &str, mut take: impl FnMut(&str)) {
    thread_local! {
        static ANALYZER: RefCell<TextAnalyzer> =
            RefCell::new(TextAnalyzer::builder(Words).filter(Stemmer::new(Language::English)).build());
    }
    ANALYZER.with_borrow_mut(|analyzer| {
        let mut stream = analyzer.token_stream(text);
        while let Some(token) = stream.next() {
            take(&token.text);
        }
    });
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
        let words = text.unicode_word_indices().filter(|(_, word)| word.len() <= TERM_BYTES_MAX);
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
        assert_eq!(content_terms("日本語 ok"), ["日", "本", "語", "ok"]);
        assert_eq!(content_terms("She bought; they went"), content_terms("buy go"));
        assert!(content_terms("the of and").is_empty());
        assert!(content_terms(&"x".repeat(100)).is_empty());
    }
}
