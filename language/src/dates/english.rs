//! Dates in English: days of the calendar ("7 May 2023"), relative ones ("last week"), and the periods of questions.

use jiff::civil::{Date, Weekday};

use super::languages::english::{AMBIGUOUS_MONTHS, LEAD_WORDS, NUMBERS, RANGE_WORDS, WEEKDAYS, month_number};
use super::languages::table::{Lead, Unit};
use super::period::{NamedPeriod, OrderedDay, Period};
use super::span::{
    CalendarDay, DateSpan, add_days, adjacent, small_number, units_ago, units_back, weekday_near, year_number,
};
use super::words::{Word, word_at};

/// Reads "yesterday", "last week", "three days ago" at the beginning of some words. Returns how many words the
/// expression has, and the days that it names.
pub(crate) fn relative(words: &[Word<'_>], today: Date) -> Option<(usize, DateSpan)> {
    match word_at(words, 0) {
        "today" | "tonight" => Some((1, DateSpan::Day(today))),
        "yesterday" => Some((1, DateSpan::Day(add_days(today, -1)?))),
        "tomorrow" => Some((1, DateSpan::Day(add_days(today, 1)?))),
        "last" => Some((2, after_step(-1, word_at(words, 1), today)?)),
        "this" => Some((2, after_step(0, word_at(words, 1), today)?)),
        "next" => Some((2, after_step(1, word_at(words, 1), today)?)),
        _ => ago(words, today),
    }
}

/// Reads "last night", "this weekend", "next Friday", without the first word.
fn after_step(step: i64, unit: &str, today: Date) -> Option<DateSpan> {
    match unit {
        "night" if step < 0 => Some(DateSpan::Day(add_days(today, -1)?)),
        "morning" | "afternoon" | "evening" if step == 0 => Some(DateSpan::Day(today)),
        "week" => adjacent(Unit::Week, step, today),
        "weekend" => adjacent(Unit::Weekend, step, today),
        "month" => adjacent(Unit::Month, step, today),
        "year" => adjacent(Unit::Year, step, today),
        name => {
            let (_, weekday) = WEEKDAYS.into_iter().find(|(other, _)| *other == name)?;
            Some(DateSpan::Day(weekday_near(weekday, step, today)?))
        }
    }
}

/// Reads "three weeks ago", "a month ago"; "a few days ago" names no certain day.
fn ago(words: &[Word<'_>], today: Date) -> Option<(usize, DateSpan)> {
    if word_at(words, 2) != "ago" {
        return None;
    }
    let count = count(word_at(words, 0))?;
    Some((3, units_ago(unit(word_at(words, 1))?, count, today)?))
}

/// Reads the name of a weekday.
pub(crate) fn weekday(words: &[Word<'_>], at: usize) -> Option<Weekday> {
    let name = word_at(words, at);
    WEEKDAYS.into_iter().find(|(other, _)| *other == name).map(|(_, weekday)| weekday)
}

/// Whether a word is "weekend".
pub(crate) fn is_weekend(words: &[Word<'_>], at: usize) -> bool {
    word_at(words, at) == "weekend"
}

/// Reads a unit after a number.
fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "day" | "days" => Unit::Day,
        "week" | "weeks" => Unit::Week,
        "month" | "months" => Unit::Month,
        "year" | "years" => Unit::Year,
        _ => return None,
    })
}

/// Reads a number: "a", "7", "three".
fn count(word: &str) -> Option<i64> {
    if matches!(word, "a" | "an") {
        return Some(1);
    }
    if let Some(number) = small_number(word) {
        return Some(number);
    }
    let index = NUMBERS.iter().position(|number| *number == word)?;
    Some(index as i64 + 1)
}

/// Reads "2023-05-07", "7 May 2023", "7th of May", "May 7, 2023", "May 7th" at the beginning of some words. Returns how
/// many words the expression has, and the day that it names.
pub(crate) fn calendar(words: &[Word<'_>]) -> Option<(usize, CalendarDay)> {
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

/// Reads "March 2022", "March of 2022", "in 2022" at the beginning of some words: a month or a year with its number.
/// Returns how many words the expression has, and the days that it names.
pub(crate) fn month_or_year(words: &[Word<'_>]) -> Option<(usize, DateSpan)> {
    let (first, second) = (word_at(words, 0), word_at(words, 1));
    if first == "in"
        && let Some(year) = year_number(second)
    {
        return Some((2, DateSpan::Year(year)));
    }
    let month = month_number(first)?;
    let length = if second == "of" { 3 } else { 2 };
    let year = year_number(word_at(words, length - 1))?;
    Some((length, DateSpan::Month(Date::new(year, month, 1).ok()?)))
}

/// Returns the day of a month: "7", "7th".
fn day_number(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

/// Reads the period that begins at a word of a question.
pub(crate) fn named_period(words: &[Word<'_>], at: usize, today: Date) -> Option<NamedPeriod> {
    let before = if at == 0 { "" } else { word_at(words, at - 1) };
    let led = if LEAD_WORDS.contains(&before) { Led::Yes } else { Led::No };
    let (length, period) = period(&words[at..], led, today)?;
    Some(NamedPeriod { words: at..at + length, period, lead: lead(&words[..at]) })
}

/// Reads the last period of a range, after "to" or "and".
pub(crate) fn last_period(words: &[Word<'_>], at: usize, today: Date) -> Option<NamedPeriod> {
    if !RANGE_WORDS.contains(&word_at(words, at)) {
        return None;
    }
    let (length, period) = period(&words[at + 1..], Led::Yes, today)?;
    Some(NamedPeriod { words: at + 1..at + 1 + length, period, lead: Lead::In })
}

/// Returns how the time after some words is meant: "since", "at the beginning of", "early".
fn lead(words: &[Word<'_>]) -> Lead {
    let word = match words {
        [.., word, part, last] if last.text == "of" && matches!(&*part.text, "days" | "week" | "part") => word,
        [.., word, last] if last.text == "of" => word,
        [.., word] => word,
        [] => return Lead::In,
    };
    match &*word.text {
        "early" | "beginning" | "start" => return Lead::Begin,
        "mid" | "middle" => return Lead::Middle,
        "late" | "end" => return Lead::End,
        // "The last days of April"; "in last April" is one of last year.
        "first" if words.last().is_some_and(|last| last.text == "of") => return Lead::Begin,
        "last" | "final" if words.last().is_some_and(|last| last.text == "of") => return Lead::End,
        _ => {}
    }
    match word_at(words, words.len() - 1) {
        "since" => Lead::Since,
        "after" => Lead::After,
        "before" => Lead::Before,
        "until" | "till" => Lead::Until,
        "between" | "from" => Lead::Between,
        _ => Lead::In,
    }
}

/// Whether one of [`LEAD_WORDS`] stands before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Led {
    Yes,
    No,
}

/// Reads the expression at the beginning of some words. Returns how many words it has, and the period that it names.
fn period(words: &[Word<'_>], led: Led, today: Date) -> Option<(usize, Period)> {
    let first = word_at(words, 0);
    if let Some(found) = day_by_order(words) {
        return Some(found);
    }
    if let Some((length, day)) = calendar(words) {
        // "Which 3 may I take?"
        let is_ambiguous = day.year.is_none() && AMBIGUOUS_MONTHS.contains(&word_at(words, 1));
        if is_ambiguous && led == Led::No {
            return None;
        }
        return Some((length, Period::Day(day)));
    }
    if let Some((length, span)) = relative(words, today) {
        if matches!(first, "today" | "tonight" | "this") {
            return None;
        }
        return Some((length, Period::Days(span.days()?)));
    }
    if matches!(first, "last" | "past") {
        return recent(words, today);
    }
    if let Some(month) = month_number(first) {
        return month_period(month, words, led);
    }
    let year = year_number(first)?;
    if led == Led::No {
        return None;
    }
    Some((1, Period::Year(year)))
}

/// Reads "last day of May", "first Sunday in June 2026": a day by its order in a month.
fn day_by_order(words: &[Word<'_>]) -> Option<(usize, Period)> {
    let nth = match word_at(words, 0) {
        "first" => 1,
        "second" => 2,
        "third" => 3,
        "fourth" => 4,
        "last" => -1,
        _ => return None,
    };
    let weekday = weekday(words, 1);
    let is_last_day = (word_at(words, 1), nth) == ("day", -1);
    if !matches!(word_at(words, 2), "of" | "in") || (weekday.is_none() && !is_last_day) {
        return None;
    }
    let month = month_number(word_at(words, 3))?;
    let year = year_number(word_at(words, 4));
    let length = if year.is_some() { 5 } else { 4 };
    let day = match weekday {
        Some(weekday) => OrderedDay::Weekday { weekday, nth },
        None => OrderedDay::Last,
    };
    Some((length, Period::Ordered { day, month, year }))
}

/// Reads a month and, if there is one, its year: "May", "May 2023", "May of 2023". The first word names the month.
fn month_period(month: i8, words: &[Word<'_>], led: Led) -> Option<(usize, Period)> {
    let second = word_at(words, 1);
    if let Some(year) = year_number(second) {
        return Some((2, Period::Month { month, year: Some(year) }));
    }
    if second == "of"
        && let Some(year) = year_number(word_at(words, 2))
    {
        return Some((3, Period::Month { month, year: Some(year) }));
    }
    if AMBIGUOUS_MONTHS.contains(&word_at(words, 0)) && led == Led::No {
        return None;
    }
    Some((1, Period::Month { month, year: None }))
}

/// Reads "last two weeks", "past month": the days up to and including today.
fn recent(words: &[Word<'_>], today: Date) -> Option<(usize, Period)> {
    let (length, count) = match count(word_at(words, 1)) {
        Some(count) => (3, count),
        None => (2, 1),
    };
    let unit = unit(word_at(words, length - 1))?;
    // "The last days of April" are not the last days up to today.
    if word_at(words, length) == "of" {
        return None;
    }
    Some((length, Period::Days(units_back(unit, count, today)?)))
}
