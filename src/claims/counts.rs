//! Counts: "I have 25 postcards", "I've read 14 books", "I'm on page 120".

use cuebase_retrieval::is_stop_word;
use cuebase_storage::memory_file::Polarity;

use super::clause::{self, Mood, Subject};
use super::lists::{ADVERBS, VALUE_ENDS};
use super::sentence::{Found, Sentence};
use super::values::{is_name, is_number};
use super::words::Break;

/// Verbs of counts.
const HAVING: [&str; 12] =
    ["have", "has", "own", "owns", "got", "manage", "manages", "lead", "leads", "collected", "collecting", "keep"];
/// Verbs of counts in the perfect: "I've read 14 books".
const DONE: [&str; 16] = [
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
        if HAVING.contains(&text) || DONE.contains(&text) {
            find_count(sentence, index, found);
        }
        if NUMBERED.contains(&text) {
            find_numbered(sentence, index, found);
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
    let mut begin = index + 1;
    while let Some(word) = words.get(begin)
        && (ADVERBS.has(&word.text)
            || matches!(word.text.as_str(), "about" | "over" | "around" | "nearly" | "read" | "exactly"))
    {
        begin += 1;
    }
    let Some(number) = words.get(begin).filter(|word| is_number(word) && word.text != "one") else { return };
    let mut nouns = Vec::new();
    for word in words[begin + 1..].iter().take(COUNTED_WORDS_MAX) {
        if VALUE_ENDS.has(&word.text) || is_stop_word(&word.text) || is_number(word) {
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
    if !is_plural || is_time {
        return;
    }
    let noun = nouns.join(" ");
    let noun = noun.strip_suffix('s').unwrap_or(&noun);
    let subject = if verb.subject == Subject::Missing { Subject::Speaker } else { verb.subject };
    found.push(Found {
        subject,
        attribute: format!("number of {noun}"),
        value: number.written.clone(),
        polarity: Polarity::Positive,
        is_event: false,
        is_future: false,
        at: index,
        end: begin + 1,
    });
}

/// Reads "I'm on page 120".
fn find_numbered(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let Some(number) = words.get(index + 1).filter(|word| is_number(word)) else { return };
    let leads = index > 1 && matches!(words[index - 1].text.as_str(), "on" | "at" | "reached" | "to");
    if !leads || clause::before(words, index - 1).mood != Mood::Fact {
        return;
    }
    found.push(Found {
        subject: Subject::Speaker,
        attribute: words[index].text.clone(),
        value: number.written.clone(),
        polarity: Polarity::Positive,
        is_event: false,
        is_future: false,
        at: index,
        end: index + 2,
    });
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
