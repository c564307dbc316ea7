//! Ends of things in general: "I no longer have a car", "we broke up", "I sold my Golf", "I cancelled my membership".

use super::attributes;
use super::clause::{self, Mood, Owner, Subject};
use super::lists::{ADVERBS, PETS, TIMES};
use super::sentence::{Found, Sentence};
use super::words::{Break, Word};

/// Verbs that end what the speaker has, before "my".
const ENDING: [&str; 7] = ["cancelled", "canceled", "cancel", "sold", "ended", "scrapped", "deleted"];

/// Adds the ends that a sentence states.
pub(super) fn find(sentence: &Sentence<'_>, found: &mut Vec<Found>) {
    let words = &sentence.words;
    for index in 0..words.len() {
        let text = words[index].text.as_str();
        let is_break_up = matches!(text, "broke" | "split" | "breaking")
            && words.get(index + 1).is_some_and(|next| next.text == "up");
        let is_divorce =
            text == "divorced" && clause::before(words, index).has_be | (index > 0 && words[index - 1].text == "got");
        if is_break_up || is_divorce {
            find_separation(words, index, found);
        }
        if matches!(text, "died" | "dies") || (text == "passed" && is_followed_by(words, index, "away")) {
            find_death(words, index, found);
        }
        if matches!(text, "together" | "engaged" | "married" | "dating") {
            find_couple(words, index, found);
        }
        let is_riddance = text == "rid" && words.get(index + 1).is_some_and(|next| next.text == "of");
        if ENDING.contains(&text) || is_riddance {
            find_ended_thing(words, index, if is_riddance { index + 2 } else { index + 1 }, found);
        }
        if text == "have" && clause::before(words, index + 1).mood == Mood::Ended {
            find_ended_thing(words, index + 1, index + 1, found);
        }
    }
}

fn is_followed_by(words: &[Word], index: usize, next: &str) -> bool {
    words[index].after == Break::None && words.get(index + 1).is_some_and(|word| word.text == next)
}

/// Whether nothing but a day or an adverb follows a verb in its clause.
fn ends_soon(words: &[Word], verb: usize) -> bool {
    let mut at = verb + usize::from(is_followed_by(words, verb, "away"));
    while words[at].after == Break::None {
        at += 1;
        let Some(word) = words.get(at) else { return true };
        let is_day = TIMES.has(&word.text) || ADVERBS.has(&word.text);
        if !is_day && !matches!(word.text.as_str(), "on" | "this" | "last" | "in" | "yesterday" | "today" | "night") {
            return false;
        }
    }
    true
}

/// Reads "Rufus died": whoever had an animal of that name has it no more.
fn find_death(words: &[Word], index: usize, found: &mut Vec<Found>) {
    let verb = clause::before(words, index);
    if verb.mood != Mood::Fact {
        return;
    }
    match verb.subject {
        // "Bella died laughing", "Fred died on me, the old laptop".
        Subject::Named(name)
            if name.starts_with(char::is_uppercase) && !name.contains('\'') && ends_soon(words, index) =>
        {
            found.push(Found::ended(Subject::Speaker, "pet", name, index));
        }
        Subject::Named(name) => {
            let animal = name.strip_prefix(&format!("{}'s ", clause::SPEAKER)).unwrap_or_default();
            if PETS.has(animal) && ends_soon(words, index) {
                found.push(Found::ended(Subject::Speaker, "pet", animal.to_owned(), index));
            }
        }
        Subject::Speaker | Subject::Last | Subject::Missing => {}
    }
}

/// Reads "we broke up": the relationship ends, without the name of the partner.
fn find_separation(words: &[Word], index: usize, found: &mut Vec<Found>) {
    let verb = clause::before(words, index);
    if verb.mood != Mood::Fact {
        return;
    }
    // "I broke up the chocolate."
    if words.get(index + 2).is_some_and(|word| matches!(word.text.as_str(), "the" | "a" | "my" | "some")) {
        return;
    }
    let names_partner = words[index..].iter().take(4).any(|word| word.text == "with");
    if names_partner {
        return;
    }
    let mut subject = verb.subject;
    if index > 1 && words[..index].iter().any(|word| word.text == "i") {
        subject = Subject::Speaker;
    }
    if matches!(subject, Subject::Speaker | Subject::Named(_)) && subject != Subject::Named(String::new()) {
        found.push(Found::ended(subject, "partner", String::new(), index));
    }
}

/// Reads "Liam and I are together".
fn find_couple(words: &[Word], index: usize, found: &mut Vec<Found>) {
    let Some(and) = words[..index].iter().position(|word| word.text == "and") else { return };
    let is_couple = and > 0 && words[and - 1].capital && words.get(and + 1).is_some_and(|word| word.text == "i");
    if !is_couple || clause::before(words, index).mood != Mood::Fact {
        return;
    }
    found.push(Found {
        is_event: true,
        ..Found::stated(Subject::Speaker, "partner".to_owned(), words[and - 1].written.clone(), index..index + 1)
    });
}

/// Reads "sold my car", "cancelled the gym membership".
fn find_ended_thing(words: &[Word], verb: usize, begin: usize, found: &mut Vec<Found>) {
    let before = clause::before(words, verb);
    let is_speaker = matches!(before.subject, Subject::Speaker | Subject::Missing);
    if !matches!(before.mood, Mood::Fact | Mood::Ended) || !is_speaker {
        return;
    }
    let mut end = begin + 1;
    while end < words.len() && end < begin + 4 && words[end - 1].after == Break::None && !ends_noun(&words[end]) {
        end += 1;
    }
    if end > words.len() {
        return;
    }
    // The longest noun that is an attribute: "my gym membership", else "my gym".
    for end in (begin + 1..=end).rev() {
        let Some(noun) = clause::noun_with_owner(&words[..end.min(words.len())], end.min(words.len())) else {
            continue;
        };
        let is_own = noun.owner == Owner::Speaker || (noun.owner == Owner::Shared && before.mood == Mood::Fact);
        if noun.begin != begin || !is_own {
            continue;
        }
        let attribute = match attributes::named(&noun.name) {
            Some(attribute) => attribute.name.to_owned(),
            None => noun.name,
        };
        found.push(Found::ended(Subject::Speaker, &attribute, String::new(), verb));
        return;
    }
}

fn ends_noun(word: &Word) -> bool {
    super::lists::VALUE_ENDS.has(&word.text) || crate::tokenize::is_stop_word(&word.text)
}
