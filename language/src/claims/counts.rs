//! Counts: "I have 25 postcards", "I've read 14 books", "I'm on page 120".

use crate::claims::Polarity;
use crate::tokenize::is_stop_word;

use super::clause::{self, Mood, Subject};
use super::doses::is_unit as is_dose_unit;
use super::lists::{ADVERBS, TIMES, VALUE_ENDS};
use super::sentence::{Found, Sentence};
use super::values::{is_name, is_number};
use super::words::{Break, Word};

/// Verbs of counts.
const HAVING: [&str; 18] = [
    "have",
    "has",
    "own",
    "owns",
    "got",
    "manage",
    "manages",
    "managing",
    "lead",
    "leads",
    "leading",
    "collected",
    "collecting",
    "keep",
    "reached",
    "hit",
    "passed",
    "gained",
];
/// Verbs of counts in the perfect: "I've read 14 books".
const DONE: [&str; 18] = [
    "been",
    "attended",
    "read",
    "watched",
    "seen",
    "visited",
    "finished",
    "completed",
    "run",
    "tried",
    "made",
    "written",
    "done",
    "collected",
    "published",
    "baked",
    "painted",
    "planted",
];
/// Nouns with a number behind them: "on page 120".
const NUMBERED: [&str; 9] = ["page", "chapter", "level", "episode", "season", "volume", "lesson", "unit", "round"];
/// Nouns with a number behind them that somebody or something has or is in: "sits in room 204", "has extension 4427".
const PLACES: [&str; 9] = ["room", "desk", "gate", "extension", "locker", "ward", "table", "building", "bay"];
/// Verbs before such a noun.
const PLACING: [&str; 14] =
    ["sits", "sit", "sitting", "moved", "is", "are", "am", "has", "have", "got", "works", "work", "meets", "meet"];
/// Words of a noun that is counted.
const COUNTED_WORDS_MAX: usize = 3;

/// Adds the counts of a sentence.
pub(super) fn find(sentence: &Sentence<'_>, found: &mut Vec<Found>) {
    for index in 0..sentence.words.len() {
        let text = sentence.words[index].text.as_str();
        let is_at = text == "at" && index > 0 && clause::before(&sentence.words, index).has_be;
        // "We are eight people in the team."
        let are_we = text == "are" && index > 0 && sentence.words[index - 1].text == "we";
        if HAVING.contains(&text) || DONE.contains(&text) || is_at || are_we {
            find_count(sentence, index, found);
        }
        if NUMBERED.contains(&text) {
            find_numbered(sentence, index, found);
        }
        if matches!(text, "a" | "per" | "every" | "each") && index > 1 {
            find_rate(sentence, index, found);
        }
        if PLACES.contains(&text) {
            find_numbered_place(sentence, index, found);
        }
    }
}

/// Reads "I have 25 postcards", "I've read 14 books".
fn find_count(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let verb = clause::before(words, index);
    let is_done = DONE.contains(&words[index].text.as_str()) && !HAVING.contains(&words[index].text.as_str());
    if verb.mood != Mood::Fact || (is_done && !verb.is_perfect) {
        return;
    }
    let is_been = words[index].text == "been";
    let is_leading =
        matches!(words[index].text.as_str(), "lead" | "leads" | "leading" | "manage" | "manages" | "managing");
    let mut begin = index + 1;
    if is_been && words.get(begin).is_none_or(|word| word.text != "to") {
        return;
    }
    while let Some(word) = words.get(begin)
        && ((is_leading && matches!(word.text.as_str(), "a" | "team" | "of"))
            || ADVERBS.has(&word.text)
            || matches!(word.text.as_str(), "about" | "over" | "around" | "nearly" | "read" | "exactly" | "to"))
    {
        begin += 1;
    }
    let Some(number) = words.get(begin).filter(|word| is_number(word) && word.text != "one") else { return };
    let mut nouns = Vec::new();
    let noun_begin = begin + 1 + words_of_total(&words[begin + 1..]);
    for word in words[noun_begin..].iter().take(COUNTED_WORDS_MAX) {
        if VALUE_ENDS.has(&word.text) || is_stop_word(&word.text) || is_number(word) || TIMES.has(&word.text) {
            break;
        }
        nouns.push(word.text.as_str());
        if word.after != Break::None {
            break;
        }
    }
    let Some(last) = nouns.last() else { return };
    let is_plural = last.ends_with('s') || matches!(*last, "people" | "children" | "fish" | "sheep");
    let is_time = matches!(
        last.trim_end_matches('s'),
        "minute" | "hour" | "day" | "week" | "month" | "year" | "time" | "thing" | "second"
    );
    let is_rate = words[index].text == "at" && is_unit_of_rate(last);
    if !is_plural || is_time || is_rate || nouns.iter().any(|noun| is_dose_unit(noun)) {
        return;
    }
    let noun = nouns.join(" ");
    let noun = noun.strip_suffix('s').unwrap_or(&noun);
    let subject = if verb.subject == Subject::Missing { Subject::Speaker } else { verb.subject };
    found.push(Found::stated(subject, format!("number of {noun}"), number.written.clone(), index..begin + 1));
}

/// Returns how many words say of how many: "12 of the 20 modules".
fn words_of_total(words: &[Word]) -> usize {
    match words {
        [of, number, ..] if of.text == "of" && is_number(number) => 2,
        [of, the, number, ..] if of.text == "of" && is_the(the) && is_number(number) => 3,
        _ => 0,
    }
}

fn is_the(word: &Word) -> bool {
    matches!(word.text.as_str(), "the" | "my" | "our")
}

/// Reads "two cups of coffee a day", "yoga four times a week".
fn find_rate(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let Some(number) = (index.saturating_sub(4)..index).find(|at| is_number(&words[*at])) else { return };
    let Some(unit) = words.get(index + 1) else { return };
    let is_unit = matches!(unit.text.as_str(), "day" | "week" | "month" | "year" | "night");
    let is_own = words[..number].iter().any(|word| matches!(word.text.as_str(), "i" | "we" | "my"));
    let is_denied = words[..number].iter().any(|word| matches!(word.text.as_str(), "not" | "never" | "will"));
    if !is_unit || !is_own || is_denied || clause::is_unreal(words, number) {
        return;
    }
    let counted = &words[number + 1..index];
    let noun = match counted.last() {
        // "Yoga four times a week": what is done stands before.
        Some(times) if times.text == "times" => number.checked_sub(1).map(|at| &words[at]),
        last => last,
    };
    let Some(noun) = noun.filter(|noun| !is_stop_word(&noun.text) && !is_number(noun) && !is_unit_of_rate(&noun.text))
    else {
        return;
    };
    let Some(text) = sentence.text.get(words[number].range.start..words[index - 1].range.end) else { return };
    found.push(Found::stated(
        Subject::Speaker,
        format!("{} per {}", noun.text, unit.text),
        text.to_owned(),
        index..index + 1,
    ));
}

/// Whether a noun is a unit of money or time: "20 dollars a month" is a price.
fn is_unit_of_rate(word: &str) -> bool {
    let unit = word.trim_end_matches('s');
    matches!(
        unit,
        "dollar" | "euro" | "pound" | "buck" | "franc" | "hour" | "minute" | "day" | "week" | "month" | "year"
    )
}

/// Reads "I'm on page 120".
fn find_numbered(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let Some(number) = words.get(index + 1).filter(|word| is_number(word)) else { return };
    let leads = index > 1 && matches!(words[index - 1].text.as_str(), "on" | "at" | "reached" | "to");
    if !leads || clause::before(words, index - 1).mood != Mood::Fact {
        return;
    }
    found.push(Found::stated(Subject::Speaker, words[index].text.clone(), number.written.clone(), index..index + 2));
}

/// Reads "Bettina sits in room 204", "Abdul has extension 4427".
fn find_numbered_place(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let Some(number) = words.get(index + 1).filter(|word| is_name(word)) else { return };
    let Some(verb) = (0..index).rev().take(3).find(|at| PLACING.contains(&words[*at].text.as_str())) else { return };
    let before = clause::before(words, verb);
    if before.mood != Mood::Fact || before.subject == Subject::Missing {
        return;
    }
    found.push(Found {
        subject: before.subject,
        attribute: words[index].text.clone(),
        value: number.written.clone(),
        polarity: Polarity::Positive,
        is_event: words[verb].text == "moved",
        is_future: false,
        at: verb,
        end: index + 2,
    });
}
