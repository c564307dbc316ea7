//! Times in the forms that callers write.
//!
//! The forms are RFC 3339 with an offset, a calendar date, a datetime without offset (read in the caller's time zone),
//! and epoch seconds. A calendar date is stored as noon UTC.

use cuebase_storage::memory_file::OccurredPrecision;
use cuebase_storage::records::SentTime;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::memory::conversation::Moment;

/// A time in the form in which it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeInput {
    /// A calendar date.
    Date(Date),
    /// A point in time.
    Instant(Timestamp),
}

/// The first second of the year 1. RFC 3339 has no earlier years except the year 0.
const FIRST_SECOND: i64 = -62_135_596_800;

/// Reads a time. Returns `None` for an unknown form and for a year outside of 1 to 9999.
pub fn parse(text: &str, zone: &TimeZone) -> Option<TimeInput> {
    let time = read(text.trim(), zone)?;
    if time.moment()?.at.as_second() < FIRST_SECOND {
        return None;
    }
    Some(time)
}

fn read(text: &str, zone: &TimeZone) -> Option<TimeInput> {
    if text.len() == 10
        && let Ok(date) = text.parse::<Date>()
    {
        return Some(TimeInput::Date(date));
    }
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Some(TimeInput::Instant(instant));
    }
    if let Ok(seconds) = text.parse::<f64>() {
        return epoch_seconds(seconds).map(TimeInput::Instant);
    }
    let civil = text.parse::<DateTime>().ok()?;
    Some(TimeInput::Instant(civil.to_zoned(zone.clone()).ok()?.timestamp()))
}

/// Reads a time of a request.
pub fn parse_sent(time: &SentTime, zone: &TimeZone) -> Option<TimeInput> {
    match time {
        SentTime::Text(text) => parse(text, zone),
        SentTime::Seconds(number) => parse(&number.to_string(), zone),
    }
}

fn epoch_seconds(seconds: f64) -> Option<Timestamp> {
    let milliseconds = seconds * 1000.0;
    if !milliseconds.is_finite() {
        return None;
    }
    // The cast saturates; jiff rejects values outside of its range.
    Timestamp::from_millisecond(milliseconds as i64).ok()
}

impl TimeInput {
    /// Returns the time as a memory stores it.
    pub fn moment(self) -> Option<Moment> {
        match self {
            Self::Instant(at) => Some(Moment { at, precision: OccurredPrecision::Instant }),
            Self::Date(date) => {
                let at = date.at(12, 0, 0, 0).to_zoned(TimeZone::UTC).ok()?.timestamp();
                Some(Moment { at, precision: OccurredPrecision::Day })
            }
        }
    }

    /// Returns the first millisecond that a `since` filter includes.
    pub fn since_ms(self, zone: &TimeZone) -> Option<i64> {
        match self {
            Self::Instant(at) => Some(at.as_millisecond()),
            Self::Date(date) => start_of(date, zone),
        }
    }

    /// Returns the first millisecond that an `until` filter excludes. A date includes its whole day, an instant itself.
    pub fn until_ms(self, zone: &TimeZone) -> Option<i64> {
        match self {
            Self::Instant(at) => at.as_millisecond().checked_add(1),
            Self::Date(date) => start_of(date.checked_add(1.day()).ok()?, zone),
        }
    }
}

fn start_of(date: Date, zone: &TimeZone) -> Option<i64> {
    Some(date.to_zoned(zone.clone()).ok()?.timestamp().as_millisecond())
}

/// Returns the day of a time in a zone; in UTC without one.
pub fn day_of(at_ms: i64, zone: Option<&TimeZone>) -> Option<Date> {
    let at = Timestamp::from_millisecond(at_ms).ok()?;
    let zone = zone.cloned().unwrap_or(TimeZone::UTC);
    Some(at.to_zoned(zone).date())
}

/// Formats a time as in API responses: RFC 3339 in UTC.
pub fn format_ms(milliseconds: i64) -> Option<String> {
    Timestamp::from_millisecond(milliseconds).ok().map(|at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn zone(name: &str) -> TimeZone {
        TimeZone::get(name).expect("a known zone")
    }

    #[test]
    fn every_form_is_read() {
        let tokyo = zone("Asia/Tokyo");
        let instant = |text: &str| match parse(text, &tokyo) {
            Some(TimeInput::Instant(at)) => at.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(instant("2026-05-01T12:00:00Z"), "2026-05-01T12:00:00Z");
        assert_eq!(instant("2026-05-01T12:00:00+02:00"), "2026-05-01T10:00:00Z");
        assert_eq!(instant("2026-05-01T12:00:00"), "2026-05-01T03:00:00Z");
        assert_eq!(instant("1777636800"), "2026-05-01T12:00:00Z");
        let date = parse("2026-05-01", &tokyo).expect("a date");
        assert_eq!(date.moment().expect("in range").at.to_string(), "2026-05-01T12:00:00Z");
        assert_eq!(format_ms(date.since_ms(&tokyo).expect("in range")).as_deref(), Some("2026-04-30T15:00:00Z"));
        assert_eq!(date.until_ms(&tokyo).expect("in range") - date.since_ms(&tokyo).expect("in range"), 86_400_000);
        for bad in ["", "yesterday", "2026-13-01", "2026-02-30", "nan", "inf", "1e300", "-001639-12-24", "-99999999999"]
        {
            assert_eq!(parse(bad, &tokyo), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_rejected(text in "\\PC{0,40}", number in any::<f64>()) {
            for time in [parse(&text, &TimeZone::UTC), parse(&number.to_string(), &TimeZone::UTC)].into_iter().flatten() {
                let _ = (time.moment(), time.since_ms(&zone("Europe/Paris")), time.until_ms(&TimeZone::UTC));
            }
        }
    }
}
