//! How long a call waits for the server, and how often it repeats what failed.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::error::{DiskTrouble, Error, Result};

/// Longest time that a call takes. A fail-over to a standby takes a few seconds.
const CALL_MAX: Duration = Duration::from_secs(10);
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

    /// Waits for a call until the deadline.
    pub(super) async fn limit<T>(self, call: impl Future<Output = Result<T>>) -> Result<T> {
        match timeout_at(self.0, call).await {
            Ok(result) => result,
            Err(_) => {
                let source = format!("the database did not answer within {} seconds", CALL_MAX.as_secs()).into();
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
