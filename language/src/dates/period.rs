//! A period that a question names, and the days that it stands for.
//!
//! A day or a month without a year stands for that day or month in every year around today.

use std::ops::{Range, RangeInclusive};

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};

use super::languages::table::Lead;
use super::span::{CalendarDay, DateSpan};

/// Years before the current one in which a date without a year is looked for. The next year is included as well.
const YEARS_BACK: i16 = 60;

/// A period in a question.
pub(crate) struct NamedPeriod {
    /// The words that name it, without the one that leads to it.
    pub(crate) words: Range<usize>,
    pub(crate) period: Period,
    pub(crate) lead: Lead,
}

/// A period that a date expression names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Period {
    Days(Range<Date>),
    Year(i16),
    Month { month: i8, year: Option<i16> },
    Day(CalendarDay),
    Ordered { day: OrderedDay, month: i8, year: Option<i16> },
}

/// A day by its order in a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderedDay {
    Last,
    /// The first is 1, the last -1.
    Weekday {
        weekday: Weekday,
        nth: i8,
    },
}

impl OrderedDay {
    fn in_month(self, first: Date) -> Option<Date> {
        match self {
            Self::Last => Some(first.last_of_month()),
            Self::Weekday { weekday, nth } => first.nth_weekday_of_month(nth, weekday).ok(),
        }
    }
}

impl Period {
    /// Whether the expression names a day or a month with its year, which no other words do by chance.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(
            self,
            Self::Month { year: Some(_), .. } | Self::Day(CalendarDay { year: Some(_), .. }) | Self::Ordered { .. }
        )
    }

    /// Returns the year of the period, if the expression names one.
    fn year(&self) -> Option<i16> {
        match self {
            Self::Days(days) => Some(days.start.year()),
            Self::Year(year) => Some(*year),
            Self::Month { year, .. } | Self::Day(CalendarDay { year, .. }) | Self::Ordered { year, .. } => *year,
        }
    }

    /// Returns the days of the period. A period without a year is taken to be in `year`.
    fn days_in(&self, year: i16) -> Option<Range<Date>> {
        match self {
            Self::Days(days) => Some(days.clone()),
            Self::Year(year) => DateSpan::Year(*year).days(),
            Self::Month { month, year: named } => {
                DateSpan::Month(Date::new(named.unwrap_or(year), *month, 1).ok()?).days()
            }
            Self::Day(day) => DateSpan::Day(Date::new(day.year.unwrap_or(year), day.month, day.day).ok()?).days(),
            Self::Ordered { day, month, year: named } => {
                DateSpan::Day(day.in_month(Date::new(named.unwrap_or(year), *month, 1).ok()?)?).days()
            }
        }
    }

    /// Returns the days of the period in every year that is considered.
    fn every(&self, today: Date) -> Vec<Range<Date>> {
        let mut every = Vec::new();
        for year in self.years(today) {
            if let Some(days) = self.days_in(year) {
                every.push(days);
            }
        }
        every
    }

    /// Returns the days of the period in the latest year in which it has begun.
    fn latest(&self, today: Date) -> Option<Range<Date>> {
        let has_year = self.year().is_some();
        self.every(today).into_iter().rfind(|days| has_year || days.start <= today)
    }

    /// Returns the days that the period names after a word: after "since", all days from its start; after "early", the
    /// first days of a month; after a word without such a meaning, its own days.
    pub(crate) fn days_after(&self, lead: Lead, today: Date) -> Vec<Range<Date>> {
        if !matches!(lead, Lead::Since | Lead::After | Lead::Before | Lead::Until) {
            let mut parts = Vec::new();
            for days in self.every(today) {
                parts.push(part_of(days, lead));
            }
            return parts;
        }
        let Some(days) = self.latest(today) else { return Vec::new() };
        let range = match lead {
            Lead::Since => days.start..Date::MAX,
            Lead::After => days.end..Date::MAX,
            Lead::Before => Date::MIN..days.start,
            _ => Date::MIN..days.end,
        };
        Vec::from([range])
    }

    /// Returns the days from the period's first to the last of another period, which is in the same year or in the
    /// next.
    pub(crate) fn through(&self, last: &Self, today: Date) -> Vec<Range<Date>> {
        let years = if self.year().is_some() { self.years(today) } else { last.years(today) };
        let mut ranges = Vec::new();
        for year in years {
            if let Some(days) = self.days_in(year)
                && let Some(end) = last.end_after(days.start, year)
            {
                ranges.push(days.start..end);
            }
        }
        ranges
    }

    /// Returns the end of the period in a year, or in the next year if the period has ended before `start`.
    fn end_after(&self, start: Date, year: i16) -> Option<Date> {
        for year in [year, year + 1] {
            if let Some(days) = self.days_in(year)
                && days.end > start
            {
                return Some(days.end);
            }
        }
        None
    }

    /// Returns the years that are considered: the period's own, or, if it names none, those around today.
    fn years(&self, today: Date) -> RangeInclusive<i16> {
        match self.year() {
            Some(year) => year..=year,
            None => today.year().saturating_sub(YEARS_BACK)..=today.year().saturating_add(1),
        }
    }
}

/// Returns the part of the days of a month: about a third. Other periods are not divided.
fn part_of(days: Range<Date>, lead: Lead) -> Range<Date> {
    let month_end = days.start.checked_add(1.month());
    let is_month = days.start.day() == 1 && month_end.is_ok_and(|end| end == days.end);
    let (Ok(second), Ok(third)) = (days.start.checked_add(10.days()), days.start.checked_add(20.days())) else {
        return days;
    };
    match lead {
        Lead::Begin if is_month => days.start..second,
        Lead::Middle if is_month => second..third,
        Lead::End if is_month => third..days.end,
        _ => days,
    }
}
