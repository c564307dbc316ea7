//! Claims of doses: "Mum takes 50 mg of losartan", "I'm on levothyroxine, 75 mcg". The medicine is the attribute of
//! whoever takes it.

use super::clause::{self, Mood, SPEAKER, Subject};
use super::lists::{ADVERBS, AUXILIARIES, TIMES, VALUE_ENDS};
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
const TAKING: [&str; 12] =
    ["take", "takes", "taking", "prescribed", "put", "gave", "gives", "get", "gets", "got", "inject", "injects"];
/// Words by which a dose is one of several.
const ONE_OF_SEVERAL: [&str; 16] = [
    "lunch",
    "dinner",
    "breakfast",
    "noon",
    "night",
    "evening",
    "bedtime",
    "also",
    "another",
    "extra",
    "more",
    "when",
    "before",
    "after",
    "too",
    "additional",
];
/// Second words of medicines.
const SALTS: [&str; 10] =
    ["carbonate", "citrate", "sulphate", "sulfate", "fumarate", "gluconate", "acid", "chloride", "oxide", "oil"];
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
    let (medicine, end) = match (medicine_after(words, unit + 1), medicine_before(words, number)) {
        (Some(after), _) => after,
        (None, Some(medicine)) => (medicine, unit + 1),
        (None, None) => return,
    };
    if is_one_of_several(words) {
        return;
    }
    let text = match words[number].text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',')) {
        Some(at) => format!("{} {}", &words[number].text[..at], &words[number].text[at..]),
        None => format!("{} {}", words[number].written, words[unit].written),
    };
    let Some(verb) = verb_of(words, number) else {
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
    let Some(subject) = who_takes(words, verb, number, before.subject) else { return };
    found.push(Found { is_event: true, ..Found::stated(subject, medicine, text, verb..end) });
}

/// Returns the index of the verb of a dose: "takes 50 mg", "put me on 50 mg", "I'm on 50 mg".
fn verb_of(words: &[Word], number: usize) -> Option<usize> {
    let near = number.saturating_sub(APART_MAX)..number;
    let verb = near.clone().rev().find(|at| TAKING.contains(&words[*at].text.as_str()));
    verb.or_else(|| near.rev().find(|at| words[*at].text == "on" && clause::before(words, *at).has_be))
}

/// Returns who takes what stands after a verb. `None` if it is somebody whom the words do not name.
fn who_takes(words: &[Word], verb: usize, number: usize, subject: Subject) -> Option<Subject> {
    if !matches!(words[verb].text.as_str(), "put" | "gave" | "gives" | "prescribed") {
        return match subject {
            Subject::Missing => None,
            subject => Some(subject),
        };
    }
    // "The doctor put me on 50 mg", "the doctor put my husband on 10 mg".
    let object_end = (verb + 1..number).find(|at| words[*at].text == "on").unwrap_or(number);
    let object = &words[verb + 1..object_end];
    match object {
        [word] => match word.text.as_str() {
            "me" | "us" => Some(Subject::Speaker),
            "him" | "her" | "them" => Some(Subject::Last),
            _ if word.capital => Some(Subject::Named(word.written.clone())),
            _ => None,
        },
        [my, relation] if my.text == "my" => Some(Subject::Named(format!("{SPEAKER}'s {}", relation.text))),
        [the, thing] if the.text == "the" => Some(Subject::Named(thing.text.clone())),
        _ => None,
    }
}

/// Whether a sentence gives one dose of several: for a time of the day, a day or an occasion, or in addition to another.
fn is_one_of_several(words: &[Word]) -> bool {
    words.iter().any(|word| {
        let day = word.text.trim_end_matches('s');
        ONE_OF_SEVERAL.contains(&word.text.as_str()) || day.ends_with("day") && TIMES.has(day)
    })
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

/// Reads "of losartan" or "losartan" after a dose. Returns the medicine and the index after it.
fn medicine_after(words: &[Word], begin: usize) -> Option<(String, usize)> {
    let is_apart = begin > 0 && words[begin - 1].after != Break::None;
    let of = usize::from(words.get(begin)?.text == "of");
    let first = words.get(begin + of)?;
    if is_apart || !is_medicine(first) {
        return None;
    }
    let (second, end) = (words.get(begin + of + 1), begin + of + 1);
    match second.filter(|second| first.after == Break::None && continues_medicine(second)) {
        Some(second) => Some((format!("{} {}", first.text, second.text), end + 1)),
        None => Some((first.text.clone(), end)),
    }
}

/// Reads "losartan" before a dose: "losartan 50 mg", "losartan, 50 mg".
fn medicine_before(words: &[Word], number: usize) -> Option<String> {
    let last = words.get(number.checked_sub(1)?)?;
    if last.after == Break::Clause {
        return None;
    }
    let first = number.checked_sub(2).map(|at| &words[at]).filter(|first| first.after == Break::None);
    match first {
        Some(first) if is_medicine(first) && continues_medicine(last) => Some(format!("{} {}", first.text, last.text)),
        _ => is_medicine(last).then(|| last.text.clone()),
    }
}

/// Whether a word is the second one of a medicine: "vitamin D", "calcium carbonate".
fn continues_medicine(word: &Word) -> bool {
    let is_letter = word.capital && word.text.len() <= 3 && word.text != "i";
    is_letter || SALTS.contains(&word.text.as_str())
}

/// Whether a unit, or a number with it, measures nothing but medicines.
fn is_of_medicine(unit: &str) -> bool {
    ["mg", "mcg", "µg", "iu"].iter().any(|measure| unit.ends_with(measure))
}

/// Whether a word may be the name of a medicine: a noun, and none that says how often or in which form.
fn is_medicine(word: &Word) -> bool {
    let is_plain = word.text.len() > 4 && word.text.chars().all(|c| c.is_alphabetic() || c == '-');
    let is_function = is_stop_word(&word.text) || VALUE_ENDS.has(&word.text) || ADVERBS.has(&word.text);
    let is_other =
        matches!(word.text.as_str(), "daily" | "twice" | "every" | "morning" | "evening" | "night" | "water");
    is_plain && !is_function && !is_other && !is_unit(&word.text) && !AUXILIARIES.has(&word.text)
}
