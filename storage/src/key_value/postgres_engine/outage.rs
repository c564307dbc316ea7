//! Since when the server does not answer, so that callers that wait one after another do not each wait for the whole time.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::deadline::Deadline;
use super::errors::is_passing;
use crate::error::Result;

/// The current outage of a server, if there is one. Shared by all calls.
#[derive(Clone, Default)]
pub(super) struct Outage {
    /// When the first of the calls began that failed since the last success.
    since: Arc<Mutex<Option<Instant>>>,
}

impl Outage {
    /// The deadline of a call that begins at a time. During an outage that is longer than a call may take, a call only
    /// tries whether the server is back.
    pub(super) fn deadline(&self, now: Instant) -> Deadline {
        let since = *self.since.lock();
        Deadline::of_outage(now, since)
    }

    /// Takes note of the outcome of a call that began at a time.
    pub(super) fn note<T>(&self, began: Instant, outcome: &Result<T>) {
        let mut since = self.since.lock();
        match outcome {
            Err(error) if is_passing(error) => {
                since.get_or_insert(began);
            }
            // Other errors are answers of the server.
            _ => *since = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::deadline::CALL_MAX;
    use super::*;
    use crate::error::{DiskTrouble, Error};

    fn unreachable() -> Result<()> {
        Err(Error::Engine { trouble: Some(DiskTrouble::Unreachable), source: "no server".into() })
    }

    #[test]
    fn calls_wait_less_once_an_outage_is_long() {
        let outage = Outage::default();
        let began = Instant::now();
        assert_eq!(outage.deadline(began).left(began), CALL_MAX);
        outage.note(began, &unreachable());
        let later = began + CALL_MAX + Duration::from_secs(1);
        outage.note(later, &unreachable());
        assert!(outage.deadline(later).left(later) < CALL_MAX / 4);
        outage.note(later, &Ok(()));
        assert_eq!(outage.deadline(later).left(later), CALL_MAX);
    }
}
