//! The month of usage, in UTC.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Returns the month of a time as `YYYY-MM`.
pub(super) fn month_of(time: Timestamp) -> String {
    time.to_zoned(TimeZone::UTC).strftime("%Y-%m").to_string()
}

/// Returns the seconds until the next month, when the quotas are reset; at least 1.
pub(super) fn seconds_until_next_month(now: Timestamp) -> u64 {
    let last_day = now.to_zoned(TimeZone::UTC).date().last_of_month();
    let Ok(first_day) = last_day.tomorrow() else { return 1 };
    let Ok(midnight) = first_day.to_zoned(TimeZone::UTC) else { return 1 };
    let seconds = midnight.timestamp().as_second() - now.as_second();
    seconds.max(1).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn quotas_are_reset_with_the_month() {
        assert_eq!(seconds_until_next_month(time("2026-02-28T23:59:00Z")), 60);
        assert_eq!(seconds_until_next_month(time("2026-12-31T00:00:00Z")), 86_400);
        assert_eq!(month_of(time("2026-12-31T23:00:00-03:00")), "2027-01");
    }
}
