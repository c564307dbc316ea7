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

/// Signs of currencies, with the name in words.
const CURRENCIES: [(char, &str); 3] = [('$', "dollar"), ('€', "euro"), ('£', "pound")];
/// Names of units, with the one that is compared.
const UNITS: [(&str, &str); 18] = [
    ("dollar", "dollar"),
    ("buck", "dollar"),
    ("euro", "euro"),
    ("eur", "euro"),
    ("pound", "pound"),
    ("quid", "pound"),
    ("milligram", "mg"),
    ("microgram", "mcg"),
    ("µg", "mcg"),
    ("μg", "mcg"),
    ("ug", "mcg"),
    ("gram", "g"),
    ("kilo", "kg"),
    ("kilogram", "kg"),
    ("kilometre", "km"),
    ("kilometer", "km"),
    ("minute", "min"),
    ("hour", "h"),
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
            push_telling(words[at], &mut telling);
        }
        at += 1;
    }
    if telling.is_empty() { words.join(" ") } else { telling.join(" ") }
}

/// Adds a word of a value in the form in which it is compared: numbers without separators and zeros behind the point,
/// amounts of money with the name of their currency, units by one name.
fn push_telling<'a>(word: &'a str, telling: &mut Vec<Cow<'a, str>>) {
    if !word.starts_with(|c: char| c.is_ascii_digit() || CURRENCIES.iter().any(|(sign, _)| *sign == c)) {
        let singular = word.strip_suffix('s').unwrap_or(word);
        match UNITS.iter().find(|(name, _)| *name == word || *name == singular) {
            Some((_, unit)) => telling.push((*unit).into()),
            None => telling.push(word.into()),
        }
        return;
    }
    let mut number = word;
    for (sign, currency) in CURRENCIES {
        if let Some(rest) = number.strip_prefix(sign).or_else(|| number.strip_suffix(sign)) {
            telling.push(currency.into());
            number = rest;
        }
    }
    let end = number.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | ':')).unwrap_or(number.len());
    let (digits, rest) = number.split_at(end);
    telling.push(plain_number(digits).into());
    // "12th" is 12, and "40mg" is 40 mg.
    if !rest.is_empty() && !matches!(rest, "st" | "nd" | "rd" | "th") {
        push_telling(rest, telling);
    }
}

/// Returns a number without separators of thousands, and without zeros behind the point or for the minutes.
fn plain_number(digits: &str) -> String {
    let mut plain = digits.strip_suffix(":00").unwrap_or(digits).to_owned();
    if let Some((_, thousands)) = plain.rsplit_once(',')
        && thousands.len() == 3
    {
        plain.retain(|c| c != ',');
    }
    if let Some((whole, decimals)) = plain.split_once('.')
        && decimals.bytes().all(|digit| digit == b'0')
        && decimals.len() < 3
    {
        plain = whole.to_owned();
    }
    plain
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
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_compared_without_case_articles_and_punctuation() {
        assert_eq!(subject("The Billing Service"), "billing service");
        assert_eq!(subject("Ana's sister"), "ana's sister");
        assert_eq!(attribute("Wi-Fi password"), "wi-fi password");
        assert_eq!(value("the \"Acme\" in Berlin."), "acme berlin");
        assert_eq!(value("6:30 pm,"), "6:30 pm");
        assert_eq!(value("seven dogs"), "7 dogs");
        assert_eq!(value("four hundred euros"), "400 euro");
        for (one, other) in [
            ("1,000 mg", "1000mg"),
            ("$40", "40 dollars"),
            ("75 µg", "75 micrograms"),
            ("50.0 kg", "50 kilos"),
            ("9:00", "9"),
            ("June 12th", "June 12"),
        ] {
            assert_eq!(value(one).split(' ').collect::<BTreeSet<_>>(), value(other).split(' ').collect(), "{one}");
        }
        assert_ne!(value("2.10"), value("2.1"), "versions");
        assert_eq!(value("The"), "the");
    }
}
