//! How long a call waits for the server, and how often it repeats what failed.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::error::{DiskTrouble, Error, Result};

/// Longest time that a call takes. A fail-over to a standby takes a few seconds.
pub(super) const CALL_MAX: Duration = Duration::from_secs(10);
/// Time of a call while the server has not answered for longer than [`CALL_MAX`].
const TRIAL_MAX: Duration = Duration::from_secs(2);
/// Pause before a repetition.
const PAUSE: Duration = Duration::from_millis(50);

/// The time at which a call fails.
#[derive(Clone, Copy)]
pub(super) struct Deadline(Instant);

impl Deadline {
    /// The deadline of a call that begins now.
    pub(super) fn of_call() -> Self {
        Self(Instant::now() + CALL_MAX)
    }

    /// The deadline of a call that begins at a time, if the server does not answer since another time.
    pub(super) fn of_outage(now: Instant, since: Option<Instant>) -> Self {
        match since {
            None => Self(now + CALL_MAX),
            Some(since) => Self((since + CALL_MAX).max(now + TRIAL_MAX).min(now + CALL_MAX)),
        }
    }

    /// The time from a moment to the deadline.
    #[cfg(test)]
    pub(super) fn left(self, now: Instant) -> Duration {
        self.0.saturating_duration_since(now)
    }

    /// Waits for a call until the deadline.
    pub(super) async fn limit<T>(self, call: impl Future<Output = Result<T>>) -> Result<T> {
        match timeout_at(self.0, call).await {
            Ok(result) => result,
            Err(_) => {
                let source = "the database did not answer in time".into();
                Err(Error::Engine { trouble: Some(DiskTrouble::Unreachable), source })
            }
        }
    }

    /// Pauses before a repetition. Returns false, without a pause, if the time does not suffice for one.
    pub(super) async fn pause(self) -> bool {
        let next = Instant::now() + PAUSE;
        if next >= self.0 {
            return false;
        }
        sleep(PAUSE).await;
        true
    }
}
