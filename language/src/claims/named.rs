//! What a noun names: a subject and one of its attributes, as in "my gym", "the deadline for the report", "the printer pin".

use super::attributes;
use super::clause::{self, Noun, Owner, Subject, is_relation};
use super::lists::{ADVERBS, AUXILIARIES, EVENTS, SLOTS};
use super::words::Word;

/// A subject and an attribute, as a noun names them.
pub(super) struct Named {
    pub(super) subject: Subject,
    pub(super) attribute: String,
    /// Whether the noun names an attribute that may have any value.
    pub(super) is_slot: bool,
}

/// Returns the subject and the attribute that a noun names.
pub(super) fn named(noun: Noun) -> Option<Named> {
    // "my son Linus" is a person and not an attribute.
    if noun.name.contains(' ') && is_relation(noun.name.split(' ').next().unwrap_or_default()) {
        return None;
    }
    if let Some(named) = attribute_of_thing(&noun) {
        return Some(named);
    }
    let subject = match noun.owner {
        Owner::Speaker => Subject::Speaker,
        Owner::Last => Subject::Last,
        Owner::Named(name) => Subject::Named(name),
        Owner::Shared => Subject::Named(String::new()),
    };
    let known = attributes::named(&noun.name);
    let last = noun.name.rsplit(' ').next().unwrap_or("");
    let first = noun.name.split(' ').next().unwrap_or("");
    let is_slot = known.is_some() || SLOTS.has(last) || SLOTS.has(first);
    let attribute = match known {
        Some(attribute) => attribute.name.to_owned(),
        None => noun.name,
    };
    let subject = match subject {
        Subject::Named(name) if name.is_empty() && OWN.contains(&attribute.as_str()) => Subject::Speaker,
        subject => subject,
    };
    if attribute.is_empty() { None } else { Some(Named { subject, attribute, is_slot }) }
}

/// Attributes that only the speaker has, even after "the": "they raised the rent".
const OWN: [&str; 12] = [
    "rent",
    "salary",
    "commute",
    "weight",
    "height",
    "mortgage",
    "dentist",
    "therapist",
    "gym",
    "landlord",
    "alarm",
    "bedtime",
];

/// Events of a product, which has their date itself.
const PRODUCT_EVENTS: [&str; 6] = ["launch", "rollout", "submission", "delivery", "migration", "go-live"];

/// Reads "the printer pin": the pin of the printer.
fn attribute_of_thing(noun: &Noun) -> Option<Named> {
    if noun.owner != Owner::Shared || attributes::named(&noun.name).is_some() {
        return None;
    }
    let (thing, last) = noun.name.rsplit_once(' ')?;
    let is_slot = SLOTS.has(last) || attributes::named(last).is_some();
    if !is_slot && !EVENTS.has(last) {
        return None;
    }
    let (thing, attribute) = match attributes::named(last) {
        Some(attribute) => (thing, attribute.name),
        // "The app launches on 3 May" gives the date of the app. The date of a board meeting is not one of the board.
        None if PRODUCT_EVENTS.contains(&last) => (thing, "date"),
        None if EVENTS.has(last) => (noun.name.as_str(), "date"),
        None => (thing, last),
    };
    Some(Named { subject: Subject::Named(thing.to_owned()), attribute: attribute.to_owned(), is_slot: true })
}

/// Reads the noun that ends before an index, with "of" or "for" and what it belongs to: "the deadline for the report".
pub(super) fn named_before(words: &[Word], end: usize) -> Option<Named> {
    for index in (1..end).rev().take(6) {
        // "My personal best over 10k".
        if matches!(words[index].text.as_str(), "in" | "over")
            && let Some(noun) = clause::noun_with_owner(words, index)
            && noun.owner == Owner::Speaker
        {
            return named(noun);
        }
        if !matches!(words[index].text.as_str(), "of" | "for") {
            continue;
        }
        let noun = clause::noun_with_owner(words, index)?;
        let whole = &words[index + 1..end];
        let begin = usize::from(
            matches!(whole.first(), Some(word) if matches!(word.text.as_str(), "the" | "our" | "my" | "this")),
        );
        let texts: Vec<&str> = whole[begin.min(whole.len())..].iter().map(|word| word.written.as_str()).collect();
        if texts.is_empty() || noun.owner != Owner::Shared {
            return None;
        }
        let named = named(noun)?;
        return Some(Named { subject: Subject::Named(texts.join(" ")), ..named });
    }
    named(clause::noun_with_owner(words, end)?)
}

/// Returns what the noun before a verb names.
pub(super) fn subject_noun(words: &[Word], verb: usize) -> Option<Named> {
    let mut end = verb;
    while end > 0 && (AUXILIARIES.has(&words[end - 1].text) || ADVERBS.has(&words[end - 1].text)) {
        end -= 1;
    }
    named_before(words, end)
}
