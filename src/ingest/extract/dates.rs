//! Dates in a statement, read against the day on which it was said.

use std::ops::Range;

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};

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

/// A date expression and what it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its bytes in the statement.
    pub range: Range<usize>,
    /// What it names.
    pub span: Span,
    /// Whether it says so itself ("7 May 2023"), so that it needs no note.
    pub explicit: bool,
}

impl Found {
    /// The day, when it is one.
    pub fn exact_day(&self) -> Option<Date> {
        match self.span {
            Span::Day(date) => Some(date),
            _ => None,
        }
    }
}

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const NUMBERS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// Every date expression in a statement, in order, none overlapping another.
pub fn find(statement: &str, said: Date) -> Vec<Found> {
    let words = words(statement);
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        match read(&words[at..], said) {
            Some((length, span, explicit)) => {
                let range = words[at].range.start..words[at + length - 1].range.end;
                found.push(Found { range, span, explicit });
                at += length;
            }
            None => at += 1,
        }
    }
    found
}

/// The statement with a note behind every date that only makes sense on the day it was said.
pub fn annotate(statement: &str, found: &[Found]) -> String {
    let mut annotated = String::with_capacity(statement.len() + 24 * found.len());
    let mut at = 0;
    for date in found.iter().filter(|date| !date.explicit) {
        annotated.push_str(&statement[at..date.range.end]);
        annotated.push_str(&format!(" ({})", describe(date.span)));
        at = date.range.end;
    }
    annotated.push_str(&statement[at..]);
    annotated
}

fn describe(span: Span) -> String {
    let month = |date: Date| MONTHS[usize::from(date.month().unsigned_abs()) - 1];
    let day = |date: Date| format!("{} {} {}", date.day(), month(date), date.year());
    match span {
        Span::Day(date) => day(date),
        Span::Week(monday) => format!("week of {}", day(monday)),
        Span::Weekend(saturday) => format!("weekend of {}", day(saturday)),
        Span::Month(date) => format!("{} {}", month(date), date.year()),
        Span::Year(year) => year.to_string(),
    }
}

struct Word {
    text: String,
    range: Range<usize>,
}

fn words(statement: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = None;
    let inside = |c: char| c.is_alphanumeric() || c == '-' || c == '\'';
    for (at, c) in statement.char_indices().chain([(statement.len(), ' ')]) {
        match (inside(c), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push(Word { text: statement[from..at].to_lowercase(), range: from..at });
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// The expression that begins with the first word: how many words, what it names, whether it names it in full.
fn read(words: &[Word], said: Date) -> Option<(usize, Span, bool)> {
    let word = |n: usize| words.get(n).map_or("", |word| word.text.as_str());
    let days = |n: i64| said.checked_add(n.days()).ok();
    let monday = |date: Date| date.checked_sub(i64::from(date.weekday().to_monday_zero_offset()).days()).ok();
    match word(0) {
        "today" | "tonight" => return Some((1, Span::Day(said), false)),
        "yesterday" => return Some((1, Span::Day(days(-1)?), false)),
        "tomorrow" => return Some((1, Span::Day(days(1)?), false)),
        direction @ ("last" | "this" | "next") => {
            let step = match direction {
                "last" => -1,
                "next" => 1,
                _ => 0,
            };
            let span = match word(1) {
                "night" if step < 0 => Span::Day(days(-1)?),
                "morning" | "afternoon" | "evening" if step == 0 => Span::Day(said),
                "week" if step != 0 => Span::Week(monday(days(7 * step)?)?),
                "weekend" => Span::Weekend(monday(days(7 * step)?)?.checked_add(5.days()).ok()?),
                "month" if step != 0 => Span::Month(said.checked_add(step.months()).ok()?),
                "year" if step != 0 => Span::Year(said.checked_add(step.years()).ok()?.year()),
                name => Span::Day(weekday(name, direction, said)?),
            };
            return Some((2, span, false));
        }
        _ => {}
    }
    if let Some((length, span)) = ago(words, said) {
        return Some((length, span, false));
    }
    let (length, date) = calendar_date(words, said)?;
    let explicit =
        words[..length].iter().any(|word| word.text.len() >= 4 && word.text[..4].bytes().all(|b| b.is_ascii_digit()));
    Some((length, Span::Day(date), explicit))
}

/// "last Friday" is the latest one before the day it was said; "next Friday" the first one after; "this Friday" the one
/// of the same week.
fn weekday(name: &str, direction: &str, said: Date) -> Option<Date> {
    let (_, weekday) = WEEKDAYS.into_iter().find(|(other, _)| *other == name)?;
    match direction {
        "last" => said.nth_weekday(-1, weekday).ok(),
        "next" => said.nth_weekday(1, weekday).ok(),
        _ => {
            let monday = said.checked_sub(i64::from(said.weekday().to_monday_zero_offset()).days()).ok()?;
            monday.checked_add(i64::from(weekday.to_monday_zero_offset()).days()).ok()
        }
    }
}

/// "three weeks ago", "a month ago", "a few days ago" is left alone.
fn ago(words: &[Word], said: Date) -> Option<(usize, Span)> {
    let word = |n: usize| words.get(n).map_or("", |word| word.text.as_str());
    if word(2) != "ago" {
        return None;
    }
    let count = match word(0) {
        "a" | "an" => 1,
        digits if !digits.is_empty() && digits.len() <= 3 && digits.bytes().all(|b| b.is_ascii_digit()) => {
            digits.parse().ok()?
        }
        name => NUMBERS.iter().position(|number| *number == name)? as i64 + 1,
    };
    let span = match word(1) {
        "day" | "days" => Span::Day(said.checked_sub(count.days()).ok()?),
        "week" | "weeks" => {
            let then = said.checked_sub((7 * count).days()).ok()?;
            Span::Week(then.checked_sub(i64::from(then.weekday().to_monday_zero_offset()).days()).ok()?)
        }
        "month" | "months" => Span::Month(said.checked_sub(count.months()).ok()?),
        "year" | "years" => Span::Year(said.checked_sub(count.years()).ok()?.year()),
        _ => return None,
    };
    Some((3, span))
}

/// "2023-05-07", "7 May 2023", "May 7, 2023", "May 7th": without a year, the one nearest to the day it was said.
fn calendar_date(words: &[Word], said: Date) -> Option<(usize, Date)> {
    let word = |n: usize| words.get(n).map_or("", |word| word.text.as_str());
    if word(0).len() == 10
        && let Ok(date) = word(0).parse::<Date>()
    {
        return Some((1, date));
    }
    let month =
        |n: usize| MONTHS.iter().position(|name| name.eq_ignore_ascii_case(word(n))).map(|index| index as i8 + 1);
    let day = |n: usize| {
        let digits = word(n).trim_end_matches(|c: char| c.is_ascii_alphabetic());
        digits.parse::<i8>().ok().filter(|day| (1..=31).contains(day))
    };
    let year = |n: usize| word(n).parse::<i16>().ok().filter(|year| (1900..=2200).contains(year));
    let (length, month, day) = match (month(0), day(1), day(0), month(1)) {
        (Some(month), Some(day), _, _) | (_, _, Some(day), Some(month)) => (2, month, day),
        _ => match (day(0), word(1), month(2)) {
            (Some(day), "of", Some(month)) => (3, month, day),
            _ => return None,
        },
    };
    if let Some(year) = year(length) {
        return Some((length + 1, Date::new(year, month, day).ok()?));
    }
    let near = [said.year() - 1, said.year(), said.year() + 1];
    let candidates = near.into_iter().filter_map(|year| Date::new(year, month, day).ok());
    let nearest = candidates.min_by_key(|date| said.until(*date).map_or(i32::MAX, |span| span.get_days().abs()));
    Some((length, nearest?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A Monday.
    const SAID: Date = jiff::civil::date(2023, 5, 8);

    fn note(text: &str) -> String {
        annotate(text, &find(text, SAID))
    }

    #[test]
    fn relative_dates_are_noted_behind_their_words() {
        for (text, expected) in [
            ("I went yesterday.", "I went yesterday (7 May 2023)."),
            ("Last Friday we met", "Last Friday (5 May 2023) we met"),
            ("next Monday!", "next Monday (15 May 2023)!"),
            ("two weeks ago", "two weeks ago (week of 24 April 2023)"),
            ("3 days ago", "3 days ago (5 May 2023)"),
            ("a year ago", "a year ago (2022)"),
            ("last month and last year", "last month (April 2023) and last year (2022)"),
            ("last weekend", "last weekend (weekend of 6 May 2023)"),
            ("on May 20th", "on May 20th (20 May 2023)"),
            ("on 30 December", "on 30 December (30 December 2022)"),
            ("on 7 May 2021 and 2020-01-02", "on 7 May 2021 and 2020-01-02"),
            ("at last we may go", "at last we may go"),
        ] {
            assert_eq!(note(text), expected);
        }
    }

    #[test]
    fn exact_days_are_known() {
        let day = |text: &str| find(text, SAID).first().and_then(Found::exact_day);
        assert_eq!(day("it was on 7 May 2021"), Some(jiff::civil::date(2021, 5, 7)));
        assert_eq!(day("last month"), None);
        assert_eq!(day("May 45"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "\\PC{0,80}", words in "(last|next|a|may|31|ago|weeks|friday| |999|é){0,12}") {
            for text in [text, words] {
                let found = find(&text, Date::MIN);
                let _ = annotate(&text, &found);
                let _ = annotate(&text, &find(&text, Date::MAX));
            }
        }
    }
}
