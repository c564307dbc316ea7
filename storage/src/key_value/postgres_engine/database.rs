//! The open database: the calls of the interface.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use tokio::time::Instant;

use super::connections::Connections;
use super::deadline::Deadline;
use super::errors::convert;
use super::outage::Outage;
use super::read::Query;
use super::snapshot::PostgresSnapshot;
use super::sync::Syncs;
use super::write::Transaction;
use crate::call_threads::CallThreads;
use crate::error::{Error, Result};
use crate::key_value::{Batch, Column, ColumnPrefix, Durability, Engine, EngineStats, KeyValuePair, OpenGeneration};

/// Threads that exchange messages with the server. The calls wait for them on threads of their own.
const THREADS: usize = 2;
/// Size of the table with its index, and of what it stores elsewhere. A server of another make may not have the function.
const SIZE: &str = "SELECT pg_total_relation_size('cuebase_kv')";

/// A database in a PostgreSQL server. Several processes may have it open.
///
/// The calls block the calling thread until the server answers, for at most ten seconds. They wait for a server that
/// cannot be reached, as during a fail-over, and repeat reads, and writes whose commit was not sent.
pub struct PostgresEngine {
    outage: Outage,
    /// Shared with snapshots.
    pub(super) threads: Arc<CallThreads>,
    pub(super) connections: Connections,
    syncs: Syncs,
}

impl PostgresEngine {
    /// Connects to the server and creates the tables that are missing.
    ///
    /// `url` has the form `postgres://user:password@host:port/database`, with several hosts separated by commas, or
    /// that of libpq's connection strings. The connection uses TLS if the server offers it; `sslmode=require` insists
    /// on it, `sslmode=disable` does without. Certificates are always verified. `process` is a name that no other
    /// process with this database has.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the URL has another form. [`Error::Engine`] if the server cannot be reached within ten
    /// seconds or refuses the user.
    pub fn open(url: &str, process: &str) -> Result<Self> {
        let connections = Connections::prepare(url, process.to_owned())?;
        let threads = Arc::new(CallThreads::start("postgres", THREADS)?);
        let opened = connections.clone();
        let syncs = threads.call(async move { Syncs::start(&opened).await })?;
        Ok(Self { outage: Outage::default(), threads, connections, syncs })
    }

    /// Runs a call, within the time that it may take, and takes note of its outcome.
    fn call<T: Send + 'static, C: Future<Output = Result<T>> + Send + 'static>(
        &self,
        call: impl FnOnce(Deadline) -> C,
    ) -> Result<T> {
        self.call_until(self.outage.deadline(Instant::now()), call)
    }

    /// Runs a call on the connections of sessions. It has the full time during an outage too: the time of a trial may not
    /// suffice to try all hosts of the URL, and one call that succeeds ends the outage for all.
    fn call_of_session<T: Send + 'static, C: Future<Output = Result<T>> + Send + 'static>(
        &self,
        call: impl FnOnce(Deadline, Connections) -> C,
    ) -> Result<T> {
        let connections = self.connections.of_sessions();
        self.call_until(Deadline::of_call(), |deadline| call(deadline, connections))
    }

    fn call_until<T: Send + 'static, C: Future<Output = Result<T>> + Send + 'static>(
        &self,
        deadline: Deadline,
        call: impl FnOnce(Deadline) -> C,
    ) -> Result<T> {
        let began = Instant::now();
        let call = call(deadline);
        let outcome = self.threads.call(async move { deadline.limit(call).await });
        self.outage.note(began, &outcome);
        outcome
    }

    fn entries(&self, query: Query) -> Result<Vec<KeyValuePair>> {
        if query.column() == Column::Nodes {
            return self.call_of_session(|deadline, nodes| async move { query.entries(&nodes, deadline).await });
        }
        let connections = self.connections.clone();
        self.call(|deadline| async move { query.entries(&connections, deadline).await })
    }
}

impl Engine for PostgresEngine {
    /// Never on the connections of sessions: the node that owns a namespace is read for many requests.
    fn get(&self, column: Column, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let connections = self.connections.clone();
        let query = Query::get(column, key);
        let entries = self.call(|deadline| async move { query.entries(&connections, deadline).await })?;
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

    /// The server verifies what it reads, if its data checksums are on.
    fn read_page(&self, column: Column, after: Option<&[u8]>) -> Result<Vec<KeyValuePair>> {
        let connections = self.connections.clone();
        let query = Query::forward(column, b"", after, None);
        self.call(|deadline| async move { query.page(&connections, deadline).await })
    }

    /// A batch whose commit was not answered may have been applied, in whole.
    fn write(&self, batch: &Batch, durability: Durability) -> Result<()> {
        let transaction = Transaction::new(batch, durability);
        if batch.changes_column(Column::Nodes) {
            return self.call_of_session(|deadline, nodes| async move { transaction.run(&nodes, deadline).await });
        }
        let connections = self.connections.clone();
        self.call(|deadline| async move { transaction.run(&connections, deadline).await })
    }

    fn sync(&self) -> Result<()> {
        self.sync_since(self.syncs.last_generation())
    }

    fn sync_since(&self, generation: OpenGeneration) -> Result<()> {
        let syncs = self.syncs.clone();
        self.call(|_| async move { syncs.sync(generation).await })
    }

    fn generation(&self) -> OpenGeneration {
        // A loss that was not noticed yet makes the sync of the caller's writes fail.
        if !self.syncs.is_lost() {
            return self.syncs.last_generation();
        }
        let syncs = self.syncs.clone();
        let opened = self.call(|_| async move { syncs.generation().await });
        // If the connection cannot be opened, the caller's writes fail too.
        opened.unwrap_or_else(|_| self.syncs.last_generation())
    }

    /// The size of the table. The server reports nothing about its memory and its upkeep here.
    fn stats(&self) -> EngineStats {
        let connections = self.connections.clone();
        let measured = self.call(|_| async move { table_bytes(&connections).await });
        EngineStats { disk_bytes: measured.unwrap_or(0), memory_bytes: 0, compactions_pending: 0 }
    }

    /// Writes nothing.
    ///
    /// # Errors
    /// Always [`Error::Engine`], without a trouble of the disk.
    fn checkpoint(&self, _folder: &Path) -> Result<()> {
        Err(Error::Engine { trouble: None, source: "the records are in a database server, not in files".into() })
    }

    /// Reads in one transaction, which lasts as long as the snapshot. Each call blocks for at most ten seconds and is not
    /// repeated: a snapshot whose connection is lost cannot be continued.
    fn snapshot(&self) -> Result<Arc<dyn Engine>> {
        Ok(Arc::new(PostgresSnapshot::begin(&self.threads, &self.connections)?))
    }

    /// Lets the server reuse the space of deleted rows. Their bytes stay in its files until then, in its write-ahead
    /// log and its backups for as long as these are kept, and on its standbys.
    fn purge_deleted(&self, _prefixes: &[ColumnPrefix]) -> Result<()> {
        let connections = self.connections.clone();
        self.threads.call(async move {
            let lease = connections.lend().await?;
            lease.client()?.batch_execute("VACUUM cuebase_kv").await.map_err(convert)?;
            lease.give_back();
            Ok(())
        })
    }
}

async fn table_bytes(connections: &Connections) -> Result<u64> {
    let lease = connections.lend().await?;
    let row = lease.client()?.query_one(SIZE, &[]).await.map_err(convert)?;
    lease.give_back();
    let bytes: i64 = row.try_get(0).map_err(convert)?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}
