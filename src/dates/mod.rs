//! Dates in English words, read relative to a day: the day on which a [`statement`] was said or a [`question`] is
//! asked.
//!
//! This file reads the expressions that both have: days of the calendar ("7 May 2023") and relative ones ("last week").

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

/// Words of a text that are read for dates. Only logs and tables have longer statements.
const WORDS_MAX: usize = 4096;

/// The days that a date expression names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateSpan {
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

impl DateSpan {
    /// Returns the first day and the day after the last.
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

/// A day of the calendar, with its year if the text names one.
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

/// Returns the first [`WORDS_MAX`] words of a text.
fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (is_word_character(c), start) {
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
        // "2025年3月" is followed by other words without a space.
        if let Some(from) = start
            && c == '月'
            && words.len() < WORDS_MAX
            && text[from..].starts_with(|c: char| c.is_ascii_digit())
        {
            let end = at + c.len_utf8();
            words.push(Word { text: text[from..end].to_owned(), range: from..end });
            start = None;
        }
    }
    words
}

fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '\''
}

/// Returns the word at an index, or an empty text after the last word.
fn word_at(words: &[Word], index: usize) -> &str {
    match words.get(index) {
        Some(word) => word.text.as_str(),
        None => "",
    }
}

/// Reads "yesterday", "last week", "three days ago" at the beginning of some words. Returns how many words the
/// expression has, and the days that it names.
fn relative(words: &[Word], today: Date) -> Option<(usize, DateSpan)> {
    match word_at(words, 0) {
        "today" | "tonight" => Some((1, DateSpan::Day(today))),
        "yesterday" => Some((1, DateSpan::Day(add_days(today, -1)?))),
        "tomorrow" => Some((1, DateSpan::Day(add_days(today, 1)?))),
        direction @ ("last" | "this" | "next") => Some((2, adjacent(direction, word_at(words, 1), today)?)),
        _ => ago(words, today),
    }
}

/// Reads "last night", "this weekend", "next Friday".
fn adjacent(direction: &str, unit: &str, today: Date) -> Option<DateSpan> {
    let step = match direction {
        "last" => -1,
        "next" => 1,
        _ => 0,
    };
    let span = match unit {
        "night" if step < 0 => DateSpan::Day(add_days(today, -1)?),
        "morning" | "afternoon" | "evening" if step == 0 => DateSpan::Day(today),
        "week" if step != 0 => DateSpan::Week(monday(add_days(today, 7 * step)?)?),
        "weekend" => DateSpan::Weekend(add_days(monday(add_days(today, 7 * step)?)?, 5)?),
        "month" if step != 0 => DateSpan::Month(today.checked_add(step.months()).ok()?),
        "year" if step != 0 => DateSpan::Year(today.checked_add(step.years()).ok()?.year()),
        name => DateSpan::Day(weekday(name, direction, today)?),
    };
    Some(span)
}

fn add_days(date: Date, days: i64) -> Option<Date> {
    date.checked_add(days.days()).ok()
}

/// Returns the Monday of a day's week.
fn monday(date: Date) -> Option<Date> {
    date.checked_sub(i64::from(date.weekday().to_monday_zero_offset()).days()).ok()
}

/// Returns a day by its weekday: "last Friday" is the latest before today, "next Friday" the first after today, "this
/// Friday" the one of the same week.
fn weekday(name: &str, direction: &str, today: Date) -> Option<Date> {
    let (_, weekday) = WEEKDAYS.into_iter().find(|(other, _)| *other == name)?;
    match direction {
        "last" => today.nth_weekday(-1, weekday).ok(),
        "next" => today.nth_weekday(1, weekday).ok(),
        _ => monday(today)?.checked_add(i64::from(weekday.to_monday_zero_offset()).days()).ok(),
    }
}

/// Reads "three weeks ago", "a month ago"; "a few days ago" names no certain day.
fn ago(words: &[Word], today: Date) -> Option<(usize, DateSpan)> {
    if word_at(words, 2) != "ago" {
        return None;
    }
    let count = count(word_at(words, 0))?;
    let span = match word_at(words, 1) {
        "day" | "days" => DateSpan::Day(today.checked_sub(count.days()).ok()?),
        "week" | "weeks" => DateSpan::Week(monday(today.checked_sub((7 * count).days()).ok()?)?),
        "month" | "months" => DateSpan::Month(today.checked_sub(count.months()).ok()?),
        "year" | "years" => DateSpan::Year(today.checked_sub(count.years()).ok()?.year()),
        _ => return None,
    };
    Some((3, span))
}

/// Reads a number: "a", "7", "three".
fn count(word: &str) -> Option<i64> {
    match word {
        "a" | "an" => Some(1),
        digits if (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok(),
        name => {
            let index = NUMBERS.iter().position(|number| *number == name)?;
            Some(index as i64 + 1)
        }
    }
}

/// Reads "2023-05-07", "7 May 2023", "7th of May", "May 7, 2023", "May 7th" at the beginning of some words. Returns how
/// many words the expression has, and the day that it names.
fn calendar(words: &[Word]) -> Option<(usize, CalendarDay)> {
    let (first, second) = (word_at(words, 0), word_at(words, 1));
    if first.len() == 10
        && let Ok(date) = first.parse::<Date>()
    {
        return Some((1, CalendarDay { year: Some(date.year()), month: date.month(), day: date.day() }));
    }
    let (length, month, day) = if let Some(month) = month_number(first)
        && let Some(day) = day_number(second)
    {
        (2, month, day)
    } else {
        let day = day_number(first)?;
        if let Some(month) = month_number(second) {
            (2, month, day)
        } else if second == "of" {
            (3, month_number(word_at(words, 2))?, day)
        } else {
            return None;
        }
    };
    let year = year_number(word_at(words, length));
    let length = if year.is_some() { length + 1 } else { length };
    Some((length, CalendarDay { year, month, day }))
}

/// Returns the day of a month: "7", "7th".
fn day_number(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

/// Returns the number of a month, from 1, by its name or an abbreviation in lowercase.
fn month_number(word: &str) -> Option<i8> {
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

/// Names of months in German, Spanish, French, Portuguese, Italian and Dutch, by their numbers from 1.
const FOREIGN_MONTHS: [&str; 12] = [
    "januar jänner enero janvier janeiro gennaio januari",
    "februar febrero février fevereiro febbraio februari",
    "märz marzo mars março maart",
    "april abril avril aprile",
    "mai mayo maio maggio mei",
    "juni junio juin junho giugno",
    "juli julio juillet julho luglio",
    "august agosto août augustus",
    "september septiembre septembre setembro settembre",
    "oktober octubre octobre outubro ottobre",
    "november noviembre novembre novembro",
    "dezember diciembre décembre dezembro dicembre december",
];

/// Returns the number of a month, from 1, by its name in another language, in lowercase.
pub(crate) fn foreign_month_number(word: &str) -> Option<i8> {
    for (number, names) in (1..).zip(FOREIGN_MONTHS) {
        if names.split(' ').any(|name| name == word) {
            return Some(number);
        }
    }
    None
}

/// Reads the month of a year in Chinese and Japanese: "2025年3月".
fn numbered_month(word: &str) -> Option<(i16, i8)> {
    let (year, month) = word.strip_suffix('月')?.split_once('年')?;
    Some((year_number(year)?, month.parse().ok().filter(|month| (1..=12).contains(month))?))
}

/// Returns a year between 1900 and 2200.
fn year_number(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..=2200).contains(year))
}
