//! What a server reports about itself: how safely it keeps writes, and its time.

use std::time::Instant;

use jiff::Timestamp;
use tokio_postgres::Row;

use super::connections::Connections;
use super::database::PostgresEngine;
use super::deadline::Deadline;
use super::errors::{convert, is_passing};
use crate::error::Result;

/// Every role may read these settings. A setting that a server of another make lacks is read as an empty text.
const FACTS: &str = "SELECT current_setting('server_version_num')::integer, pg_is_in_recovery(), \
    coalesce(current_setting('fsync', true), ''), \
    coalesce(current_setting('full_page_writes', true), ''), \
    coalesce(current_setting('synchronous_standby_names', true), ''), \
    coalesce(current_setting('synchronous_commit', true), ''), \
    (extract(epoch from clock_timestamp()) * 1000)::bigint";

/// What a server reports about itself. Texts are as `SHOW` prints them, and empty if the server lacks the setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    /// Version as a number: 150018 is version 15.18.
    pub version_number: i32,
    /// Whether the server is a standby.
    pub is_in_recovery: bool,
    /// The setting `fsync`.
    pub fsync: String,
    /// The setting `full_page_writes`.
    pub full_page_writes: String,
    /// The setting `synchronous_standby_names`.
    pub synchronous_standby_names: String,
    /// The setting `synchronous_commit` of a connection of this process. Role and database may have their own value.
    pub synchronous_commit: String,
    /// The clocks of both sides.
    pub clocks: ClockReading,
}

/// The clocks of the server and of this machine, read at nearly the same time. In milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The clock of the server, since the epoch.
    pub server_ms: i64,
    /// The clock of this machine in the middle between request and response, since the epoch.
    pub own_ms: i64,
    /// Half of the time between request and response. The server read its clock at most this long before or after the
    /// middle.
    pub tolerance_ms: i64,
}

impl ClockReading {
    /// How far the clock of this machine is ahead of the server's, at least. Negative if it is behind.
    pub fn ahead_ms(&self) -> i64 {
        let difference = self.own_ms.saturating_sub(self.server_ms);
        let certain = difference.saturating_abs().saturating_sub(self.tolerance_ms);
        certain.max(0) * difference.signum()
    }
}

impl PostgresEngine {
    /// Asks the server for facts about itself, with one statement on one connection.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if the server cannot be reached or lacks a function of the statement.
    pub fn server_facts(&self) -> Result<ServerFacts> {
        let connections = self.connections.clone();
        self.threads.call(async move {
            let deadline = Deadline::of_call();
            deadline.limit(facts(&connections, deadline)).await
        })
    }
}

/// Reads the facts. Repeats the read while the server cannot be reached, until the deadline.
async fn facts(connections: &Connections, deadline: Deadline) -> Result<ServerFacts> {
    loop {
        match facts_once(connections).await {
            Err(error) if is_passing(&error) && deadline.pause().await => {}
            read => return read,
        }
    }
}

async fn facts_once(connections: &Connections) -> Result<ServerFacts> {
    let lease = connections.lend().await?;
    let client = lease.client()?;
    // Prepared before the time is measured, so that only one round trip is between the two clocks.
    let statement = client.prepare_cached(FACTS).await.map_err(convert)?;
    let sent = Instant::now();
    let sent_ms = Timestamp::now().as_millisecond();
    let row = client.query_one(&statement, &[]).await.map_err(convert)?;
    let half = sent.elapsed() / 2;
    lease.give_back();
    let half_ms = i64::try_from(half.as_millis()).unwrap_or(i64::MAX);
    facts_of(&row, sent_ms.saturating_add(half_ms), half_ms)
}

fn facts_of(row: &Row, own_ms: i64, tolerance_ms: i64) -> Result<ServerFacts> {
    let server_ms = row.try_get(6).map_err(convert)?;
    Ok(ServerFacts {
        version_number: row.try_get(0).map_err(convert)?,
        is_in_recovery: row.try_get(1).map_err(convert)?,
        fsync: row.try_get(2).map_err(convert)?,
        full_page_writes: row.try_get(3).map_err(convert)?,
        synchronous_standby_names: row.try_get(4).map_err(convert)?,
        synchronous_commit: row.try_get(5).map_err(convert)?,
        clocks: ClockReading { server_ms, own_ms, tolerance_ms },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_differ_by_what_the_round_trip_does_not_explain() {
        for (server_ms, own_ms, tolerance_ms, ahead_ms) in [
            (1_000, 1_000, 0, 0),
            (1_000, 4_000, 0, 3_000),
            (4_000, 1_000, 0, -3_000),
            (1_000, 4_000, 1_000, 2_000),
            (4_000, 1_000, 1_000, -2_000),
            (1_000, 4_000, 3_000, 0),
            (4_000, 1_000, 5_000, 0),
            (i64::MIN, i64::MAX, 1, i64::MAX - 1),
        ] {
            let clocks = ClockReading { server_ms, own_ms, tolerance_ms };
            assert_eq!(clocks.ahead_ms(), ahead_ms, "{clocks:?}");
        }
    }
}
