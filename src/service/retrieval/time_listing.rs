//! A query that names only a time: the memories of that time, earliest first.
//!
//! A time without a year recurs. Its latest occurrence up to now that has memories counts, or, for a query about plans,
//! the next one. If the time has no memories, or a word of the query names no speaker of them, the query is searched like
//! any other.

use std::cmp::Reverse;
use std::ops::Range;

use cuebase_language::conversation::Role;
use cuebase_language::dates::{question, statement};
use cuebase_language::relevance::{Direction, SpeakerForm, TimeOnly, time_only};
use cuebase_language::tokenize::fold;
use cuebase_retrieval::{Filter, Head, Listed, Listing, ListingOrder, TimeField};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::request::RetrievalRequest;
use super::search_result::FoundMemory;
use crate::error::Result;
use crate::namespace::registry::Lease;

/// Memories of a time among which those of a speaker, or those that a filter accepts, are looked for.
const SCANNED_MAX: usize = 200;
/// Memories of the days after a time among which those are looked for that tell of it.
const TOLD_MAX: usize = 50;
/// Days of a time of which people still tell in the [`TOLD_DAYS`] after it.
const DAYS_MAX: i64 = 3;
const TOLD_DAYS: i64 = 3;
/// Milliseconds of a day. A day may be an hour longer or shorter, which does not matter here.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl RetrievalRequest {
    /// Returns the time that a text names, if it asks for nothing else. Without a time zone, dates are not read.
    pub(super) fn time_only(&self, text: &str, now: Timestamp) -> Option<TimeOnly> {
        let zone = self.zone.as_ref()?;
        time_only(text, &question::find(text, self.asked_at(now), zone))
    }
}

/// The memories of a time.
#[derive(Default)]
pub(super) struct TimeListing {
    /// The head of the index that they were read from.
    pub(super) head: Option<Head>,
    /// The memories, earliest first.
    pub(super) hits: Vec<FoundMemory>,
}

/// Lists the memories of a time in an open namespace. There are none if the query is to be searched instead.
pub(super) fn list_time(
    lease: &Lease,
    asked: &TimeOnly,
    request: &RetrievalRequest,
    now: Timestamp,
) -> Result<TimeListing> {
    for range in in_order(asked, request.asked_at(now).as_millisecond()) {
        let time = AskedTime { range, days: days(range, request.zone.as_ref()) };
        let (head, mut listed) = time.list(lease, asked, request, now)?;
        let filter = &request.filter;
        listed.retain(|listed| time.has(listed) && is_said_by(listed, asked) && filter.accepts(&listed.memory));
        if !listed.is_empty() {
            listed.truncate(request.limit);
            return Ok(TimeListing { head, hits: listed.into_iter().map(FoundMemory::listed).collect() });
        }
    }
    Ok(TimeListing::default())
}

/// One occurrence of the time that a query asks for.
struct AskedTime<'a> {
    range: &'a Range<i64>,
    /// The days of a time that is so short that people still tell of it in the days after it.
    days: Option<Days<'a>>,
}

/// A few days in a time zone.
struct Days<'a> {
    days: Range<Date>,
    zone: &'a TimeZone,
}

/// Returns the days of a range of time, if they are at most [`DAYS_MAX`].
fn days<'a>(range: &Range<i64>, zone: Option<&'a TimeZone>) -> Option<Days<'a>> {
    if range.end.checked_sub(range.start)? > DAYS_MAX * DAY_MS {
        return None;
    }
    let zone = zone?;
    let start = date(range.start, zone)?;
    // The end is the first moment of the day after.
    Some(Days { days: start..date(range.end, zone)?, zone })
}

fn date(at: i64, zone: &TimeZone) -> Option<Date> {
    Some(Timestamp::from_millisecond(at).ok()?.to_zoned(zone.clone()).date())
}

impl AskedTime<'_> {
    /// Lists the memories of the time, and those in which it may be told of. Returns them with the head of the index.
    fn list(
        &self,
        lease: &Lease,
        asked: &TimeOnly,
        request: &RetrievalRequest,
        now: Timestamp,
    ) -> Result<(Option<Head>, Vec<Listed>)> {
        let RetrievalRequest { filter, as_of, currency, limit, budget, .. } = request;
        let (told, told_max) = if self.days.is_some() { (TOLD_DAYS * DAY_MS, TOLD_MAX) } else { (0, 0) };
        let is_chosen = filter.since.is_some() || filter.until.is_some() || !asked.speaker.is_empty();
        let filter = Filter {
            since: Some(self.range.start),
            until: Some(self.range.end.saturating_add(told)),
            time_field: TimeField::Occurred,
            ..filter.clone()
        };
        let listing = Listing {
            filter: &filter,
            order: ListingOrder::OldestFirst,
            offset: 0,
            limit: if is_chosen { SCANNED_MAX } else { *limit + told_max },
            now: now.as_millisecond(),
            as_of: *as_of,
            currency: *currency,
        };
        let (head, page) = lease.read(|snapshot| Ok((snapshot.head(), snapshot.list_within(&listing, budget)?)))?;
        Ok((head, page.memories))
    }

    /// Whether a memory is of the time, or was said in the days after it and may tell of it: "Saturday was the wedding".
    fn has(&self, listed: &Listed) -> bool {
        let Some(occurred) = listed.memory.occurred else { return false };
        if occurred < self.range.end {
            return true;
        }
        match &self.days {
            Some(Days { days, zone }) => {
                date(occurred, zone).is_some_and(|said| statement::may_tell_of(&listed.memory.content, said, days))
            }
            None => false,
        }
    }
}

/// Returns the times of a query in the order in which they are tried: those that have begun, latest first, and those to
/// come, the next one first; for a query about plans the other way round.
fn in_order(asked: &TimeOnly, now: i64) -> Vec<&Range<i64>> {
    let (mut begun, mut to_come) = (Vec::new(), Vec::new());
    for range in &asked.times {
        if range.start <= now {
            begun.push(range);
        } else {
            to_come.push(range);
        }
    }
    begun.sort_by_key(|range| Reverse(range.start));
    match asked.direction {
        Direction::Past => [begun, to_come].concat(),
        Direction::Future => [to_come, begun].concat(),
    }
}

/// Whether the query asks for what the speaker of a memory said: for that of all, or for a speaker whom it names. A user
/// who has no name in the conversations may be named in the query.
fn is_said_by(listed: &Listed, asked: &TimeOnly) -> bool {
    if asked.speaker.is_empty() {
        return true;
    }
    let Some(speaker) = &listed.memory.speaker else { return false };
    if speaker == Role::User.label() {
        return asked.speaker_form == SpeakerForm::Name;
    }
    let speaker = fold(speaker);
    let mut words = asked.speaker.iter();
    words.all(|word| speaker.split(|c: char| !c.is_alphanumeric()).any(|part| part == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(times: &[Range<i64>], direction: Direction) -> TimeOnly {
        TimeOnly { times: times.to_vec(), direction, speaker: Vec::new(), speaker_form: SpeakerForm::Words }
    }

    #[test]
    fn the_latest_time_that_has_begun_is_tried_first() {
        let times = [10..20, 30..40, 50..60, 70..80];
        assert_eq!(in_order(&asked(&times, Direction::Past), 45), [&(30..40), &(10..20), &(50..60), &(70..80)]);
        assert_eq!(in_order(&asked(&times, Direction::Future), 45), [&(50..60), &(70..80), &(30..40), &(10..20)]);
    }
}
