//! The times that a question names: "in May", "last week", "between June and August 2023", "the past ten days".
//!
//! A day or a month without a year stands for that day or month in every year. "Today" and "this week" are ignored:
//! "what should I cook tonight" asks about the present, not about memories from today. Start with [`find`].

use std::ops::{Range, RangeInclusive};

use cuebase_retrieval::Millis;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan};

use super::{
    CalendarDay, DateSpan, Word, calendar, count, foreign_month_number, month_number, numbered_month, relative,
    word_at, words, year_number,
};

/// Years before the current one in which a date without a year is looked for. The next year is included as well.
const YEARS_BACK: i16 = 60;
/// Dates that are read from one question.
const DATES_MAX: usize = 16;
/// Words before a time. After one of them, four digits are a year, and a word that can be a month is a month.
const LEAD_WORDS: [&str; 24] = [
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
/// Months that are also verbs or names of people.
const AMBIGUOUS_MONTHS: [&str; 8] = ["march", "april", "may", "june", "august", "jan", "mar", "jun"];
/// Words between the first and the last period of a range.
const RANGE_WORDS: [&str; 4] = ["and", "to", "until", "till"];

/// The times that a question names, and the words that name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuestionTimes {
    /// The times, ascending and disjoint.
    pub times: Vec<Range<Millis>>,
    /// The bytes of the words, ascending.
    pub words: Vec<Range<usize>>,
}

/// Returns the times that a question names when it is asked at `now` in a time zone.
pub fn find(question: &str, now: Timestamp, zone: &TimeZone) -> QuestionTimes {
    let today = now.to_zoned(zone.clone()).date();
    let words = words(question);
    let mut days = Vec::new();
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < words.len() && ranges.len() < DATES_MAX {
        let before = if at == 0 { "" } else { word_at(&words, at - 1) };
        let Some((length, first)) = Period::read(&words[at..], LEAD_WORDS.contains(&before), today) else {
            at += 1;
            continue;
        };
        let part = PartOfMonth::before(&words[..at]);
        ranges.push(words[at].range.start..words[at + length - 1].range.end);
        at += length;
        if matches!(before, "between" | "from")
            && RANGE_WORDS.contains(&word_at(&words, at))
            && let Some((length, last)) = Period::read(&words[at + 1..], true, today)
        {
            ranges.push(words[at + 1].range.start..words[at + length].range.end);
            at += 1 + length;
            days.extend(first.through(&last, today));
        } else {
            for range in first.days_after(before, today) {
                days.push(part.of(range));
            }
        }
    }
    let mut times = Vec::with_capacity(days.len());
    for range in days {
        times.push(milliseconds(range, zone));
    }
    QuestionTimes { times: joined(times), words: ranges }
}

/// The part of a month that a question is about: "at the beginning of April", "early April".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartOfMonth {
    Begin,
    Middle,
    End,
    Whole,
}

impl PartOfMonth {
    /// Reads the part that some words end with.
    fn before(words: &[Word]) -> Self {
        let word = match words {
            [.., word, last] if last.text == "of" => word,
            [.., word] => word,
            [] => return Self::Whole,
        };
        match word.text.as_str() {
            "early" | "beginning" | "start" => Self::Begin,
            "mid" | "middle" => Self::Middle,
            "late" | "end" => Self::End,
            _ => Self::Whole,
        }
    }

    /// Returns the part of the days of a month: about a third. Other periods are not divided.
    fn of(self, days: Range<Date>) -> Range<Date> {
        let month_end = days.start.checked_add(1.month());
        let is_month = days.start.day() == 1 && month_end.is_ok_and(|end| end == days.end);
        let (Ok(second), Ok(third)) = (days.start.checked_add(10.days()), days.start.checked_add(20.days())) else {
            return days;
        };
        match self {
            Self::Begin if is_month => days.start..second,
            Self::Middle if is_month => second..third,
            Self::End if is_month => third..days.end,
            _ => days,
        }
    }
}

/// A period that a date expression names.
enum Period {
    Days(Range<Date>),
    Year(i16),
    Month { month: i8, year: Option<i16> },
    Day(CalendarDay),
}

impl Period {
    /// Reads the expression at the beginning of some words. Returns how many words it has, and the period that it
    /// names. `led` is true after one of [`LEAD_WORDS`].
    fn read(words: &[Word], led: bool, today: Date) -> Option<(usize, Self)> {
        let first = word_at(words, 0);
        if let Some((length, day)) = calendar(words) {
            // "Which 3 may I take?"
            let is_ambiguous = day.year.is_none() && AMBIGUOUS_MONTHS.contains(&word_at(words, 1));
            if is_ambiguous && !led {
                return None;
            }
            return Some((length, Self::Day(day)));
        }
        if let Some((length, span)) = relative(words, today) {
            if matches!(first, "today" | "tonight" | "this") {
                return None;
            }
            return Some((length, Self::Days(span.days()?)));
        }
        if matches!(first, "last" | "past") {
            return recent(words, today);
        }
        if let Some(month) = month_number(first) {
            return Self::read_month(month, words, led);
        }
        if let Some((year, month)) = numbered_month(first) {
            return Some((1, Self::Month { month, year: Some(year) }));
        }
        if let Some(month) = foreign_month_number(first) {
            return Self::read_foreign_month(month, words);
        }
        let year = year_number(first)?;
        if !led {
            return None;
        }
        Some((1, Self::Year(year)))
    }

    /// Reads a month and, if there is one, its year: "May", "May 2023", "May of 2023". The first word names the month.
    fn read_month(month: i8, words: &[Word], led: bool) -> Option<(usize, Self)> {
        let second = word_at(words, 1);
        if let Some(year) = year_number(second) {
            return Some((2, Self::Month { month, year: Some(year) }));
        }
        if second == "of"
            && let Some(year) = year_number(word_at(words, 2))
        {
            return Some((3, Self::Month { month, year: Some(year) }));
        }
        if AMBIGUOUS_MONTHS.contains(&word_at(words, 0)) && !led {
            return None;
        }
        Some((1, Self::Month { month, year: None }))
    }

    /// Reads a month in another language with its year: "Februar 2025", "marzo de 2025". Without a year, the name may be
    /// another word.
    fn read_foreign_month(month: i8, words: &[Word]) -> Option<(usize, Self)> {
        let length = if matches!(word_at(words, 1), "de" | "del" | "do" | "di") { 3 } else { 2 };
        let year = year_number(word_at(words, length - 1))?;
        Some((length, Self::Month { month, year: Some(year) }))
    }

    /// Returns the year of the period, if the expression names one.
    fn year(&self) -> Option<i16> {
        match self {
            Self::Days(days) => Some(days.start.year()),
            Self::Year(year) => Some(*year),
            Self::Month { year, .. } | Self::Day(CalendarDay { year, .. }) => *year,
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

    /// Returns the days that the period names after a word: after "since", all days from its start; after a word
    /// without such a meaning, its own days.
    fn days_after(&self, before: &str, today: Date) -> Vec<Range<Date>> {
        if !matches!(before, "since" | "after" | "before" | "until" | "till") {
            return self.every(today);
        }
        let Some(days) = self.latest(today) else { return Vec::new() };
        let range = match before {
            "since" => days.start..Date::MAX,
            "after" => days.end..Date::MAX,
            "before" => Date::MIN..days.start,
            _ => Date::MIN..days.end,
        };
        Vec::from([range])
    }

    /// Returns the days from the period's first to the last of another period, which is in the same year or in the
    /// next.
    fn through(&self, last: &Self, today: Date) -> Vec<Range<Date>> {
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

/// Reads "last two weeks", "past month": the days up to and including today.
fn recent(words: &[Word], today: Date) -> Option<(usize, Period)> {
    let (length, count) = match count(word_at(words, 1)) {
        Some(count) => (3, count),
        None => (2, 1),
    };
    let back: Span = match word_at(words, length - 1) {
        "day" | "days" => count.days(),
        "week" | "weeks" => count.weeks(),
        "month" | "months" => count.months(),
        "year" | "years" => count.years(),
        _ => return None,
    };
    Some((length, Period::Days(today.checked_sub(back).ok()?..today.tomorrow().ok()?)))
}

/// Returns when days begin and end in a time zone. A bound that no timestamp can hold is open.
fn milliseconds(days: Range<Date>, zone: &TimeZone) -> Range<Millis> {
    let start = if days.start == Date::MIN { None } else { start_of(days.start, zone) };
    let end = if days.end == Date::MAX { None } else { start_of(days.end, zone) };
    start.unwrap_or(Millis::MIN)..end.unwrap_or(Millis::MAX)
}

fn start_of(day: Date, zone: &TimeZone) -> Option<Millis> {
    Some(day.to_zoned(zone.clone()).ok()?.timestamp().as_millisecond())
}

/// Returns ranges in ascending order; ranges that touch or overlap become one.
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

    /// Returns the times that a question names on Monday, 8 May 2023, as days; at most the latest two.
    fn days(question: &str) -> Vec<String> {
        let now = jiff::civil::date(2023, 5, 8).at(21, 0, 0, 0).to_zoned(TimeZone::UTC).expect("a time").timestamp();
        let day = |at: Millis| match Timestamp::from_millisecond(at) {
            Ok(at) => at.to_zoned(TimeZone::UTC).date().to_string(),
            Err(_) => "..".to_owned(),
        };
        let ranges = find(question, now, &TimeZone::UTC).times;
        let latest = ranges.len().saturating_sub(2);
        ranges[latest..].iter().map(|range| format!("{} {}", day(range.start), day(range.end))).collect()
    }

    #[test]
    fn times_are_read_in_the_forms_that_people_use() {
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
            ("at the beginning of April 2022", &["2022-04-01 2022-04-11"]),
            ("in mid June 2022", &["2022-06-11 2022-06-21"]),
            ("at the end of February 2022", &["2022-02-21 2022-03-01"]),
            ("late 2022", &["2022-01-01 2023-01-01"]),
            ("Wo wohnte Katrin im Februar 2022?", &["2022-02-01 2022-03-01"]),
            ("¿Dónde trabajaba Lucía en marzo de 2022?", &["2022-03-01 2022-04-01"]),
            ("Où habitait Camille en mars 2022 ?", &["2022-03-01 2022-04-01"]),
            ("Onde trabalhava o Nuno em março de 2022?", &["2022-03-01 2022-04-01"]),
            ("Dove abitava Davide a marzo 2022?", &["2022-03-01 2022-04-01"]),
            ("2022年3月王磊在哪里上班?", &["2022-03-01 2022-04-01"]),
        ] {
            assert_eq!(days(question), expected, "{question}");
        }
    }

    #[test]
    fn a_question_without_a_time_or_about_the_present_has_no_times() {
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
    fn the_number_of_dates_that_are_read_is_limited() {
        let question = "on 3 June and ".repeat(1000);
        let found = find(&question, Timestamp::UNIX_EPOCH, &TimeZone::UTC);
        assert_eq!((found.words.len(), found.times.len()), (DATES_MAX, 62));
    }

    #[test]
    fn a_day_begins_at_midnight_of_the_time_zone() {
        let now = "2023-05-08T03:00:00Z".parse().expect("a time");
        let zone = TimeZone::get("America/New_York").expect("known");
        let yesterday = "2023-05-06T04:00:00Z".parse::<Timestamp>().expect("a time").as_millisecond();
        let question = "What did I say yesterday?";
        let found = find(question, now, &zone);
        assert!(found.times.iter().eq([&(yesterday..yesterday + 86_400_000)]), "{found:?}");
        assert!(found.words.into_iter().map(|words| &question[words]).eq(["yesterday"]));
    }

    proptest! {
        #[test]
        fn the_times_of_any_text_are_ascending_and_disjoint(
            text in "\\PC{0,80}",
            spoken in "((last|past|next|between|from|since|before|and|to|a|two|31|7|may|june|of|2023|9999|weeks|years|ago|friday|é) ){0,12}",
            now in prop_oneof![Just(Timestamp::MIN), Just(Timestamp::MAX), Just(Timestamp::UNIX_EPOCH)],
        ) {
            for text in [text, spoken] {
                let QuestionTimes { times, words } = find(&text, now, &TimeZone::UTC);
                prop_assert!(words.iter().all(|range| text.get(range.clone()).is_some_and(|words| !words.is_empty())));
                prop_assert!(words.windows(2).all(|pair| pair[0].end <= pair[1].start));
                prop_assert!(times.iter().all(|range| range.start < range.end));
                prop_assert!(times.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
