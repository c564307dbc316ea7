//! When an object of the bucket may be removed because no record names it.
//!
//! An object is stored before its record, so the record may still be on its way from another node. A write ends within
//! minutes: a day is a wide margin for it, and for differences between clocks.
//!
//! The age counts from the time at which the service stored the object, not from the time in the id of its name. Both
//! clocks are right within minutes, as S3 refuses requests of others. But a copy of an object under its former name, as
//! a restored bucket has it, is new although its id is old: its record may follow.

use cuebase_storage::bucket::ObjectInfo;

/// An object without a record is kept for this long: a day.
const UNRECORDED_AGE_MAX_MS: i64 = 24 * 60 * 60 * 1000;

/// Returns whether an object is old enough to be removed if it has no record.
pub(crate) fn is_removable(object: &ObjectInfo, now_ms: i64) -> bool {
    now_ms.saturating_sub(object.stored_at_ms) > UNRECORDED_AGE_MAX_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_kept_for_a_day() {
        let object = ObjectInfo { name: "media/1/2".to_owned(), bytes: 3, stored_at_ms: 1_000_000 };
        for (age_ms, expected) in [(-5000, false), (0, false), (24 * 3_600_000, false), (24 * 3_600_000 + 1, true)] {
            assert_eq!(is_removable(&object, object.stored_at_ms + age_ms), expected, "{age_ms}");
        }
    }
}
