//! Judges what a PostgreSQL server reports about itself, and its clock.

use super::error::OLDEST_VERSION;
use super::{SetupError, UnsafeDatabase};
use crate::error::Result;
use crate::key_value::{ClockReading, ServerFacts};

/// Values of `synchronous_commit` with which a commit waits for the disks of server and standby.
const SAFE_COMMITS: [&str; 2] = ["on", "remote_apply"];
/// A node whose clock differs by more from the server's does not start. In milliseconds.
const APART_MS_MAX: i64 = 60_000;
/// A node whose clock differs by more from the server's logs a warning. In milliseconds.
const NEAR_MS_MAX: i64 = 5_000;

/// How far two clocks are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClockDistance {
    /// As usual for synchronized clocks.
    Near,
    /// Enough for a warning.
    Apart,
    /// Too much for a start.
    Far,
}

/// Refuses a server that cannot be used. Refuses one that can lose acknowledged writes too, or logs a warning, as
/// `unsafe_database` says.
///
/// A server without a synchronous standby is refused also in the time between a fail-over and the building of a new
/// standby.
pub(super) fn check_server(facts: &ServerFacts, unsafe_database: UnsafeDatabase) -> Result<(), SetupError> {
    let version = facts.version_number / 10_000;
    if version < OLDEST_VERSION {
        return Err(SetupError::OldServer { version });
    }
    if facts.is_in_recovery {
        return Err(SetupError::Standby);
    }
    for fault in unsafe_settings(facts) {
        match unsafe_database {
            UnsafeDatabase::Refused => return Err(fault),
            UnsafeDatabase::Allowed => tracing::warn!(%fault, "the database can lose acknowledged writes"),
        }
    }
    Ok(())
}

/// The settings with which a server can lose acknowledged writes.
fn unsafe_settings(facts: &ServerFacts) -> Vec<SetupError> {
    let mut faults = Vec::new();
    for (setting, value) in [("fsync", &facts.fsync), ("full_page_writes", &facts.full_page_writes)] {
        if value == "off" {
            faults.push(SetupError::UnsafeWrites { setting });
        }
    }
    if facts.synchronous_standby_names.trim().is_empty() {
        faults.push(SetupError::NoSynchronousStandby);
    }
    if !SAFE_COMMITS.contains(&facts.synchronous_commit.as_str()) {
        faults.push(SetupError::WeakCommit { value: facts.synchronous_commit.clone() });
    }
    faults
}

/// Refuses a clock that is far from the server's. Logs a warning about one that is less far.
pub(super) fn check_clocks(clocks: ClockReading) -> Result<(), SetupError> {
    let ahead_ms = clocks.ahead_ms();
    match distance(ahead_ms) {
        ClockDistance::Near => {}
        ClockDistance::Apart => tracing::warn!(ahead_ms, "the clocks of this node and of the database differ"),
        ClockDistance::Far => return Err(SetupError::Clocks { ahead_ms }),
    }
    Ok(())
}

fn distance(ahead_ms: i64) -> ClockDistance {
    let apart_ms = ahead_ms.saturating_abs();
    if apart_ms > APART_MS_MAX {
        return ClockDistance::Far;
    }
    if apart_ms > NEAR_MS_MAX {
        return ClockDistance::Apart;
    }
    ClockDistance::Near
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that is safe.
    fn safe() -> ServerFacts {
        ServerFacts {
            version_number: 130_000,
            is_in_recovery: false,
            fsync: "on".to_owned(),
            full_page_writes: "on".to_owned(),
            synchronous_standby_names: "ANY 1 (a, b)".to_owned(),
            synchronous_commit: "on".to_owned(),
            clocks: ClockReading { server_ms: 0, own_ms: 0, tolerance_ms: 0 },
        }
    }

    /// Expects that a server is refused with this text in the message, and that it is used if the setting allows it.
    fn check_unsafe(facts: &ServerFacts, expected: &str) {
        let refused = check_server(facts, UnsafeDatabase::Refused).expect_err("is refused").to_string();
        assert!(refused.contains(expected), "{refused}");
        assert!(refused.contains("cluster.allow_unsafe_database"), "{refused}");
        check_server(facts, UnsafeDatabase::Allowed).expect("is allowed");
    }

    #[test]
    fn a_safe_server_is_used() {
        check_server(&safe(), UnsafeDatabase::Refused).expect("is safe");
        let applied = ServerFacts { synchronous_commit: "remote_apply".to_owned(), ..safe() };
        check_server(&applied, UnsafeDatabase::Refused).expect("is safe");
    }

    #[test]
    fn a_server_that_cannot_be_used_is_refused_in_any_case() {
        let old = ServerFacts { version_number: 120_022, ..safe() };
        let standby = ServerFacts { is_in_recovery: true, ..safe() };
        for unsafe_database in [UnsafeDatabase::Refused, UnsafeDatabase::Allowed] {
            let refused = check_server(&old, unsafe_database).expect_err("is too old").to_string();
            assert!(refused.contains("has version 12, but version 13 or later"), "{refused}");
            let refused = check_server(&standby, unsafe_database);
            assert!(matches!(refused, Err(SetupError::Standby)), "{refused:?}");
        }
    }

    #[test]
    fn a_server_that_writes_unsafely_is_refused_unless_allowed() {
        check_unsafe(&ServerFacts { fsync: "off".to_owned(), ..safe() }, "runs with fsync = off");
        let torn = ServerFacts { full_page_writes: "off".to_owned(), ..safe() };
        check_unsafe(&torn, "runs with full_page_writes = off");
    }

    #[test]
    fn a_server_without_a_synchronous_standby_is_refused_unless_allowed() {
        for names in ["", " "] {
            let alone = ServerFacts { synchronous_standby_names: names.to_owned(), ..safe() };
            check_unsafe(&alone, "has no synchronous standby");
        }
    }

    #[test]
    fn a_commit_that_does_not_wait_for_the_disk_of_the_standby_is_refused_unless_allowed() {
        for value in ["off", "local", "remote_write", ""] {
            let weak = ServerFacts { synchronous_commit: value.to_owned(), ..safe() };
            check_unsafe(&weak, &format!("synchronous_commit is \"{value}\""));
        }
    }

    #[test]
    fn each_unsafe_setting_is_a_fault_of_its_own() {
        let facts = ServerFacts {
            fsync: "off".to_owned(),
            full_page_writes: "off".to_owned(),
            synchronous_standby_names: String::new(),
            synchronous_commit: "off".to_owned(),
            ..safe()
        };
        assert_eq!(unsafe_settings(&facts).len(), 4);
        assert!(unsafe_settings(&safe()).is_empty());
    }

    #[test]
    fn clocks_that_differ_by_more_than_a_minute_are_refused() {
        for (ahead_ms, expected) in [
            (0, ClockDistance::Near),
            (-5_000, ClockDistance::Near),
            (5_001, ClockDistance::Apart),
            (-60_000, ClockDistance::Apart),
            (60_001, ClockDistance::Far),
            (i64::MIN, ClockDistance::Far),
        ] {
            assert_eq!(distance(ahead_ms), expected, "{ahead_ms}");
            let clocks = ClockReading { server_ms: 0, own_ms: ahead_ms, tolerance_ms: 0 };
            assert_eq!(check_clocks(clocks).is_err(), expected == ClockDistance::Far, "{ahead_ms}");
        }
        let late = ClockReading { server_ms: 100_000, own_ms: 10_000, tolerance_ms: 1_000 };
        let refused = check_clocks(late).expect_err("is far").to_string();
        assert!(refused.contains("89 s behind the clock of the database"), "{refused}");
    }
}
