//! Claims of verbs of change: "the price went up to $40", "we moved the wiki to juniper".

use super::clause::{self, LAST, Mood, SPEAKER, Subject};
use super::frames::Shape;
use super::general::of_value;
use super::lists::{ADVERBS, EVENTS};
use super::named::{Named, named_before, subject_noun};
use super::sentence::{Found, Sentence};
use super::values::{self, is_name, is_number};
use super::words::{Break, Word};

/// Verbs by which an attribute gets a new value, before "to".
const CHANGES: [&str; 34] = [
    "changed",
    "changes",
    "moved",
    "switched",
    "pushed",
    "postponed",
    "rescheduled",
    "delayed",
    "extended",
    "went",
    "goes",
    "gone",
    "dropped",
    "rose",
    "increased",
    "bumped",
    "raised",
    "lowered",
    "slipped",
    "updated",
    "set",
    "reset",
    "renamed",
    "upgraded",
    "cut",
    "shifted",
    "grew",
    "fell",
    "jumped",
    "reduced",
    "migrated",
    "downgraded",
    "brought",
    "ported",
];
/// Words that may stand between such a verb and "to".
const CHANGE_PARTICLES: [&str; 10] =
    ["up", "down", "back", "over", "out", "forward", "again", "from", "all", "straight"];

/// Adds the claims of verbs of change.
pub(super) fn find(sentence: &Sentence<'_>, found: &mut Vec<Found>) {
    for index in 0..sentence.words.len() {
        if CHANGES.contains(&sentence.words[index].text.as_str()) {
            find_change(sentence, index, found);
        }
    }
}

/// Reads "the price went up to $40", "we changed the standup to 9:30".
fn find_change(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let verb = clause::before(words, index);
    if verb.mood != Mood::Fact {
        return;
    }
    let mut begin = index + 1;
    let mut noun_end = begin;
    let Some(to) =
        (begin..words.len().min(begin + 9)).find(|at| matches!(words[*at].text.as_str(), "to" | "until" | "till"))
    else {
        return;
    };
    if words[index..to].iter().any(|word| word.after == Break::Clause) {
        return;
    }
    // "changed the standup to", or else the noun stands before the verb.
    while noun_end < to && !CHANGE_PARTICLES.contains(&words[noun_end].text.as_str()) {
        noun_end += 1;
    }
    let named = if noun_end > begin {
        named_before(&words[..noun_end], noun_end).or_else(|| bare_event(&words[begin..noun_end]))
    } else {
        subject_noun(words, index)
    };
    let Some(named) = named else { return };
    begin = to + 1;
    let Some(value) = values::read(sentence.text, words, begin, Shape::Any, &sentence.dates_outside(begin)) else {
        return;
    };
    let value_words = &words[value.words.clone()];
    let is_specific = value_words.iter().any(|word| is_name(word) || is_number(word));
    let is_own_thing = named.subject == Subject::Speaker && words[index].text == "moved";
    let is_room = matches!(words[begin].text.as_str(), "the" | "my" | "our") && words[index].text == "moved";
    if is_room && !is_specific && !named.is_slot && !EVENTS.has(&named.attribute) {
        // "We moved the archive boxes to the attic."
        let Named { subject, attribute, .. } = named;
        let attribute = format!("place of {attribute}");
        found.push(Found { is_event: true, ..Found::stated(subject, attribute, value.text, index..value.words.end) });
        return;
    }
    if !is_specific && !named.is_slot && !is_own_thing && !is_bare_name(value_words, begin, &value) {
        return;
    }
    let (subject, attribute) = moved_thing(named, value_words);
    let mut attribute = of_value(attribute, value_words);
    let is_date =
        attribute == "version" && values::has_shape(value_words, Shape::Time) && !values::is_version(&value_words[0]);
    let mut subject = subject;
    if is_date {
        "date".clone_into(&mut attribute);
        if subject == Subject::Named(String::new()) {
            subject = Subject::Named("release".to_owned());
        }
    }
    let mut text = value.text;
    if value_words.len() > 1 && matches!(value_words[0].text.as_str(), "room" | "building" | "desk") {
        attribute.clone_from(&value_words[0].text);
        text = text[value_words[0].written.len()..].trim_start().to_owned();
    }
    found.push(Found { is_event: true, ..Found::stated(subject, attribute, text, index..value.words.end) });
}

/// Reads an event without an article: "we moved standup to 10:30".
fn bare_event(words: &[Word]) -> Option<Named> {
    let [word] = words else { return None };
    EVENTS.has(&word.text).then(|| Named {
        subject: Subject::Named(String::new()),
        attribute: word.text.clone(),
        is_slot: true,
    })
}

/// Whether a value is one word without an article, as names of machines are: "moved the wiki to juniper".
fn is_bare_name(words: &[Word], begin: usize, value: &values::Value) -> bool {
    let is_word = |word: &Word| word.text.len() > 3 && !crate::tokenize::is_stop_word(&word.text);
    value.words.start == begin && matches!(words, [word] if is_word(word) && !ADVERBS.has(&word.text))
}

/// Returns the attribute of a thing that moved: "the standup moved to 9:30", "we migrated the app to Postgres".
fn moved_thing(named: Named, value: &[Word]) -> (Subject, String) {
    let last = named.attribute.rsplit(' ').next().unwrap_or_default();
    if EVENTS.has(last) && values::has_shape(value, Shape::Time) {
        let thing = match named.subject {
            Subject::Speaker => format!("{SPEAKER}'s {}", named.attribute),
            Subject::Last => format!("{LAST}'s {}", named.attribute),
            Subject::Named(_) | Subject::Missing => named.attribute,
        };
        return (Subject::Named(thing), "date".to_owned());
    }
    if matches!(last, "trip" | "flight" | "holiday" | "vacation") {
        return (named.subject, "destination".to_owned());
    }
    // "The staging database went from Postgres 14 to Postgres 17": what it runs on.
    let is_machine = matches!(last, "database" | "server" | "host" | "cluster");
    if let Subject::Named(thing) = &named.subject
        && is_machine
        && !thing.is_empty()
        && value.iter().any(is_name)
    {
        return (Subject::Named(format!("{thing} {last}")), "platform".to_owned());
    }
    if named.is_slot || named.subject != Subject::Named(String::new()) {
        return (named.subject, named.attribute);
    }
    let is_time = values::has_shape(&value[..1], Shape::Time) || EVENTS.has(&named.attribute);
    let attribute = if is_time { "date" } else { "platform" };
    (Subject::Named(named.attribute), attribute.to_owned())
}
