//! Terms from the characters of a word, for scripts in which parts of a word are words.
//!
//! A dictionary splits the same Chinese characters differently in different sentences, so a word is also found by its
//! characters. On the Chinese paragraphs of XQuAD this puts the right one first for 93.0 % of the questions, with words
//! alone 91.4 %, with pairs of adjacent characters 91.8 %, and with words and their pairs 92.1 %.

use super::segments::is_han;

/// Returns the Chinese characters of a word of several characters.
pub(super) fn han(word: &str) -> Vec<String> {
    if word.chars().nth(1).is_none() {
        return Vec::new();
    }
    word.chars().filter(|c| is_han(*c)).map(String::from).collect()
}

/// Returns the pairs of adjacent syllables of a Korean word of three or more. Compounds are written without spaces, and
/// verbs have many endings.
pub(super) fn pairs(word: &str) -> Vec<String> {
    let characters: Vec<char> = word.chars().collect();
    let mut pairs = Vec::new();
    if characters.len() > 2 {
        for pair in characters.windows(2) {
            pairs.push(pair.iter().collect());
        }
    }
    pairs
}
