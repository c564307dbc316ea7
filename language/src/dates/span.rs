//! The days that an expression names, and the arithmetic of units: the week before this one, three months ago.

use std::ops::Range;

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};

use super::languages::table::Unit;

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
    pub(crate) fn days(self) -> Option<Range<Date>> {
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
pub(crate) struct CalendarDay {
    pub(crate) year: Option<i16>,
    pub(crate) month: i8,
    pub(crate) day: i8,
}

pub(crate) fn add_days(date: Date, days: i64) -> Option<Date> {
    date.checked_add(days.days()).ok()
}

/// Returns the Monday of a day's week.
fn monday(date: Date) -> Option<Date> {
    date.checked_sub(i64::from(date.weekday().to_monday_zero_offset()).days()).ok()
}

/// Returns the unit that is `step` units after the one of today. The present day, week, month and year are not read as
/// dates.
pub(crate) fn adjacent(unit: Unit, step: i64, today: Date) -> Option<DateSpan> {
    let span = match unit {
        Unit::Week if step != 0 => DateSpan::Week(monday(add_days(today, 7 * step)?)?),
        Unit::Weekend => DateSpan::Weekend(add_days(monday(add_days(today, 7 * step)?)?, 5)?),
        Unit::Month if step != 0 => DateSpan::Month(today.checked_add(step.months()).ok()?),
        Unit::Year if step != 0 => DateSpan::Year(today.checked_add(step.years()).ok()?.year()),
        Unit::Day | Unit::Week | Unit::Month | Unit::Year => return None,
    };
    Some(span)
}

/// Returns the unit that is `count` units before the one of today.
pub(crate) fn units_ago(unit: Unit, count: i64, today: Date) -> Option<DateSpan> {
    let span = match unit {
        Unit::Day => DateSpan::Day(today.checked_sub(count.days()).ok()?),
        Unit::Week => DateSpan::Week(monday(today.checked_sub((7 * count).days()).ok()?)?),
        Unit::Month => DateSpan::Month(today.checked_sub(count.months()).ok()?),
        Unit::Year => DateSpan::Year(today.checked_sub(count.years()).ok()?.year()),
        Unit::Weekend => return None,
    };
    Some(span)
}

/// Returns the days of the last `count` units, up to and including today.
pub(crate) fn units_back(unit: Unit, count: i64, today: Date) -> Option<Range<Date>> {
    let back: Span = match unit {
        Unit::Day => count.days(),
        Unit::Week => count.weeks(),
        Unit::Month => count.months(),
        Unit::Year => count.years(),
        Unit::Weekend => return None,
    };
    Some(today.checked_sub(back).ok()?..today.tomorrow().ok()?)
}

/// Returns a day by its weekday: the latest before today, the first after today, or, without a step, the one of the
/// same week.
pub(crate) fn weekday_near(weekday: Weekday, step: i64, today: Date) -> Option<Date> {
    match step {
        ..0 => today.nth_weekday(-1, weekday).ok(),
        0 => weekday_of_week(weekday, 0, today),
        1.. => today.nth_weekday(1, weekday).ok(),
    }
}

/// Returns a weekday of the week that is `step` weeks after the one of today.
pub(crate) fn weekday_of_week(weekday: Weekday, step: i64, today: Date) -> Option<Date> {
    let monday = monday(add_days(today, 7 * step)?)?;
    add_days(monday, i64::from(weekday.to_monday_zero_offset()))
}

/// Returns a year between 1900 and 2200.
pub(crate) fn year_number(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..=2200).contains(year))
}

/// Returns a number of up to three digits.
pub(crate) fn small_number(word: &str) -> Option<i64> {
    let is_small = (1..=3).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    if is_small { word.parse().ok() } else { None }
}
