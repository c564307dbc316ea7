//! Claims of amounts: budgets, payments, savings, and how long something takes.

use super::attributes;
use super::clause::{self, Mood, SPEAKER, Subject};
use super::frames::Shape;
use super::lists::SLOTS;
use super::named::subject_noun;
use super::sentence::{Found, Sentence};
use super::values::{self, is_number};

/// Adds the amounts of a sentence.
pub(super) fn find(sentence: &Sentence<'_>, found: &mut Vec<Found>) {
    for index in 0..sentence.words.len() {
        match sentence.words[index].text.as_str() {
            "of" => find_amount(sentence, index, found),
            "pay" | "pays" | "paying" => find_payment(sentence, index, found),
            "takes" => find_duration(sentence, index, found),
            "saved" => find_savings(sentence, index, found),
            _ => {}
        }
    }
}

/// Reads "a budget of 40,000 euros for the kiosk", "the kiosk has a budget of 40,000 euros".
fn find_amount(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let Some(noun) = index.checked_sub(1).and_then(|at| words.get(at)) else { return };
    let is_slot = SLOTS.has(&noun.text) || attributes::named(&noun.text).is_some();
    let is_led =
        index > 1 && matches!(words[index - 2].text.as_str(), "a" | "the" | "an" | "new" | "total" | "personal");
    let begins_number = words.get(index + 1).is_some_and(is_number);
    if !is_slot || !is_led || !begins_number {
        return;
    }
    let Some(value) = values::read(sentence.text, words, index + 1, Shape::Number, &[]) else { return };
    let has = (0..index).rev().find(|at| matches!(words[*at].text.as_str(), "has" | "have" | "got"));
    if clause::before(words, has.unwrap_or(index)).mood != Mood::Fact {
        return;
    }
    let mut subject = match has {
        Some(has) => clause::before(words, has).subject,
        None => Subject::Missing,
    };
    if words.get(value.words.end).is_some_and(|word| word.text == "for")
        && let Some(thing) = values::read(sentence.text, words, value.words.end + 1, Shape::Any, &sentence.dates)
    {
        subject = Subject::Named(thing.text);
    }
    let is_best = words[..index].windows(2).any(|pair| pair[0].text == "personal" && pair[1].text == "best");
    let attribute = match attributes::named(&noun.text) {
        _ if is_best => "personal best".to_owned(),
        Some(attribute) => attribute.name.to_owned(),
        None => noun.text.clone(),
    };
    found.push(Found::stated(subject, attribute, value.text, index..value.words.end));
}

/// Reads "I pay 14 dollars a month for Penwick".
fn find_payment(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    if clause::before(words, index).mood != Mood::Fact {
        return;
    }
    let Some(value) = values::read(sentence.text, words, index + 1, Shape::Number, &sentence.dates) else { return };
    let thing = words[index..].iter().position(|word| word.text == "for").map(|at| index + at + 1);
    let thing = thing.and_then(|at| values::read(sentence.text, words, at, Shape::Any, &sentence.dates));
    let subject = match thing {
        Some(thing) if words[thing.words.start - 1].text == "my" => {
            Subject::Named(format!("{SPEAKER}'s {}", thing.text))
        }
        Some(thing) => Subject::Named(thing.text),
        None => Subject::Named(String::new()),
    };
    found.push(Found::stated(subject, "price".to_owned(), value.text, index..value.words.end));
}

/// Reads "my commute takes 45 minutes".
fn find_duration(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let begins_number = words[index + 1..].iter().take(3).any(is_number);
    if !begins_number || clause::before(words, index).mood != Mood::Fact {
        return;
    }
    let Some(named) = subject_noun(words, index).filter(|named| named.subject == Subject::Speaker) else { return };
    let mut begin = index + 1;
    while begin < words.len() && matches!(words[begin].text.as_str(), "me" | "us" | "about" | "only") {
        begin += 1;
    }
    let Some(value) = values::read(sentence.text, words, begin, Shape::Number, &[]) else { return };
    found.push(Found::stated(named.subject, named.attribute, value.text, index..value.words.end));
}

/// Reads "I've saved $5,000".
fn find_savings(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let verb = clause::before(words, index);
    if verb.mood != Mood::Fact || !verb.is_perfect {
        return;
    }
    let is_up = words.get(index + 1).is_some_and(|word| word.text == "up");
    let begin = index + 1 + usize::from(is_up);
    let Some(value) = values::read(sentence.text, words, begin, Shape::Number, &sentence.dates) else { return };
    if words[value.words.clone()].iter().any(|word| is_currency(&word.text)) {
        let claimed = index..value.words.end;
        found.push(Found::stated(Subject::Speaker, "savings".to_owned(), value.text, claimed));
    }
}

/// Whether a word is an amount of money or its unit.
fn is_currency(word: &str) -> bool {
    word.starts_with(['$', '€', '£'])
        || matches!(word.trim_end_matches('s'), "dollar" | "euro" | "pound" | "franc" | "buck")
}
