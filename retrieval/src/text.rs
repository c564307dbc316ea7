//! Words: the one way in which memories and queries become terms.
//!
//! Words by Unicode's segmentation (UAX #29), lowercase, without accents, without English stop words, stemmed as
//! English. Scripts without spaces come out a character or a syllable at a time, which still matches.

use tantivy::tokenizer::{Language, Stemmer, StopWordFilter, TextAnalyzer, Token, TokenStream, Tokenizer};
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

/// Lowercase without accents: the form in which words are compared.
pub fn fold(word: &str) -> String {
    let decomposed = word.nfd().filter(|c| !unicode_normalization::char::is_combining_mark(*c));
    decomposed.flat_map(char::to_lowercase).map(|c| if c == '’' { '\'' } else { c }).collect()
}

/// The stemmed terms of a text that are no stop words, in order, with repeats.
pub fn content_terms(text: &str) -> Vec<String> {
    let mut analyzer = analyzer();
    let mut stream = analyzer.token_stream(text);
    let mut terms = Vec::new();
    while let Some(token) = stream.next() {
        terms.push(token.text.clone());
    }
    terms
}

/// The analyzer that the text index and the queries share.
pub(crate) fn analyzer() -> TextAnalyzer {
    let stop = StopWordFilter::remove(STOP_WORDS.split_whitespace().map(str::to_owned));
    TextAnalyzer::builder(Words).filter(stop).filter(Stemmer::new(Language::English)).build()
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
        let tokens: Vec<Token> = words
            .enumerate()
            .map(|(position, (start, word))| Token {
                offset_from: start,
                offset_to: start + word.len(),
                position,
                text: fold(word),
                position_length: 1,
            })
            .collect();
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
        assert!(content_terms("the of and").is_empty());
        assert!(content_terms(&"x".repeat(100)).is_empty());
    }
}
