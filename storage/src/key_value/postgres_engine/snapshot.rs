//! A snapshot: all keys as they were at one moment, read in one transaction on a connection of its own.

use std::path::Path;
use std::sync::Arc;

use super::connections::{Connections, Lease};
use super::deadline::Deadline;
use super::errors::{convert, is_passing};
use super::read::Query;
use crate::call_threads::CallThreads;
use crate::error::{Error, Result};
use crate::key_value::page::Page;
use crate::key_value::{Batch, Column, ColumnPrefix, Durability, Engine, EngineStats, KeyValuePair, OpenGeneration};

/// The moment of the transaction is that of its first query. The pauses between two reads may be longer than the server
/// allows for other transactions.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
    SET LOCAL idle_in_transaction_session_timeout TO 0; \
    SELECT 1 FROM cuebase_kv LIMIT 1";
/// Rows that a page reads at a time. Their sizes are not known in advance, so a page can exceed its 1 MiB by this number.
const ROWS: usize = 64;

/// The keys of a database at one moment. The connection is closed when this is dropped, which ends the transaction.
pub(super) struct PostgresSnapshot {
    threads: Arc<CallThreads>,
    lease: Arc<Lease>,
}

impl PostgresSnapshot {
    /// Begins the transaction.
    pub(super) fn begin(threads: &Arc<CallThreads>, connections: &Connections) -> Result<Self> {
        let connections = connections.clone();
        let lease = threads.call(async move {
            let deadline = Deadline::of_call();
            deadline.limit(begin(&connections, deadline)).await
        })?;
        Ok(Self { threads: Arc::clone(threads), lease: Arc::new(lease) })
    }

    fn entries(&self, query: Query) -> Result<Vec<KeyValuePair>> {
        let lease = Arc::clone(&self.lease);
        self.threads.call(async move {
            let client = lease.client()?;
            Deadline::of_call().limit(query.entries_on(client)).await
        })
    }
}

/// Begins the transaction. Repeats that while the server cannot be reached, until the deadline.
async fn begin(connections: &Connections, deadline: Deadline) -> Result<Lease> {
    loop {
        match begin_once(connections).await {
            Err(error) if is_passing(&error) && deadline.pause().await => {}
            begun => return begun,
        }
    }
}

async fn begin_once(connections: &Connections) -> Result<Lease> {
    let lease = connections.lend().await?;
    lease.client()?.batch_execute(BEGIN).await.map_err(convert)?;
    Ok(lease)
}

impl Engine for PostgresSnapshot {
    fn get(&self, column: Column, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let entries = self.entries(Query::get(column, key))?;
        Ok(entries.into_iter().next().map(|(_, value)| value))
    }

    fn scan(&self, column: Column, prefix: &[u8], after: Option<&[u8]>, limit: usize) -> Result<Vec<KeyValuePair>> {
        self.entries(Query::forward(column, prefix, after, Some(limit)))
    }

    fn scan_back(
        &self,
        column: Column,
        prefix: &[u8],
        before: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<KeyValuePair>> {
        self.entries(Query::backward(column, prefix, before, Some(limit)))
    }

    fn read_page(&self, column: Column, after: Option<&[u8]>) -> Result<Vec<KeyValuePair>> {
        let mut page = Page::of_bounded_size();
        let mut last = after.map(<[u8]>::to_vec);
        while !page.is_full() {
            let entries = self.entries(Query::forward(column, b"", last.as_deref(), Some(ROWS)))?;
            let is_end = entries.len() < ROWS;
            for (key, value) in entries {
                last = Some(key.clone());
                page.push(key, value);
            }
            if is_end {
                break;
            }
        }
        Ok(page.into_entries())
    }

    /// Changes nothing.
    ///
    /// # Errors
    /// Always [`Error::Engine`].
    fn write(&self, _batch: &Batch, _durability: Durability) -> Result<()> {
        Err(read_only())
    }

    /// Does nothing, as nothing is written.
    fn sync(&self) -> Result<()> {
        Ok(())
    }

    /// Does nothing, as nothing is written.
    fn sync_since(&self, _generation: OpenGeneration) -> Result<()> {
        Ok(())
    }

    fn generation(&self) -> OpenGeneration {
        OpenGeneration(0)
    }

    /// Measures nothing.
    fn stats(&self) -> EngineStats {
        EngineStats::default()
    }

    /// Writes nothing.
    ///
    /// # Errors
    /// Always [`Error::Engine`].
    fn checkpoint(&self, _folder: &Path) -> Result<()> {
        Err(read_only())
    }

    /// Changes nothing.
    ///
    /// # Errors
    /// Always [`Error::Engine`].
    fn purge_deleted(&self, _prefixes: &[ColumnPrefix]) -> Result<()> {
        Err(read_only())
    }
}

fn read_only() -> Error {
    Error::Engine { trouble: None, source: "a snapshot of the database can only be read".into() }
}
