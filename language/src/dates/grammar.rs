//! The grammar of all languages but English, over the words of their tables.
//!
//! A text in Latin letters whose language is known is read in that language alone. Of other languages, only complete
//! dates ("12 mai 2023") are read in it. Start with [`named_period`] for questions and [`mention`] for statements.

use jiff::civil::{Date, Weekday};

use super::languages::table::{Language, Lead, Role, Unit};
use super::lexicon::Meaning;
use super::period::{NamedPeriod, Period};
use super::span::{
    CalendarDay, DateSpan, add_days, adjacent, small_number, units_ago, units_back, weekday_near, weekday_of_week,
    year_number,
};
use super::words::{Text, word_at};

/// A date expression in a statement.
pub(crate) struct Mention {
    /// The index after its last word.
    pub(crate) end: usize,
    pub(crate) date: MentionedDate,
}

/// What a date expression in a statement names.
pub(crate) enum MentionedDate {
    Relative(DateSpan),
    Calendar(CalendarDay),
}

/// Reads the longest period that begins at a word of a question, also after a word such as "since".
pub(crate) fn named_period(text: &Text<'_>, at: usize, today: Date) -> Option<NamedPeriod> {
    let mut longest: Option<NamedPeriod> = None;
    for language in languages_at(text, at) {
        let reader = Reader { text, language, today };
        let Some(named) = reader.named_period(at) else { continue };
        let is_allowed = named.period.is_complete() || !text.is_in_another_language(language);
        if is_allowed && longest.as_ref().is_none_or(|longest| tells_more(&named, longest)) {
            longest = Some(named);
        }
    }
    longest
}

/// Whether a period has more words than another one or, with as many, a word that leads to it: Chinese and Japanese
/// share "3月", and only Japanese has "から".
fn tells_more(named: &NamedPeriod, other: &NamedPeriod) -> bool {
    let has_lead = named.lead != Lead::In && other.lead == Lead::In;
    named.words.end > other.words.end || (named.words.end == other.words.end && has_lead)
}

/// Reads the last period of a range, at the word after the first one.
pub(crate) fn last_period(text: &Text<'_>, at: usize, lead: Lead, today: Date) -> Option<NamedPeriod> {
    for language in languages_at(text, at) {
        if text.is_in_another_language(language) {
            continue;
        }
        let reader = Reader { text, language, today };
        let mut word = reader.word(at, Role::To);
        if word.is_none() && lead == Lead::Between {
            word = reader.word(at, Role::And);
        }
        let Some(start) = word else { continue };
        if let Some((end, period, _)) = reader.period(start, Certainty::NeedsLead) {
            return Some(NamedPeriod { words: start..end, period, lead: Lead::In });
        }
    }
    None
}

/// Reads the longest date expression that begins at a word of a statement.
pub(crate) fn mention(text: &Text<'_>, at: usize, said: Date) -> Option<Mention> {
    let mut longest: Option<Mention> = None;
    for language in languages_at(text, at) {
        let reader = Reader { text, language, today: said };
        let Some(mention) = reader.mention(at) else { continue };
        let is_complete = matches!(mention.date, MentionedDate::Calendar(CalendarDay { year: Some(_), .. }));
        let is_allowed = is_complete || !text.is_in_another_language(language);
        let is_longer = longest.as_ref().is_none_or(|longest| mention.end > longest.end);
        if is_allowed && is_longer {
            longest = Some(mention);
        }
    }
    longest
}

/// Reads the name of a weekday in a language of the word.
pub(crate) fn weekday_at(text: &Text<'_>, at: usize) -> Option<Weekday> {
    for language in languages_at(text, at) {
        let reader = Reader { text, language, today: Date::ZERO };
        if !text.is_in_another_language(language)
            && let Some((_, name)) = reader.find(at, day_name)
        {
            return weekday(name);
        }
    }
    None
}

/// Whether a word is one for the weekend in a language of the word.
pub(crate) fn is_weekend(text: &Text<'_>, at: usize) -> bool {
    for language in languages_at(text, at) {
        let reader = Reader { text, language, today: Date::ZERO };
        if !text.is_in_another_language(language) && reader.word(at, Role::Period(Unit::Weekend)).is_some() {
            return true;
        }
    }
    false
}

/// Returns the index after a phrase that contains a word for a date and names none: "por la mañana".
pub(crate) fn end_of_no_date(text: &Text<'_>, at: usize) -> Option<usize> {
    for language in languages_at(text, at) {
        let reader = Reader { text, language, today: Date::ZERO };
        if !text.is_in_another_language(language)
            && let Some(end) = reader.word(at, Role::NoDate)
        {
            return Some(end);
        }
    }
    None
}

/// Returns the languages in which an expression can begin at a word: those of the word, or, at a number, those of the
/// next word.
fn languages_at(text: &Text<'_>, at: usize) -> impl Iterator<Item = Language> {
    let mut meanings = text.meanings_at(at);
    if meanings.is_empty() && word_at(&text.words, at).starts_with(|c: char| c.is_ascii_digit()) {
        meanings = text.meanings_at(at + 1);
    }
    let mut languages = [None; Language::COUNT];
    for meaning in meanings {
        if meaning.role != Role::Common {
            languages[meaning.language.index()] = Some(meaning.language);
        }
    }
    languages.into_iter().flatten()
}

/// Reads expressions in one language. Each method reads at the index of a word, and returns the index after the
/// expression with what it means.
struct Reader<'t> {
    text: &'t Text<'t>,
    language: Language,
    today: Date,
}

/// A relative date, and its distance in units from the present one.
struct Relative {
    span: DateSpan,
    step: i64,
}

/// The name of a month.
struct MonthName {
    number: i8,
    kind: NameKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NameKind {
    Certain,
    /// Another word as well.
    Doubtful,
    Short,
}

/// Whether a period counts by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Certainty {
    Certain,
    /// A word before or after it has to lead to it.
    NeedsLead,
}

impl Reader<'_> {
    /// Returns the index after the longest phrase with a role.
    fn word(&self, at: usize, role: Role) -> Option<usize> {
        let mut longest: Option<usize> = None;
        for meaning in self.text.meanings_at(at) {
            if meaning.role == role {
                longest = longest.max(self.end_of(meaning, at));
            }
        }
        longest
    }

    /// Returns what the longest phrase with one of some roles means.
    fn find<T>(&self, at: usize, pick: fn(Role) -> Option<T>) -> Option<(usize, T)> {
        let mut longest: Option<(usize, T)> = None;
        for meaning in self.text.meanings_at(at) {
            let Some(found) = pick(meaning.role) else { continue };
            let Some(end) = self.end_of(meaning, at) else { continue };
            if longest.as_ref().is_none_or(|(longest, _)| end > *longest) {
                longest = Some((end, found));
            }
        }
        longest
    }

    /// Returns the index after a phrase that begins at a word, if it is one of the language.
    fn end_of(&self, meaning: &Meaning, at: usize) -> Option<usize> {
        let is_known = self.text.language == Some(self.language);
        if meaning.language != self.language || (meaning.is_shared && !is_known) {
            return None;
        }
        let mut end = at + 1;
        for word in &meaning.rest {
            if word_at(&self.text.words, end) != word {
                return None;
            }
            end += 1;
        }
        Some(end)
    }

    fn named_period(&self, at: usize) -> Option<NamedPeriod> {
        let mut named = None;
        if let Some((end, period, trail)) = self.period(at, Certainty::Certain) {
            named = Some(NamedPeriod { words: at..end, period, lead: trail.unwrap_or(Lead::In) });
        }
        // "Antes de ayer" is a day, "antes de mayo" is not.
        if let Some((start, lead)) = self.find(at, lead)
            && let Some((end, period, trail)) = self.period(start, Certainty::NeedsLead)
            && named.as_ref().is_none_or(|named| named.words.end < end)
        {
            named = Some(NamedPeriod { words: start..end, period, lead: trail.unwrap_or(lead) });
        }
        named
    }

    /// Reads a period, and how a word after it says that it is meant. `needed` is the certainty that the period needs
    /// without such a word.
    fn period(&self, at: usize, needed: Certainty) -> Option<(usize, Period, Option<Lead>)> {
        let (end, period, certainty) = self.plain_period(at)?;
        let trail = self.find(end, trail).map(|(_, lead)| lead);
        if certainty == Certainty::NeedsLead && needed == Certainty::Certain && trail.is_none() {
            return None;
        }
        Some((end, period, trail))
    }

    fn plain_period(&self, at: usize) -> Option<(usize, Period, Certainty)> {
        if let Some((end, day)) = self.calendar(at) {
            return Some((end, Period::Day(day), Certainty::Certain));
        }
        if let Some(month) = self.month_period(at) {
            return Some(month);
        }
        if let Some((end, relative)) = self.relative(at) {
            // A question about the present does not ask for memories from today.
            if relative.step == 0 {
                return None;
            }
            return Some((end, Period::Days(relative.span.days()?), Certainty::Certain));
        }
        if let Some((end, days)) = self.recent(at) {
            return Some((end, days, Certainty::Certain));
        }
        let year = year_number(word_at(&self.text.words, at))?;
        match self.word(at + 1, Role::YearMark) {
            Some(end) => Some((end, Period::Year(year), Certainty::Certain)),
            None => Some((at + 1, Period::Year(year), Certainty::NeedsLead)),
        }
    }

    fn mention(&self, at: usize) -> Option<Mention> {
        if let Some((end, relative)) = self.relative(at) {
            return Some(Mention { end, date: MentionedDate::Relative(relative.span) });
        }
        let (end, day) = self.calendar(at)?;
        Some(Mention { end, date: MentionedDate::Calendar(day) })
    }

    /// Reads "gestern", "la semaine dernière", "上周五", "2 дня назад".
    fn relative(&self, at: usize) -> Option<(usize, Relative)> {
        if let Some((end, step)) = self.find(at, day) {
            return Some((end, Relative { span: DateSpan::Day(add_days(self.today, step)?), step }));
        }
        if let Some((end, (unit, step))) = self.find(at, adjacent_unit) {
            return self.in_adjacent(end, unit, step);
        }
        if let Some((end, step)) = self.find(at, step)
            && let Some(found) = self.after_step(end, step)
        {
            return Some(found);
        }
        if let Some((end, unit)) = self.find(at, unit)
            && let Some((end, step)) = self.find(end, step_after)
        {
            return Some((end, Relative { span: adjacent(unit, step, self.today)?, step }));
        }
        if let Some((end, name)) = self.find(at, day_name)
            && let Some((end, step)) = self.find(end, step_after)
        {
            let day = weekday_near(weekday(name)?, step, self.today)?;
            return Some((end, Relative { span: DateSpan::Day(day), step }));
        }
        self.ago(at)
    }

    /// Reads what may follow "先週": "の金曜日".
    fn in_adjacent(&self, end: usize, unit: Unit, step: i64) -> Option<(usize, Relative)> {
        if unit == Unit::Week
            && let Some((end, name)) = self.find(self.after_of(end), day_name)
        {
            let day = weekday_of_week(weekday(name)?, step, self.today)?;
            return Some((end, Relative { span: DateSpan::Day(day), step }));
        }
        Some((end, Relative { span: adjacent(unit, step, self.today)?, step }))
    }

    /// Reads what follows "last": a unit or a weekday. In Chinese, "上周五" is the Friday of the last week.
    fn after_step(&self, at: usize, step: i64) -> Option<(usize, Relative)> {
        if let Some((end, name)) = self.find(at, day_name) {
            let weekday = weekday(name)?;
            let day = match self.language {
                Language::Chinese => weekday_of_week(weekday, step, self.today)?,
                _ => weekday_near(weekday, step, self.today)?,
            };
            return Some((end, Relative { span: DateSpan::Day(day), step }));
        }
        let (end, unit) = self.find(at, unit)?;
        Some((end, Relative { span: adjacent(unit, step, self.today)?, step }))
    }

    /// Reads "hace dos semanas", "2 дня назад".
    fn ago(&self, at: usize) -> Option<(usize, Relative)> {
        if let Some(start) = self.word(at, Role::AgoBefore)
            && let Some((end, (unit, count))) = self.amount(start)
        {
            return Some((end, Relative { span: units_ago(unit, count, self.today)?, step: -count }));
        }
        let (end, (unit, count)) = self.amount(at)?;
        let end = self.word(end, Role::AgoAfter)?;
        Some((end, Relative { span: units_ago(unit, count, self.today)?, step: -count }))
    }

    /// Reads a number and a unit, or one word for both. "2 أشهر" has more words than "2".
    fn amount(&self, at: usize) -> Option<(usize, (Unit, i64))> {
        if let Some((end, count)) = self.count(at)
            && let Some((end, unit)) = self.find(end, counted)
        {
            return Some((end, (unit, count)));
        }
        self.find(at, amount)
    }

    fn count(&self, at: usize) -> Option<(usize, i64)> {
        match small_number(word_at(&self.text.words, at)) {
            Some(number) => Some((at + 1, number)),
            None => self.find(at, number),
        }
    }

    /// Reads "últimos diez días", "deux dernières semaines": the days up to and including today.
    fn recent(&self, at: usize) -> Option<(usize, Period)> {
        let (end, (unit, count)) = self.recent_amount(at)?;
        Some((end, Period::Days(units_back(unit, count, self.today)?)))
    }

    fn recent_amount(&self, at: usize) -> Option<(usize, (Unit, i64))> {
        if let Some(end) = self.word(at, Role::Recent) {
            if let Some(found) = self.amount(end) {
                return Some(found);
            }
            let (end, unit) = self.find(end, unit)?;
            return Some((end, (unit, 1)));
        }
        let (end, count) = self.count(at)?;
        let end = self.word(end, Role::Recent)?;
        let (end, unit) = self.find(end, counted)?;
        Some((end, (unit, count)))
    }

    /// Reads a day of the calendar: "2023年5月12日", "12 de mayo de 2023", "mayo 12, 2023".
    fn calendar(&self, at: usize) -> Option<(usize, CalendarDay)> {
        let (start, year) = self.year_before(at);
        if let Some((end, month)) = self.numbered_month(start)
            && let Some(day) = number_in(word_at(&self.text.words, end), 31)
        {
            let end = self.word(end + 1, Role::DayMark)?;
            return Some((end, CalendarDay { year, month, day }));
        }
        if let Some((end, day)) = self.day_of_month(at)
            && let Some((end, name)) = self.month_name(self.after_of(end))
        {
            let (end, year) = self.year_after(end);
            return Some((end, CalendarDay { year, month: name.number, day }));
        }
        let (end, name) = self.month_name(at)?;
        let (end, day) = self.day_of_month(end)?;
        let year = year_number(word_at(&self.text.words, end))?;
        Some((end + 1, CalendarDay { year: Some(year), month: name.number, day }))
    }

    /// Reads a month with or without its year: "2023年5月", "mayo de 2023", "mayo".
    fn month_period(&self, at: usize) -> Option<(usize, Period, Certainty)> {
        let (start, year) = self.year_before(at);
        if let Some((end, month)) = self.numbered_month(start) {
            return Some((end, Period::Month { month, year }, Certainty::Certain));
        }
        let (end, name) = self.month_name(start)?;
        let (end, year) = if year.is_some() { (end, year) } else { self.year_after(end) };
        let certainty = match name.kind {
            _ if year.is_some() => Certainty::Certain,
            NameKind::Certain => Certainty::Certain,
            NameKind::Doubtful => Certainty::NeedsLead,
            NameKind::Short => return None,
        };
        Some((end, Period::Month { month: name.number, year }, certainty))
    }

    /// Reads the year before a month: "2023年", "২০২৩ সালের", "去年". Without one, nothing is read.
    fn year_before(&self, at: usize) -> (usize, Option<i16>) {
        if let Some((end, (Unit::Year, step))) = self.find(at, adjacent_unit) {
            let year = i16::try_from(i64::from(self.today.year()) + step).ok();
            return (self.after_of(end), year);
        }
        let year = year_number(word_at(&self.text.words, at));
        match self.word(at + 1, Role::YearMark) {
            Some(end) if year.is_some() => (self.after_of(end), year),
            _ => (at, None),
        }
    }

    /// Reads the year after a month, with its mark: "de 2023", "2023 года". Without one, nothing is read.
    fn year_after(&self, at: usize) -> (usize, Option<i16>) {
        let start = self.after_of(at);
        match year_number(word_at(&self.text.words, start)) {
            Some(year) => (start + 1, Some(year)),
            None => (at, None),
        }
    }

    /// Reads "5月".
    fn numbered_month(&self, at: usize) -> Option<(usize, i8)> {
        let month = number_in(word_at(&self.text.words, at), 12)?;
        Some((self.word(at + 1, Role::MonthMark)?, month))
    }

    fn month_name(&self, at: usize) -> Option<(usize, MonthName)> {
        self.find(at, month)
    }

    /// Reads "12", "1er".
    fn day_of_month(&self, at: usize) -> Option<(usize, i8)> {
        match number_in(word_at(&self.text.words, at), 31) {
            Some(day) => Some((at + 1, day)),
            None => self.find(at, day_number),
        }
    }

    /// Returns the index after a word such as "of", if there is one.
    fn after_of(&self, at: usize) -> usize {
        self.word(at, Role::Of).unwrap_or(at)
    }
}

/// Returns a number from 1 to `max` in digits.
fn number_in(word: &str, max: i8) -> Option<i8> {
    word.parse().ok().filter(|number| word.len() <= 2 && (1..=max).contains(number))
}

fn weekday(from_monday: i8) -> Option<Weekday> {
    Weekday::from_monday_zero_offset(from_monday).ok()
}

fn month(role: Role) -> Option<MonthName> {
    let (number, kind) = match role {
        Role::Month(number) => (number, NameKind::Certain),
        Role::DoubtfulMonth(number) => (number, NameKind::Doubtful),
        Role::ShortMonth(number) => (number, NameKind::Short),
        _ => return None,
    };
    Some(MonthName { number, kind })
}

fn day_number(role: Role) -> Option<i8> {
    if let Role::DayNumber(day) = role { Some(day) } else { None }
}

fn day_name(role: Role) -> Option<i8> {
    if let Role::DayName(weekday) = role { Some(weekday) } else { None }
}

fn number(role: Role) -> Option<i64> {
    if let Role::Number(number) = role { Some(number) } else { None }
}

fn day(role: Role) -> Option<i64> {
    if let Role::Day(step) = role { Some(step) } else { None }
}

fn step(role: Role) -> Option<i64> {
    if let Role::Step(step) = role { Some(step) } else { None }
}

fn step_after(role: Role) -> Option<i64> {
    if let Role::StepAfter(step) = role { Some(step) } else { None }
}

fn unit(role: Role) -> Option<Unit> {
    if let Role::Period(unit) = role { Some(unit) } else { None }
}

fn adjacent_unit(role: Role) -> Option<(Unit, i64)> {
    if let Role::Adjacent(unit, step) = role { Some((unit, step)) } else { None }
}

fn counted(role: Role) -> Option<Unit> {
    if let Role::Counted(unit) = role { Some(unit) } else { None }
}

fn amount(role: Role) -> Option<(Unit, i64)> {
    if let Role::Amount(unit, count) = role { Some((unit, count)) } else { None }
}

fn lead(role: Role) -> Option<Lead> {
    if let Role::Leads(lead) = role { Some(lead) } else { None }
}

fn trail(role: Role) -> Option<Lead> {
    if let Role::Trails(lead) = role { Some(lead) } else { None }
}
