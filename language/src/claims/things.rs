//! Claims about what a thing does: "our support line closes at 18:00", "the workshop takes place in Cardiff". The verb is
//! the attribute. Only names, numbers and times count as values, and only things as subjects: a person does the same
//! thing in several places.

use super::clause::{self, Mood, Noun, Owner, SPEAKER, Subject};
use super::frames::Shape;
use super::lists::{ADVERBS, AUXILIARIES};
use super::sentence::{Found, Sentence};
use super::values;
use super::words::Break;

/// Prepositions between verb and value.
const LEADS: [&str; 8] = ["at", "in", "on", "to", "with", "from", "until", "by"];
/// Verbs that say nothing that can change.
const NO_VERBS: [&str; 13] =
    ["is", "was", "has", "does", "goes", "needs", "wants", "says", "means", "looks", "sounds", "seems", "this"];

/// Adds the claims of verbs in the present whose subject is a thing.
pub(super) fn find(sentence: &Sentence<'_>, found: &mut Vec<Found>) {
    let words = &sentence.words;
    for index in 1..words.len() {
        let verb = &words[index];
        let is_verb = verb.text.len() > 3 && verb.text.ends_with('s') && !verb.text.ends_with("ss") && !verb.capital;
        let is_plain =
            !AUXILIARIES.has(&verb.text) && !ADVERBS.has(&verb.text) && !NO_VERBS.contains(&verb.text.as_str());
        if !is_verb || !is_plain || verb.after != Break::None || words[index - 1].after != Break::None {
            continue;
        }
        let mut noun_end = index;
        while noun_end > 0 && ADVERBS.has(&words[noun_end - 1].text) {
            noun_end -= 1;
        }
        let Some(noun) = clause::noun_with_owner(words, noun_end) else { continue };
        let Some(subject) = thing(noun) else { continue };
        if clause::before(words, index).mood != Mood::Fact {
            continue;
        }
        let mut begin = index + 1;
        let mut led = false;
        while let Some(word) = words.get(begin) {
            let is_lead = LEADS.contains(&word.text.as_str());
            let is_place = word.text == "place" && verb.text == "takes";
            if !is_lead && !is_place && !ADVERBS.has(&word.text) {
                break;
            }
            led |= is_lead;
            begin += 1;
        }
        if !led {
            continue;
        }
        let value = values::read(sentence.text, words, begin, Shape::Time, &[])
            .or_else(|| values::read(sentence.text, words, begin, Shape::Name, &sentence.dates));
        let Some(value) = value else { continue };
        found.push(Found::stated(Subject::Named(subject), base_form(&verb.text), value.text, index..value.words.end));
    }
}

/// Returns the name of a thing; `None` for a person.
fn thing(noun: Noun) -> Option<String> {
    let is_person = clause::is_relation(&noun.name) || noun.name.is_empty();
    let is_owned = matches!(noun.owner, Owner::Speaker | Owner::Shared);
    if is_person || !is_owned {
        return None;
    }
    match noun.owner {
        Owner::Speaker => Some(format!("{SPEAKER}'s {}", noun.name)),
        _ => Some(noun.name),
    }
}

/// Returns the form of a verb in questions: "closes" is "close".
fn base_form(verb: &str) -> String {
    let base = verb.strip_suffix('s').unwrap_or(verb);
    match base.strip_suffix("che").or_else(|| base.strip_suffix("she")) {
        Some(_) => base[..base.len() - 1].to_owned(),
        None => base.to_owned(),
    }
}
