//! Corrections of the speaker's last claim: "sorry, I meant 7 pm", "no wait, it's Tuesday", "Oslo, not Bergen".

use crate::claims::Claim;

use super::frames::Shape;
use super::names;
use super::sentence::Sentence;
use super::values;
use super::words::Word;

/// Phrases that begin a correction, as words.
const MARKS: [&[&str]; 22] = [
    &["i", "meant"],
    &["i", "mean"],
    &["make", "that"],
    &["scratch", "that"],
    &["correction"],
    &["my", "mistake"],
    &["my", "bad"],
    &["no", "wait"],
    &["wait", "no"],
    &["oops"],
    &["typo"],
    &["i", "misspoke"],
    &["i", "mistyped"],
    &["should", "be"],
    &["should", "have", "said"],
    &["sorry"],
    &["actually", "it", "is"],
    &["it", "is", "actually"],
    &["wait"],
    &["strike", "that"],
    &["let", "me", "correct"],
    &["i", "got", "that", "wrong"],
];
/// Words between a mark and the value.
const FILLERS: [&str; 24] = [
    "it", "is", "was", "i", "meant", "mean", "sorry", "to", "say", "actually", "no", "wait", "that", "the", "at", "in",
    "on", "for", "should", "be", "really", "make", "from", "its",
];

/// Returns the value that a sentence puts in the place of a claim's. `None` if the sentence does not correct it.
pub(super) fn of(sentence: &Sentence<'_>, claim: &Claim) -> Option<String> {
    let words = &sentence.words;
    let mut begin = None;
    for mark in MARKS {
        if let Some(at) = position(words, mark) {
            begin = begin.max(Some(at + mark.len()));
        }
    }
    let denied = denied_value(words);
    let mut begin = match (begin, denied) {
        (Some(begin), _) => begin,
        // "Oslo, not Bergen" names what it corrects.
        (None, Some(denied)) if is_value_at(words, denied, &claim.value) => 0,
        _ => return None,
    };
    while words.get(begin).is_some_and(|word| FILLERS.contains(&word.text.as_str())) {
        begin += 1;
    }
    let end = match denied {
        Some(denied) if denied > begin + 1 => denied - 1,
        _ => words.len(),
    };
    let value = values::read(sentence.text, &words[..end], begin, shape_of(claim), &[])?;
    let is_other = names::value(&value.text) != names::value(&claim.value);
    let is_phrase = value.words.len() > 2 && !value.text.chars().any(|c| c.is_ascii_digit() || c.is_uppercase());
    if is_other && !is_phrase && is_alike(&value.text, &claim.value) { Some(value.text) } else { None }
}

/// Returns the index of the first of some consecutive words.
fn position(words: &[Word], phrase: &[&str]) -> Option<usize> {
    (0..words.len()).find(|at| {
        let rest = &words[*at..];
        rest.len() >= phrase.len() && phrase.iter().zip(rest).all(|(wanted, word)| *wanted == word.text)
    })
}

/// Returns the index after "not", if a value follows.
fn denied_value(words: &[Word]) -> Option<usize> {
    let not = words.iter().position(|word| word.text == "not")?;
    if not + 1 < words.len() { Some(not + 1) } else { None }
}

/// Whether the words from an index on begin with a value.
fn is_value_at(words: &[Word], begin: usize, value: &str) -> bool {
    let value = names::value(value);
    let mut wanted = value.split(' ');
    let Some(first) = wanted.next() else { return false };
    words[begin..].iter().take(3).any(|word| word.text == first)
}

fn shape_of(claim: &Claim) -> Shape {
    if claim.value.bytes().any(|byte| byte.is_ascii_digit()) { Shape::Number } else { Shape::Any }
}

/// Whether two values can be values of one attribute: both with numbers, or both with capitals, or neither.
fn is_alike(a: &str, b: &str) -> bool {
    let has_number = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
    let has_capital = |text: &str| text.chars().any(char::is_uppercase);
    (has_number(a) == has_number(b)) && (has_number(a) || has_capital(a) == has_capital(b))
}
