//! The times that a question names: "in May", "last week", "between June and August 2023", "the past ten days".
//!
//! A day or a month without a year stands for that day or month in every year. "Today" and "this week" are ignored:
//! "what should I cook tonight" asks about the present, not about memories from today. Start with [`find`].

use std::ops::Range;

use super::Millis;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::languages::table::{Language, Lead};
use super::period::{NamedPeriod, Period};
use super::words::Text;
use super::{english, grammar};

/// Dates that are read from one question.
const DATES_MAX: usize = 16;

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
    let text = Text::read(question);
    let mut days = Vec::new();
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < text.words.len() && ranges.len() < DATES_MAX {
        let Some(first) = named_period(&text, at, today) else {
            at = grammar::end_of_no_date(&text, at).unwrap_or(at + 1);
            continue;
        };
        ranges.push(text.bytes(&first.words));
        at = first.words.end;
        match last_period(&text, &first, today) {
            Some(last) => {
                ranges.push(text.bytes(&last.words));
                at = last.words.end;
                days.extend(first.period.through(&last.period, today));
            }
            None => days.extend(first.period.days_after(first.lead, today)),
        }
    }
    let mut times = Vec::with_capacity(days.len());
    for range in days {
        times.push(milliseconds(range, zone));
    }
    QuestionTimes { times: joined(times), words: ranges }
}

/// Reads the period at a word: in the language of the text, or, if that is not known, in English before others.
fn named_period(text: &Text<'_>, at: usize, today: Date) -> Option<NamedPeriod> {
    let english = english::named_period(&text.words, at, today);
    if text.is_in_another_language(Language::English) {
        return foreign_period(text, at, today).or(english.filter(|named| is_english(text, named)));
    }
    if english.is_some() {
        return english;
    }
    let named = foreign_period(text, at, today)?;
    // In "in May 5", "in" is a word of several languages.
    let is_english = named.words.start > at && english::named_period(&text.words, named.words.start, today).is_some();
    if is_english { None } else { Some(named) }
}

fn foreign_period(text: &Text<'_>, at: usize, today: Date) -> Option<NamedPeriod> {
    if grammar::end_of_no_date(text, at).is_some() {
        return None;
    }
    grammar::named_period(text, at, today)
}

/// Whether an English period counts in a text in another language: "sept" is seven in French.
fn is_english(text: &Text<'_>, named: &NamedPeriod) -> bool {
    let is_word_of_text = named.words.clone().any(|at| text.is_word_of_its_language(at));
    named.period.is_complete() || matches!(named.period, Period::Days(_)) || !is_word_of_text
}

/// Reads the last period of a range that begins with a period.
fn last_period(text: &Text<'_>, first: &NamedPeriod, today: Date) -> Option<NamedPeriod> {
    let at = first.words.end;
    if first.lead == Lead::Between
        && let Some(last) = english::last_period(&text.words, at, today)
    {
        return Some(last);
    }
    grammar::last_period(text, at, first.lead, today)
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
            ("on the last day of February 2022", &["2022-02-28 2022-03-01"]),
            ("on the first Sunday in June 2022", &["2022-06-05 2022-06-06"]),
            ("on the last Friday of May", &["2023-05-26 2023-05-27", "2024-05-31 2024-06-01"]),
            ("in the last days of April 2022", &["2022-04-21 2022-05-01"]),
            ("in the first week of April 2022", &["2022-04-01 2022-04-11"]),
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
