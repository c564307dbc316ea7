//! Dates in English words, read against a day: that on which a [`statement`] was said, or a [`question`] is asked.
//!
//! What both share is here: which words name a day by the calendar, and which name one from where the reader stands.

pub mod question;
pub mod statement;

use std::ops::Range;

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

const NUMBERS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// Words of a text that are read for dates, the first ones; a statement has fewer unless it holds a log or a table.
const WORDS_MAX: usize = 4096;

/// What a date names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// One day.
    Day(Date),
    /// The week that begins on this Monday.
    Week(Date),
    /// The weekend that begins on this Saturday.
    Weekend(Date),
    /// The month of this day.
    Month(Date),
    /// A year.
    Year(i16),
}

impl Span {
    /// Its first day, and the one after its last.
    fn days(self) -> Option<Range<Date>> {
        let (first, length) = match self {
            Self::Day(day) => (day, 1.day()),
            Self::Week(monday) => (monday, 1.week()),
            Self::Weekend(saturday) => (saturday, 2.days()),
            Self::Month(day) => (day.first_of_month(), 1.month()),
            Self::Year(year) => (Date::new(year, 1, 1).ok()?, 1.year()),
        };
        Some(first..first.checked_add(length).ok()?)
    }
}

/// A day of the calendar, with its year where that was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CalendarDay {
    year: Option<i16>,
    month: i8,
    day: i8,
}

/// A word in lowercase, and its bytes in the text.
struct Word {
    text: String,
    range: Range<usize>,
}

/// The first [`WORDS_MAX`] words of a text.
fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = None;
    let inside = |c: char| c.is_alphanumeric() || c == '-' || c == '\'';
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (inside(c), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                if words.len() == WORDS_MAX {
                    break;
                }
                words.push(Word { text: text[from..at].to_lowercase(), range: from..at });
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// The word at a place, or nothing.
fn word(words: &[Word], at: usize) -> &str {
    words.get(at).map_or("", |word| word.text.as_str())
}

/// "yesterday", "last week", "three days ago" at the beginning of some words: how many words, and what they name.
fn relative(words: &[Word], today: Date) -> Option<(usize, Span)> {
    let days = |n: i64| today.checked_add(n.days()).ok();
    match word(words, 0) {
        "today" | "tonight" => Some((1, Span::Day(today))),
        "yesterday" => Some((1, Span::Day(days(-1)?))),
        "tomorrow" => Some((1, Span::Day(days(1)?))),
        direction @ ("last" | "this" | "next") => {
            let step = match direction {
                "last" => -1,
                "next" => 1,
                _ => 0,
            };
            let span = match word(words, 1) {
                "night" if step < 0 => Span::Day(days(-1)?),
                "morning" | "afternoon" | "evening" if step == 0 => Span::Day(today),
                "week" if step != 0 => Span::Week(monday(days(7 * step)?)?),
                "weekend" => Span::Weekend(monday(days(7 * step)?)?.checked_add(5.days()).ok()?),
                "month" if step != 0 => Span::Month(today.checked_add(step.months()).ok()?),
                "year" if step != 0 => Span::Year(today.checked_add(step.years()).ok()?.year()),
                name => Span::Day(weekday(name, direction, today)?),
            };
            Some((2, span))
        }
        _ => ago(words, today),
    }
}

/// The Monday of a day's week.
fn monday(date: Date) -> Option<Date> {
    date.checked_sub(i64::from(date.weekday().to_monday_zero_offset()).days()).ok()
}

/// "last Friday" is the latest one before today; "next Friday" the first one after; "this Friday" the one of the same
/// week.
fn weekday(name: &str, direction: &str, today: Date) -> Option<Date> {
    let (_, weekday) = WEEKDAYS.into_iter().find(|(other, _)| *other == name)?;
    match direction {
        "last" => today.nth_weekday(-1, weekday).ok(),
        "next" => today.nth_weekday(1, weekday).ok(),
        _ => monday(today)?.checked_add(i64::from(weekday.to_monday_zero_offset()).days()).ok(),
    }
}

/// "three weeks ago", "a month ago"; "a few days ago" is left alone.
fn ago(words: &[Word], today: Date) -> Option<(usize, Span)> {
    if word(words, 2) != "ago" {
        return None;
    }
    let count = count(word(words, 0))?;
    let span = match word(words, 1) {
        "day" | "days" => Span::Day(today.checked_sub(count.days()).ok()?),
        "week" | "weeks" => Span::Week(monday(today.checked_sub((7 * count).days()).ok()?)?),
        "month" | "months" => Span::Month(today.checked_sub(count.months()).ok()?),
        "year" | "years" => Span::Year(today.checked_sub(count.years()).ok()?.year()),
        _ => return None,
    };
    Some((3, span))
}

/// "a", "7", "three".
fn count(word: &str) -> Option<i64> {
    match word {
        "a" | "an" => Some(1),
        digits if (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok(),
        name => NUMBERS.iter().position(|number| *number == name).map(|index| index as i64 + 1),
    }
}

/// "2023-05-07", "7 May 2023", "7th of May", "May 7, 2023", "May 7th" at the beginning of some words.
fn calendar(words: &[Word]) -> Option<(usize, CalendarDay)> {
    if word(words, 0).len() == 10
        && let Ok(date) = word(words, 0).parse::<Date>()
    {
        return Some((1, CalendarDay { year: Some(date.year()), month: date.month(), day: date.day() }));
    }
    let month = |at: usize| month(word(words, at));
    let day = |at: usize| {
        let digits = word(words, at).trim_end_matches(|c: char| c.is_ascii_alphabetic());
        digits.parse::<i8>().ok().filter(|day| (1..=31).contains(day))
    };
    let (length, month, day) = match (month(0), day(1), day(0), month(1)) {
        (Some(month), Some(day), _, _) | (_, _, Some(day), Some(month)) => (2, month, day),
        _ => match (day(0), word(words, 1), month(2)) {
            (Some(day), "of", Some(month)) => (3, month, day),
            _ => return None,
        },
    };
    let year = year(word(words, length));
    Some((length + usize::from(year.is_some()), CalendarDay { year, month, day }))
}

/// A month by its name or the beginning of it, in lowercase, from 1.
fn month(word: &str) -> Option<i8> {
    Some(match word {
        "january" | "jan" => 1,
        "february" | "feb" => 2,
        "march" | "mar" => 3,
        "april" | "apr" => 4,
        "may" => 5,
        "june" | "jun" => 6,
        "july" | "jul" => 7,
        "august" | "aug" => 8,
        "september" | "sept" | "sep" => 9,
        "october" | "oct" => 10,
        "november" | "nov" => 11,
        "december" | "dec" => 12,
        _ => return None,
    })
}

/// A year that people speak of.
fn year(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..=2200).contains(year))
}
