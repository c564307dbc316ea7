//! The words of a sentence: folded, with contractions written out.

use std::ops::Range;

use crate::tokenize::fold;

/// What follows a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Break {
    /// The next word.
    None,
    /// A comma.
    Comma,
    /// A mark that ends a clause: a semicolon, a colon, a dash, a parenthesis, the end of a sentence.
    Clause,
}

/// A word of a sentence.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// The word, folded: "don't" is two words, "do" and "not".
    pub(super) text: String,
    /// The word as it is written.
    pub(super) written: String,
    /// Its bytes in the sentence, without punctuation around it.
    pub(super) range: Range<usize>,
    /// Whether it begins with a capital letter.
    pub(super) capital: bool,
    /// Whether it ends in "'s", which is not part of `text`: "Ana's".
    pub(super) possessive: bool,
    /// What follows it.
    pub(super) after: Break,
}

/// Words after which "'s" stands for "is".
const IS_AFTER: [&str; 13] =
    ["it", "he", "she", "that", "there", "here", "what", "who", "where", "this", "how", "when", "everything"];

/// Words with an apostrophe that are written without one.
const IRREGULAR: [(&str, &str, &str); 6] = [
    ("won't", "will", "not"),
    ("can't", "can", "not"),
    ("cannot", "can", "not"),
    ("gonna", "going", "to"),
    ("let's", "let", "us"),
    ("ain't", "is", "not"),
];

/// Splits a sentence into words. Text between quotation marks is left out, because it may be somebody else's.
pub(super) fn split(sentence: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut quoted = false;
    let mut at = 0;
    for raw in sentence.split_inclusive(char::is_whitespace) {
        let begin = at;
        at += raw.len();
        let raw = raw.trim_end();
        let opens = raw.starts_with(['"', '“', '„', '«']);
        let closes =
            raw.trim_end_matches(['.', ',', '!', '?', ';', ':']).ends_with(['"', '”', '“', '»']) && raw.len() > 1;
        if opens {
            quoted = true;
        }
        if quoted {
            quoted = !closes;
            if let Some(last) = words.last_mut() {
                last.after = Break::Clause;
            }
            continue;
        }
        push(&mut words, sentence, begin, raw);
    }
    if let Some(last) = words.last_mut() {
        last.after = Break::Clause;
    }
    with_contracted_verbs(&words)
}

/// Writes out "'s" where it stands for "is" or "has": "my number's 555", "Ana's moved".
fn with_contracted_verbs(words: &[Word]) -> Vec<Word> {
    let mut written = Vec::with_capacity(words.len());
    for index in 0..words.len() {
        let mut word = words[index].clone();
        let verb = match words.get(index + 1) {
            Some(next) if word.possessive && word.after == Break::None => verb_before(&next.text),
            _ => None,
        };
        let Some(verb) = verb else {
            written.push(word);
            continue;
        };
        word.possessive = false;
        let (range, text) = (word.range.clone(), verb.to_owned());
        written.push(word);
        let (written_as, after) = (text.clone(), Break::None);
        written.push(Word { text, written: written_as, range, capital: false, possessive: false, after });
    }
    written
}

/// Returns the verb that "'s" stands for before a word; `None` if it is a possessive.
fn verb_before(next: &str) -> Option<&'static str> {
    let begins_value = next.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'$' | b'#'));
    if begins_value || IS_BEFORE.contains(&next) || CONTINUOUS.contains(&next) {
        return Some("is");
    }
    if HAS_BEFORE.contains(&next) { Some("has") } else { None }
}

/// Abbreviations before a name.
const TITLES: [&str; 10] = ["Dr", "Mr", "Mrs", "Ms", "Prof", "St", "M", "Sr", "Sra", "Fr"];

/// Words before which "'s" stands for "is".
const IS_BEFORE: [&str; 26] = [
    "a",
    "an",
    "the",
    "now",
    "at",
    "in",
    "on",
    "not",
    "still",
    "called",
    "due",
    "back",
    "no",
    "currently",
    "only",
    "just",
    "officially",
    "down",
    "up",
    "live",
    "done",
    "blocked",
    "with",
    "my",
    "dating",
    "about",
];

/// Verbs before which "'s" stands for "is".
const CONTINUOUS: [&str; 26] = [
    "working",
    "living",
    "moving",
    "dating",
    "seeing",
    "staying",
    "studying",
    "learning",
    "playing",
    "driving",
    "going",
    "running",
    "leaving",
    "joining",
    "starting",
    "doing",
    "eating",
    "getting",
    "looking",
    "using",
    "teaching",
    "coming",
    "listening",
    "hosting",
    "taking",
    "having",
];

/// Words before which "'s" stands for "has".
const HAS_BEFORE: [&str; 18] = [
    "moved", "left", "joined", "started", "got", "gone", "become", "changed", "switched", "been", "quit", "taken",
    "turned", "given", "stopped", "already", "recently", "finally",
];

/// Adds the words of a text between two white spaces.
fn push(words: &mut Vec<Word>, sentence: &str, begin: usize, raw: &str) {
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '$' | '€' | '£' | '#' | '@' | '+');
    let trimmed_start = raw.trim_start_matches(|c: char| !is_inner(c));
    let begin = begin + raw.len() - trimmed_start.len();
    let trimmed = trimmed_start.trim_end_matches(|c: char| !is_inner(c) && c != '%');
    let after = match &trimmed_start[trimmed.len()..] {
        // "My dentist is Dr. Okonjo."
        "." if TITLES.contains(&trimmed) => Break::None,
        tail if tail.contains([';', ':', ')', '(', '!', '?', '—', '–', '…', '.']) => Break::Clause,
        tail if tail.contains(',') => Break::Comma,
        _ => Break::None,
    };
    let opens_clause = raw.starts_with(['(', '—', '–', '-']);
    if (opens_clause || trimmed.is_empty())
        && let Some(last) = words.last_mut()
        && raw.contains(['(', '—', '–', '-', ';', ':', ')'])
    {
        last.after = Break::Clause;
    }
    if trimmed.is_empty() {
        return;
    }
    let range = begin..begin + trimmed.len();
    debug_assert_eq!(&sentence[range.clone()], trimmed);
    let capital = trimmed.chars().next().is_some_and(char::is_uppercase);
    let text = fold(trimmed).replace('’', "'");
    let (first, second, possessive) = expand(&text);
    let has_second = second.is_some();
    let first_after = if has_second { Break::None } else { after };
    let written = match possessive {
        true => trimmed.trim_end_matches(['s', '’', '\'']).to_owned(),
        false => trimmed.to_owned(),
    };
    words.push(Word { text: first, written, range: range.clone(), capital, possessive, after: first_after });
    if let Some(second) = second {
        words.push(Word { written: second.clone(), text: second, range, capital: false, possessive: false, after });
    }
}

/// Writes out a contraction. Returns one or two words, and whether the first is a possessive form.
fn expand(text: &str) -> (String, Option<String>, bool) {
    for (contracted, first, second) in IRREGULAR {
        if text == contracted {
            return (first.to_owned(), Some(second.to_owned()), false);
        }
    }
    let endings = [("n't", "not"), ("'m", "am"), ("'re", "are"), ("'ve", "have"), ("'ll", "will"), ("'d", "would")];
    for (ending, second) in endings {
        if let Some(first) = text.strip_suffix(ending) {
            return (first.to_owned(), Some(second.to_owned()), false);
        }
    }
    if let Some(first) = text.strip_suffix("'s") {
        if IS_AFTER.contains(&first) {
            return (first.to_owned(), Some("is".to_owned()), false);
        }
        return (first.to_owned(), None, true);
    }
    match text {
        "im" => ("i".to_owned(), Some("am".to_owned()), false),
        "ive" => ("i".to_owned(), Some("have".to_owned()), false),
        "dont" => ("do".to_owned(), Some("not".to_owned()), false),
        _ => (text.to_owned(), None, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sentence: &str) -> Vec<String> {
        split(sentence).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn contractions_are_written_out_and_quotations_left_out() {
        assert_eq!(
            texts("I don't work there, she's in Oslo."),
            ["i", "do", "not", "work", "there", "she", "is", "in", "oslo"]
        );
        assert_eq!(texts("Tom wrote \"I moved to Rome\" once"), ["tom", "wrote", "once"]);
        let words = split("Ana's gym (the old one) is v2.1; fine");
        assert!(words[0].possessive && words[0].text == "ana");
        assert_eq!(words[1].after, Break::Clause);
        assert_eq!(words[6].text, "v2.1");
        assert_eq!(words[6].after, Break::Clause);
    }
}
