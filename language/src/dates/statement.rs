//! Dates in a statement, read relative to the day on which it was said.

use std::ops::Range;

use jiff::civil::{Date, Weekday};

use super::english;
use super::grammar::{self, MentionedDate};
use super::languages::table::{Language, Unit};
use super::span::{CalendarDay, DateSpan, adjacent, weekday_near};
use super::words::Text;

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

/// A date expression in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DateMention {
    /// The bytes of the expression in the statement.
    pub range: Range<usize>,
    /// The days that it names.
    pub span: DateSpan,
    /// Whether the expression names its year ("7 May 2023"), so that it needs no note.
    pub explicit: bool,
}

impl DateMention {
    /// Returns the day, if the expression names a single one.
    pub fn exact_day(&self) -> Option<Date> {
        match self.span {
            DateSpan::Day(date) => Some(date),
            _ => None,
        }
    }
}

/// Returns the days that a statement is about: the first exact day that it names, else the first month or year. A week
/// or a weekend is near the day of the statement, which is the more exact time. `None` if there is none of these.
pub fn main_span(mentions: &[DateMention]) -> Option<DateSpan> {
    let mut period = None;
    for mention in mentions {
        match mention.span {
            DateSpan::Day(_) => return Some(mention.span),
            DateSpan::Month(_) | DateSpan::Year(_) => period = period.or(Some(mention.span)),
            DateSpan::Week(_) | DateSpan::Weekend(_) => {}
        }
    }
    period
}

/// Returns the date expressions in a statement, in order and without overlap. `said` is the day of the statement.
pub fn find(statement: &str, said: Date) -> Vec<DateMention> {
    let text = Text::read(statement);
    let mut mentions = Vec::new();
    let mut at = 0;
    while at < text.words.len() {
        match read(&text, at, said) {
            Some((end, span, explicit)) => {
                mentions.push(DateMention { range: text.bytes(&(at..end)), span, explicit });
                at = end;
            }
            None => at = grammar::end_of_no_date(&text, at).unwrap_or(at + 1),
        }
    }
    mentions
}

/// Whether a statement may tell of some days shortly before it: it names one of them, or a weekday or a weekend of theirs
/// as people name it afterwards ("Saturday was the wedding").
pub fn may_tell_of(statement: &str, said: Date, days: &Range<Date>) -> bool {
    let text = Text::read(statement);
    for at in 0..text.words.len() {
        let named = match read(&text, at, said) {
            Some((_, span, _)) => span.days(),
            None => weekday_or_weekend(&text, at, said),
        };
        if let Some(named) = named
            && named.start < days.end
            && days.start < named.end
        {
            return true;
        }
    }
    false
}

/// Reads a weekday or "weekend" as the latest one up to the day of the statement.
fn weekday_or_weekend(text: &Text<'_>, at: usize, said: Date) -> Option<Range<Date>> {
    if let Some(weekday) = english::weekday(&text.words, at).or_else(|| grammar::weekday_at(text, at)) {
        let day = if said.weekday() == weekday { said } else { weekday_near(weekday, -1, said)? };
        return DateSpan::Day(day).days();
    }
    if english::is_weekend(&text.words, at) || grammar::is_weekend(text, at) {
        let is_weekend = matches!(said.weekday(), Weekday::Saturday | Weekday::Sunday);
        return adjacent(Unit::Weekend, if is_weekend { 0 } else { -1 }, said)?.days();
    }
    None
}

/// Returns the statement with a note after every date whose meaning depends on the day of the statement.
pub fn annotate(statement: &str, mentions: &[DateMention]) -> String {
    let mut annotated = String::with_capacity(statement.len() + 24 * mentions.len());
    let mut at = 0;
    for mention in mentions.iter().filter(|mention| !mention.explicit) {
        annotated.push_str(&statement[at..mention.range.end]);
        annotated.push_str(&format!(" ({})", describe(mention.span)));
        at = mention.range.end;
    }
    annotated.push_str(&statement[at..]);
    annotated
}

fn describe(span: DateSpan) -> String {
    match span {
        DateSpan::Day(date) => describe_day(date),
        DateSpan::Week(monday) => format!("week of {}", describe_day(monday)),
        DateSpan::Weekend(saturday) => format!("weekend of {}", describe_day(saturday)),
        DateSpan::Month(date) => format!("{} {}", month_name(date), date.year()),
        DateSpan::Year(year) => year.to_string(),
    }
}

/// Whether a text between parentheses is a note of [`annotate`].
pub fn is_note(text: &str) -> bool {
    let text = text.strip_prefix("weekend of ").or_else(|| text.strip_prefix("week of ")).unwrap_or(text);
    let mut words = text.split(' ').rev();
    let Some(year) = words.next() else { return false };
    let is_year = year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit());
    let is_month = match words.next() {
        Some(month) => MONTHS.contains(&month),
        None => true,
    };
    let is_day = match words.next() {
        Some(day) => day.parse::<u8>().is_ok(),
        None => true,
    };
    is_year && is_month && is_day && words.next().is_none()
}

fn describe_day(date: Date) -> String {
    format!("{} {} {}", date.day(), month_name(date), date.year())
}

fn month_name(date: Date) -> &'static str {
    MONTHS[usize::from(date.month().unsigned_abs()) - 1]
}

/// Reads the expression at a word: in the language of the text, or, if that is not known, in English before others.
/// Returns the index after it, the days that it names, and whether it names their year.
fn read(text: &Text<'_>, at: usize, said: Date) -> Option<(usize, DateSpan, bool)> {
    let english = read_english(text, at, said);
    if text.is_in_another_language(Language::English) {
        let foreign = read_foreign(text, at, said);
        // "Sept" is seven in French, and "last week" is English in any text.
        let is_doubtful = english::relative(&text.words[at..], said).is_none()
            && (at..at + 2).any(|at| text.is_word_of_its_language(at));
        return foreign.or(english.filter(|(_, _, explicit)| *explicit || !is_doubtful));
    }
    english.or_else(|| read_foreign(text, at, said))
}

fn read_english(text: &Text<'_>, at: usize, said: Date) -> Option<(usize, DateSpan, bool)> {
    let words = &text.words[at..];
    if let Some((length, span)) = english::relative(words, said) {
        return Some((at + length, span, false));
    }
    if let Some((length, day)) = english::calendar(words) {
        return Some((at + length, DateSpan::Day(nearest(day, said)?), day.year.is_some()));
    }
    let (length, span) = english::month_or_year(words)?;
    Some((at + length, span, true))
}

fn read_foreign(text: &Text<'_>, at: usize, said: Date) -> Option<(usize, DateSpan, bool)> {
    if grammar::end_of_no_date(text, at).is_some() {
        return None;
    }
    let mention = grammar::mention(text, at, said)?;
    match mention.date {
        MentionedDate::Relative(span) => Some((mention.end, span, false)),
        MentionedDate::Calendar(day) => Some((mention.end, DateSpan::Day(nearest(day, said)?), day.year.is_some())),
    }
}

/// Returns the date of a day of the calendar. Without a year, it is the date nearest to `said`.
fn nearest(CalendarDay { year, month, day }: CalendarDay, said: Date) -> Option<Date> {
    if let Some(year) = year {
        return Date::new(year, month, day).ok();
    }
    let years = [said.year() - 1, said.year(), said.year() + 1];
    let candidates = years.into_iter().filter_map(|year| Date::new(year, month, day).ok());
    candidates.min_by_key(|date| days_between(said, *date))
}

/// Returns the number of days between two dates.
fn days_between(a: Date, b: Date) -> i32 {
    match a.until(b) {
        Ok(span) => span.get_days().abs(),
        Err(_) => i32::MAX,
    }
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
    fn a_relative_date_gets_a_note_after_its_words() {
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
            ("in March 2022, and in 2020", "in March 2022, and in 2020"),
        ] {
            assert_eq!(note(text), expected);
        }
    }

    #[test]
    fn exact_days_are_known() {
        let day = |text: &str| find(text, SAID).first().and_then(DateMention::exact_day);
        assert_eq!(day("it was on 7 May 2021"), Some(jiff::civil::date(2021, 5, 7)));
        assert_eq!(day("last month"), None);
        assert_eq!(day("May 45"), None);
    }

    #[test]
    fn a_statement_is_about_its_first_exact_day_or_its_first_period() {
        let span = |text: &str| main_span(&find(text, SAID));
        let april = jiff::civil::date(2023, 4, 8);
        assert_eq!(span("last month we moved"), Some(DateSpan::Month(april)));
        assert_eq!(span("last month we met, and on 7 May 2021"), Some(DateSpan::Day(jiff::civil::date(2021, 5, 7))));
        assert_eq!(span("in March 2022 or so"), Some(DateSpan::Month(jiff::civil::date(2022, 3, 1))));
        assert_eq!(span("we moved in 2019 and again last year"), Some(DateSpan::Year(2019)));
        assert_eq!(span("last week and last weekend, and daily since 2019"), None);
    }

    #[test]
    fn a_weekday_may_be_one_of_the_days_before() {
        let days = |month: i8, first: i8, last: i8| {
            jiff::civil::date(2023, month, first)..jiff::civil::date(2023, month, last + 1)
        };
        for (text, days) in [
            ("Saturday was the wedding, and it rained", days(5, 6, 6)),
            ("What a weekend, two birthdays", days(5, 6, 7)),
            ("Am Freitag ist das Auto stehen geblieben, was soll ich machen?", days(5, 5, 5)),
            ("El finde estuvimos en la playa", days(5, 6, 7)),
            ("we lost the match yesterday", days(5, 7, 7)),
        ] {
            assert!(may_tell_of(text, SAID, &days), "{text}");
        }
        assert!(!may_tell_of("Saturday was the wedding", SAID, &days(5, 5, 5)));
        assert!(!may_tell_of("The wedding was wet", SAID, &days(5, 6, 7)));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "\\PC{0,80}", words in "(last|next|a|may|31|ago|weeks|friday| |999|é){0,12}") {
            for text in [text, words] {
                let mentions = find(&text, Date::MIN);
                let _ = annotate(&text, &mentions);
                let _ = annotate(&text, &find(&text, Date::MAX));
            }
        }
    }
}
