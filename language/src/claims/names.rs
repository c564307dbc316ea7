//! Names of subjects and attributes and the words of values, in the form in which they are compared.

use std::borrow::Cow;

use crate::tokenize::fold;

use super::lists::FUNCTION_WORDS;
use super::numbers;

/// Words that do not tell two values apart.
const VALUE_FILLER: [&str; 22] = [
    "a", "an", "the", "my", "our", "his", "her", "their", "its", "called", "named", "in", "at", "on", "for", "to",
    "of", "der", "die", "das", "el", "la",
];

/// Returns a subject in the form in which subjects are compared.
pub fn subject(name: &str) -> String {
    let folded = fold(name);
    let words = plain_words(&folded);
    let words = match words.split_first() {
        Some((&"the", rest)) if !rest.is_empty() => rest,
        _ => &words,
    };
    words.join(" ")
}

/// Whether a folded word is an article or a preposition of a language other than English.
pub fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.has(word)
}

/// Returns an attribute in the form in which attributes are compared.
pub fn attribute(name: &str) -> String {
    let folded = fold(name);
    let mut words = plain_words(&folded);
    words.retain(|word| !is_function_word(word));
    words.join(" ")
}

/// Returns the words of a value that tell it apart from others. Never empty unless the value has no words.
pub fn value(text: &str) -> String {
    let folded = fold(text);
    let words = plain_words(&folded);
    let mut telling: Vec<Cow<'_, str>> = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        if let Some((number, length)) = numbers::read(&words[at..]) {
            telling.push(number.to_string().into());
            at += length;
            continue;
        }
        if !VALUE_FILLER.contains(&words[at]) {
            telling.push(words[at].into());
        }
        at += 1;
    }
    if telling.is_empty() { words.join(" ") } else { telling.join(" ") }
}

/// Returns the words of a folded text without the punctuation around them. Numbers keep what is inside of them.
fn plain_words(folded: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for word in folded.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '$' | '€' | '£' | '%' | '#' | '+'));
        if !word.is_empty() {
            words.push(word);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_case_articles_and_punctuation() {
        assert_eq!(subject("The Billing Service"), "billing service");
        assert_eq!(subject("Ana's sister"), "ana's sister");
        assert_eq!(attribute("Wi-Fi password"), "wi-fi password");
        assert_eq!(value("the \"Acme\" in Berlin."), "acme berlin");
        assert_eq!(value("6:30 pm,"), "6:30 pm");
        assert_eq!(value("seven dogs"), "7 dogs");
        assert_eq!(value("four hundred euros"), "400 euros");
        assert_eq!(value("The"), "the");
    }
}
