//! Claims by the form of the value alone: addresses of e-mail, telephone numbers, ages, ports.

use crate::claims::Polarity;

use super::clause::{self, Mood, Subject};
use super::numbers;
use super::sentence::{Found, Sentence};
use super::words::{Break, Word};

/// Digits of a telephone number.
const PHONE_DIGITS_MIN: usize = 7;
const PHONE_DIGITS_MAX: usize = 15;
/// Words by which somebody says how to be reached.
const REACHING: [&str; 17] = [
    "number", "call", "text", "reach", "phone", "cell", "mobile", "ring", "dial", "whatsapp", "contact", "write",
    "mail", "email", "get", "mine", "on",
];
/// Ages of people.
const AGES: std::ops::RangeInclusive<u32> = 1..=110;

/// Adds the claims that the forms of values in a sentence show.
pub(super) fn find(sentence: &Sentence<'_>, found: &mut Vec<Found>) {
    for index in 0..sentence.words.len() {
        find_email(sentence, index, found);
        find_phone(sentence, index, found);
        find_age(sentence, index, found);
    }
}

/// Whether the speaker says something about themselves before a word.
fn is_own(words: &[Word], index: usize) -> bool {
    let own = words[..index].iter().any(|word| matches!(word.text.as_str(), "my" | "me" | "mine" | "i"));
    let of_others = words[..index].windows(2).any(|pair| pair[0].text == "of" && pair[1].text == "my")
        || words[..index]
            .iter()
            .any(|word| word.possessive || matches!(word.text.as_str(), "his" | "her" | "their" | "hers" | "theirs"));
    own && !of_others && !clause::is_unreal(words, index)
}

fn positive(subject: Subject, attribute: &str, value: &str, at: usize, end: usize) -> Found {
    Found {
        subject,
        attribute: attribute.to_owned(),
        value: value.to_owned(),
        polarity: Polarity::Positive,
        is_event: false,
        is_future: false,
        at,
        end,
    }
}

fn find_email(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let word = &sentence.words[index];
    let Some((name, host)) = word.text.split_once('@') else { return };
    let is_announced =
        sentence.words[..index].iter().all(|word| matches!(word.text.as_str(), "it" | "is" | "now" | "new" | "use"));
    if name.is_empty() || !host.contains('.') {
        return;
    }
    let is_of_another = sentence.words[..index].iter().any(|word| matches!(word.text.as_str(), "he" | "she"));
    if is_of_another && !clause::is_unreal(&sentence.words, index) {
        found.push(positive(Subject::Last, "email", &word.written, index, index + 1));
    } else if !is_of_another && (is_announced || is_own(&sentence.words, index)) {
        found.push(positive(Subject::Speaker, "email", &word.written, index, index + 1));
    }
}

/// Reads digits in one or several words, after a word such as "call".
fn find_phone(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let is_first = index == 0 || !is_digits(&words[index - 1]);
    if !is_first || !is_digits(&words[index]) {
        return;
    }
    let (mut end, mut digits) = (index, 0);
    while end < words.len() && is_digits(&words[end]) {
        digits += words[end].text.bytes().filter(u8::is_ascii_digit).count();
        end += 1;
        if words[end - 1].after != Break::None {
            break;
        }
    }
    let is_phone = (PHONE_DIGITS_MIN..=PHONE_DIGITS_MAX).contains(&digits);
    let is_reached = words[..index].iter().any(|word| REACHING.contains(&word.text.as_str()));
    let (Some(first), Some(last)) = (words.get(index), words.get(end - 1)) else { return };
    if is_phone
        && is_reached
        && is_own(words, index)
        && let Some(text) = sentence.text.get(first.range.start..last.range.end)
    {
        found.push(positive(Subject::Speaker, "phone", text, index, end));
    }
}

fn is_digits(word: &Word) -> bool {
    let has_digit = word.text.bytes().any(|byte| byte.is_ascii_digit());
    has_digit
        && word
            .text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'(' | b')' | b'/' | b'.'))
}

/// Reads "I'm 39", "Tola is 9 years old".
fn find_age(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let written = words[index].text.as_str();
    let number = &numbers::read(&[written]).map_or(written.to_owned(), |(number, _)| number.to_string());
    let is_age = number.parse::<u32>().is_ok_and(|age| AGES.contains(&age));
    if !is_age || index == 0 {
        return;
    }
    let verb = clause::before(words, index);
    let is_copula = verb.has_be && verb.mood == Mood::Fact && !words[..index].iter().any(|word| word.text == "was");
    let next = words.get(index + 1).filter(|_| words[index].after == Break::None);
    let in_years = next.is_some_and(|next| matches!(next.text.as_str(), "years" | "yrs" | "yo"));
    let old = words[index..].iter().take(4).any(|word| word.text == "old");
    let ends = match next {
        None => true,
        Some(next) => {
            matches!(next.text.as_str(), "now" | "and" | "so" | "already" | "today" | "but" | "this" | "these")
        }
    };
    let is_person = match &verb.subject {
        Subject::Speaker | Subject::Last => true,
        Subject::Named(name) => {
            name.starts_with(char::is_uppercase) || (name.starts_with(clause::SPEAKER) && clause::is_relation(name))
        }
        Subject::Missing => false,
    };
    if is_copula && is_person && (ends || (in_years && old)) {
        found.push(positive(verb.subject, "age", number, index, index + 1));
    }
}
