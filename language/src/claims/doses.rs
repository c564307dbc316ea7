//! Claims of doses: "Mum takes 50 mg of losartan", "I'm on levothyroxine, 75 mcg". The medicine is the attribute of
//! whoever takes it.

use super::clause::{self, Mood, Subject};
use super::lists::{ADVERBS, AUXILIARIES, VALUE_ENDS};
use super::sentence::{Found, Sentence};
use super::values::is_number;
use super::words::{Break, Word};
use crate::tokenize::is_stop_word;

/// Units of doses.
const UNITS: [&str; 16] = [
    "mg",
    "mcg",
    "µg",
    "ug",
    "g",
    "ml",
    "iu",
    "milligram",
    "microgram",
    "gram",
    "unit",
    "drop",
    "puff",
    "tablet",
    "pill",
    "capsule",
];
/// Verbs of taking and prescribing.
const TAKING: [&str; 13] =
    ["take", "takes", "taking", "on", "prescribed", "put", "gave", "gives", "get", "gets", "got", "inject", "injects"];
/// Words between the verb and the dose.
const APART_MAX: usize = 8;

/// Adds the doses of a sentence.
pub(super) fn find(sentence: &Sentence<'_>, found: &mut Vec<Found>) {
    for index in 0..sentence.words.len() {
        if is_number(&sentence.words[index]) {
            find_dose(sentence, index, found);
        }
    }
}

fn find_dose(sentence: &Sentence<'_>, number: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let Some(unit) = unit_of(words, number) else { return };
    let Some((medicine, end)) = medicine_after(words, unit + 1).or_else(|| medicine_before(words, number)) else {
        return;
    };
    let text = match words[number].text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',')) {
        Some(at) => format!("{} {}", &words[number].text[..at], &words[number].text[at..]),
        None => format!("{} {}", words[number].written, words[unit].written),
    };
    let mut near = number.saturating_sub(APART_MAX)..number;
    let Some(verb) = near.find(|at| TAKING.contains(&words[*at].text.as_str())) else {
        // "Underactive thyroid, levothyroxine 50 mcg every morning."
        let begins_clause = number > 0 && (number == 1 || words[number - 2].after != Break::None);
        if begins_clause && is_of_medicine(&words[unit].text) {
            found.push(Found::stated(Subject::Speaker, medicine, text, number..end));
        }
        return;
    };
    let before = clause::before(words, verb);
    if before.mood != Mood::Fact {
        return;
    }
    // "The doctor put me on 50 mg", "she gives him 50 mg".
    let is_given = matches!(words[verb].text.as_str(), "put" | "gave" | "gives" | "prescribed");
    let object = (verb..number).find_map(|at| object_of(&words[at]));
    let subject = match (is_given, object) {
        (_, Some(object)) => object,
        (true, None) => Subject::Speaker,
        (false, None) => before.subject,
    };
    let subject = if subject == Subject::Missing { Subject::Speaker } else { subject };
    found.push(Found { is_event: true, ..Found::stated(subject, medicine, text, verb..end) });
}

/// Returns the index of the unit of an amount: that of the number in "50mg", of the next word in "50 mg".
fn unit_of(words: &[Word], number: usize) -> Option<usize> {
    let attached = words[number].text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    if is_unit(attached) && attached.len() < words[number].text.len() {
        return Some(number);
    }
    let next = words.get(number + 1)?;
    (is_unit(&next.text) && words[number].after == Break::None).then_some(number + 1)
}

/// Whether a word is a unit of doses.
pub(super) fn is_unit(word: &str) -> bool {
    UNITS.contains(&word) || word.strip_suffix('s').is_some_and(|singular| UNITS.contains(&singular))
}

/// Whether a unit, or a number with it, measures nothing but medicines.
fn is_of_medicine(unit: &str) -> bool {
    ["mg", "mcg", "µg", "iu"].iter().any(|measure| unit.ends_with(measure))
}

/// Reads "of losartan" or "losartan" after a dose. Returns the medicine and the index after it.
fn medicine_after(words: &[Word], begin: usize) -> Option<(String, usize)> {
    let is_apart = begin > 0 && words[begin - 1].after != Break::None;
    let of = usize::from(words.get(begin)?.text == "of");
    let word = words.get(begin + of)?;
    (!is_apart && is_medicine(word)).then(|| (word.text.clone(), begin + of + 1))
}

/// Reads "losartan" before a dose: "losartan 50 mg", "losartan, 50 mg".
fn medicine_before(words: &[Word], number: usize) -> Option<(String, usize)> {
    let before = words.get(number.checked_sub(1)?)?;
    (before.after != Break::Clause && is_medicine(before)).then(|| (before.text.clone(), number + 2))
}

/// Whether a word may be the name of a medicine: a noun, and none that says how often or in which form.
fn is_medicine(word: &Word) -> bool {
    let is_plain = word.text.len() > 4 && word.text.chars().all(|c| c.is_alphabetic() || c == '-');
    let is_function = is_stop_word(&word.text) || VALUE_ENDS.has(&word.text) || ADVERBS.has(&word.text);
    let is_other =
        matches!(word.text.as_str(), "daily" | "twice" | "every" | "morning" | "evening" | "night" | "water");
    is_plain && !is_function && !is_other && !is_unit(&word.text) && !AUXILIARIES.has(&word.text)
}

/// Returns whom a pronoun in the object means.
fn object_of(word: &Word) -> Option<Subject> {
    match word.text.as_str() {
        "me" | "us" => Some(Subject::Speaker),
        "him" | "them" => Some(Subject::Last),
        _ => None,
    }
}
