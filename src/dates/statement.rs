//! Dates in a statement, read against the day on which it was said.

use std::ops::Range;

use jiff::civil::Date;

use super::{CalendarDay, Span, Word, calendar, relative, words};

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

/// The expression that begins with the first word: how many words, what it names, whether it names it in full.
fn read(words: &[Word], said: Date) -> Option<(usize, Span, bool)> {
    if let Some((length, span)) = relative(words, said) {
        return Some((length, span, false));
    }
    let (length, day) = calendar(words)?;
    Some((length, Span::Day(nearest(day, said)?), day.year.is_some()))
}

/// A day of the calendar; without a year, the one nearest to when it was said.
fn nearest(CalendarDay { year, month, day }: CalendarDay, said: Date) -> Option<Date> {
    if let Some(year) = year {
        return Date::new(year, month, day).ok();
    }
    let near = [said.year() - 1, said.year(), said.year() + 1];
    let candidates = near.into_iter().filter_map(|year| Date::new(year, month, day).ok());
    candidates.min_by_key(|date| said.until(*date).map_or(i32::MAX, |span| span.get_days().abs()))
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
            ("on Feb. 20", "on Feb. 20 (20 February 2023)"),
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
