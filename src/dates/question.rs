//! The times that a question names: "in May", "last week", "between June and August 2023", "the past ten days".
//!
//! A day or a month without its year is meant in any year. What is said of today or of this week is left alone: "what
//! should I cook tonight" asks about now, not for what was told today.

use std::ops::{Range, RangeInclusive};

use cuebase_retrieval::Millis;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span as Length, Timestamp, ToSpan};

use super::{CalendarDay, Span, Word, calendar, count, month, relative, word, words, year};

/// Without a year, so many back are looked at, and one ahead.
const YEARS_BACK: i16 = 60;
/// So many dates of a question are read; what follows are words.
const DATES_MAX: usize = 16;
/// Behind one of these words four digits are a year, and what may be a month is one.
const LEADING: [&str; 24] = [
    "in",
    "on",
    "of",
    "during",
    "since",
    "after",
    "before",
    "until",
    "till",
    "from",
    "between",
    "through",
    "throughout",
    "early",
    "mid",
    "late",
    "last",
    "next",
    "year",
    "spring",
    "summer",
    "autumn",
    "fall",
    "winter",
];
/// Months that are verbs or people's names as well.
const PERHAPS_MONTHS: [&str; 8] = ["march", "april", "may", "june", "august", "jan", "mar", "jun"];

/// What a question names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The times, ascending and apart from each other.
    pub times: Vec<Range<Millis>>,
    /// The bytes of their words, ascending.
    pub words: Vec<Range<usize>>,
}

/// The times that a question names when it is asked at `now` in a time zone.
pub fn named(question: &str, now: Timestamp, zone: &TimeZone) -> Named {
    let today = now.to_zoned(zone.clone()).date();
    let words = words(question);
    let (mut days, mut named) = (Vec::new(), Vec::new());
    let bytes = |of: Range<usize>| words[of.start].range.start..words[of.end - 1].range.end;
    let mut at = 0;
    while at < words.len() && named.len() < DATES_MAX {
        let before = at.checked_sub(1).map_or("", |before| word(&words, before));
        let Some((length, first)) = Period::read(&words[at..], LEADING.contains(&before), today) else {
            at += 1;
            continue;
        };
        named.push(bytes(at..at + length));
        at += length;
        match before {
            "since" => days.extend(first.latest(today).map(|days| days.start..Date::MAX)),
            "after" => days.extend(first.latest(today).map(|days| days.end..Date::MAX)),
            "before" => days.extend(first.latest(today).map(|days| Date::MIN..days.start)),
            "until" | "till" => days.extend(first.latest(today).map(|days| Date::MIN..days.end)),
            "between" | "from" if ["and", "to", "until", "till"].contains(&word(&words, at)) => {
                match Period::read(&words[at + 1..], true, today) {
                    Some((length, last)) => {
                        named.push(bytes(at + 1..at + 1 + length));
                        at += 1 + length;
                        days.extend(first.through(&last, today));
                    }
                    None => days.extend(first.every(today)),
                }
            }
            _ => days.extend(first.every(today)),
        }
    }
    Named { times: joined(days.into_iter().map(|days| milliseconds(days, zone)).collect()), words: named }
}

/// Something that a date expression names.
enum Period {
    Days(Range<Date>),
    Year(i16),
    Month { month: i8, year: Option<i16> },
    Day(CalendarDay),
}

impl Period {
    /// The expression that begins with the first word: how many words, and what it names. `led` says whether a word
    /// stands before it that only a time follows.
    fn read(words: &[Word], led: bool, today: Date) -> Option<(usize, Self)> {
        let first = word(words, 0);
        if let Some((length, day)) = calendar(words) {
            // "Which 3 may I take?"
            let perhaps_no_day = day.year.is_none() && PERHAPS_MONTHS.contains(&word(words, 1));
            return (led || !perhaps_no_day).then_some((length, Self::Day(day)));
        }
        if let Some((length, span)) = relative(words, today) {
            let about_now = ["today", "tonight", "this"].contains(&first);
            return (!about_now).then_some((length, Self::Days(span.days()?)));
        }
        if let "last" | "past" = first {
            return recent(words, today);
        }
        if let Some(month) = month(first) {
            let (length, year) = match (year(word(words, 1)), word(words, 1)) {
                (Some(year), _) => (2, Some(year)),
                (None, "of") if year(word(words, 2)).is_some() => (3, year(word(words, 2))),
                _ => (1, None),
            };
            let perhaps_no_month = year.is_none() && PERHAPS_MONTHS.contains(&first);
            return (led || !perhaps_no_month).then_some((length, Self::Month { month, year }));
        }
        year(first).filter(|_| led).map(|year| (1, Self::Year(year)))
    }

    /// The year that it names, or that it is of.
    fn year(&self) -> Option<i16> {
        match self {
            Self::Days(days) => Some(days.start.year()),
            Self::Year(year) => Some(*year),
            Self::Month { year, .. } | Self::Day(CalendarDay { year, .. }) => *year,
        }
    }

    /// Its days, where it would be of that year if it names none.
    fn of(&self, year: i16) -> Option<Range<Date>> {
        match self {
            Self::Days(days) => Some(days.clone()),
            Self::Year(year) => Span::Year(*year).days(),
            Self::Month { month, year: named } => Span::Month(Date::new(named.unwrap_or(year), *month, 1).ok()?).days(),
            Self::Day(day) => Span::Day(Date::new(day.year.unwrap_or(year), day.month, day.day).ok()?).days(),
        }
    }

    /// Its days in every year that may be meant.
    fn every(&self, today: Date) -> Vec<Range<Date>> {
        self.years(today).filter_map(|year| self.of(year)).collect()
    }

    /// Its days in the latest year in which it has begun.
    fn latest(&self, today: Date) -> Option<Range<Date>> {
        let named = self.year().is_some();
        self.every(today).into_iter().rfind(|days| named || days.start <= today)
    }

    /// From its first day to the last one of another period: of the same year, or of the one after.
    fn through(&self, last: &Self, today: Date) -> Vec<Range<Date>> {
        let years = if self.year().is_some() { self.years(today) } else { last.years(today) };
        let days = |year: i16| {
            let first = self.of(year)?;
            let last = [year, year + 1].into_iter().filter_map(|year| last.of(year));
            last.map(|last| last.end).find(|end| *end > first.start).map(|end| first.start..end)
        };
        years.filter_map(days).collect()
    }

    fn years(&self, today: Date) -> RangeInclusive<i16> {
        match self.year() {
            Some(year) => year..=year,
            None => today.year().saturating_sub(YEARS_BACK)..=today.year().saturating_add(1),
        }
    }
}

/// "last two weeks", "past month": up to today.
fn recent(words: &[Word], today: Date) -> Option<(usize, Period)> {
    let (length, count) = count(word(words, 1)).map_or((2, 1), |count| (3, count));
    let back: Length = match word(words, length - 1) {
        "day" | "days" => count.days(),
        "week" | "weeks" => count.weeks(),
        "month" | "months" => count.months(),
        "year" | "years" => count.years(),
        _ => return None,
    };
    Some((length, Period::Days(today.checked_sub(back).ok()?..today.tomorrow().ok()?)))
}

/// When some days begin and end in a time zone; those that lie beyond all times are open.
fn milliseconds(days: Range<Date>, zone: &TimeZone) -> Range<Millis> {
    let at = |day: Date| Some(day.to_zoned(zone.clone()).ok()?.timestamp().as_millisecond());
    let (begin, end) =
        (Some(days.start).filter(|day| *day != Date::MIN), Some(days.end).filter(|day| *day != Date::MAX));
    begin.and_then(at).unwrap_or(Millis::MIN)..end.and_then(at).unwrap_or(Millis::MAX)
}

/// Ranges in ascending order, those that meet made one.
fn joined(mut ranges: Vec<Range<Millis>>) -> Vec<Range<Millis>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<Millis>> = Vec::with_capacity(ranges.len());
    for range in ranges.into_iter().filter(|range| !range.is_empty()) {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a question names on Monday, 8 May 2023, as days; at most the latest two.
    fn days(question: &str) -> Vec<String> {
        let now = jiff::civil::date(2023, 5, 8).at(21, 0, 0, 0).to_zoned(TimeZone::UTC).expect("a time").timestamp();
        let day = |at: Millis| match Timestamp::from_millisecond(at) {
            Ok(at) => at.to_zoned(TimeZone::UTC).date().to_string(),
            Err(_) => "..".to_owned(),
        };
        let ranges = named(question, now, &TimeZone::UTC).times;
        let latest = ranges.len().saturating_sub(2);
        ranges[latest..].iter().map(|range| format!("{} {}", day(range.start), day(range.end))).collect()
    }

    #[test]
    fn times_are_read_as_people_name_them() {
        for (question, expected) in [
            ("What did I buy on 7 July, 2022?", &["2022-07-07 2022-07-08"][..]),
            ("What did I buy on July 7th 2022?", &["2022-07-07 2022-07-08"]),
            ("Who came in October 2022?", &["2022-10-01 2022-11-01"]),
            ("Who came in October of 2022?", &["2022-10-01 2022-11-01"]),
            ("Who came in Oct. 2022?", &["2022-10-01 2022-11-01"]),
            ("Who came on 3 Sept 2022 or on Jan 5, 2023?", &["2022-09-03 2022-09-04", "2023-01-05 2023-01-06"]),
            ("who came in october", &["2023-10-01 2023-11-01", "2024-10-01 2024-11-01"]),
            ("where was I in 2021", &["2021-01-01 2022-01-01"]),
            ("What happened yesterday?", &["2023-05-07 2023-05-08"]),
            ("What happened last week?", &["2023-05-01 2023-05-08"]),
            ("What happened last weekend?", &["2023-05-06 2023-05-08"]),
            ("What happened last month?", &["2023-04-01 2023-05-01"]),
            ("What happened two months ago?", &["2023-03-01 2023-04-01"]),
            ("What is on next Friday?", &["2023-05-12 2023-05-13"]),
            ("in the past ten days", &["2023-04-28 2023-05-09"]),
            ("the last 2 weeks", &["2023-04-24 2023-05-09"]),
            ("over the past month", &["2023-04-08 2023-05-09"]),
            ("What did I learn since March 2022?", &["2022-03-01 .."]),
            ("What did I learn since March?", &["2023-03-01 .."]),
            ("after June", &["2022-07-01 .."]),
            ("before 2020", &[".. 2020-01-01"]),
            ("until May 2021", &[".. 2021-06-01"]),
            ("between June and August 2022", &["2022-06-01 2022-09-01"]),
            ("from 28 December 2022 to 3 January", &["2022-12-28 2023-01-04"]),
            ("between November and February", &["2023-11-01 2024-03-01", "2024-11-01 2025-03-01"]),
            ("between March and the end", &["2023-03-01 2023-04-01", "2024-03-01 2024-04-01"]),
            ("in May 2022 or June 2022 or in March 2022", &["2022-03-01 2022-04-01", "2022-05-01 2022-07-01"]),
            ("in the summer of 2022", &["2022-01-01 2023-01-01"]),
        ] {
            assert_eq!(days(question), expected, "{question}");
        }
    }

    #[test]
    fn what_names_no_time_or_only_now_is_left_alone() {
        for question in [
            "What should I cook tonight?",
            "What should I wear today, and what this weekend?",
            "May I march there?",
            "Which 3 may I take, and what did June and April say?",
            "the 2000 piece puzzle",
            "at last",
            "What did Jan and Jun mar?",
            "30 February 2022",
            "in 12345",
            "",
        ] {
            assert_eq!(days(question), [""; 0], "{question}");
        }
    }

    #[test]
    fn only_so_many_dates_are_read() {
        let question = "on 3 June and ".repeat(1000);
        let named = named(&question, Timestamp::UNIX_EPOCH, &TimeZone::UTC);
        assert_eq!((named.words.len(), named.times.len()), (DATES_MAX, 62));
    }

    #[test]
    fn a_day_is_the_zones_own() {
        let now = "2023-05-08T03:00:00Z".parse().expect("a time");
        let zone = TimeZone::get("America/New_York").expect("known");
        let yesterday = "2023-05-06T04:00:00Z".parse::<Timestamp>().expect("a time").as_millisecond();
        let asked = "What did I say yesterday?";
        let named = named(asked, now, &zone);
        assert!(named.times.iter().eq([&(yesterday..yesterday + 86_400_000)]), "{named:?}");
        assert!(named.words.into_iter().map(|words| &asked[words]).eq(["yesterday"]));
    }

    proptest! {
        #[test]
        fn whatever_is_asked_the_times_are_in_order_and_apart(
            text in "\\PC{0,80}",
            spoken in "((last|past|next|between|from|since|before|and|to|a|two|31|7|may|june|of|2023|9999|weeks|years|ago|friday|é) ){0,12}",
            now in prop_oneof![Just(Timestamp::MIN), Just(Timestamp::MAX), Just(Timestamp::UNIX_EPOCH)],
        ) {
            for text in [text, spoken] {
                let Named { times, words } = named(&text, now, &TimeZone::UTC);
                prop_assert!(words.iter().all(|range| text.get(range.clone()).is_some_and(|words| !words.is_empty())));
                prop_assert!(words.windows(2).all(|pair| pair[0].end <= pair[1].start));
                prop_assert!(times.iter().all(|range| range.start < range.end));
                prop_assert!(times.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
