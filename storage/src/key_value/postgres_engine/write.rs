//! Writes: a batch as one transaction, with row locks in place of a lock over all writers.
//!
//! Each condition holds from its check until the commit, because the transaction locks what it checks:
//!
//! - A key that must have a value is read with a lock on its row: a shared one, so that batches with the same condition
//!   do not wait for each other, or an exclusive one if the batch changes the key.
//! - A key that must be absent is inserted, which only one of several concurrent transactions can do.
//!
//! Rows are locked in key order, so transactions rarely wait for each other in a circle. The server ends one of them if
//! they do, and it is repeated.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Client;
use tokio_postgres::{Row, Statement};

use super::connections::Connections;
use super::deadline::Deadline;
use super::errors::{convert, is_passing, is_unreachable};
use crate::error::{Error, Result};
use crate::key_value::batch::{Condition, KeyChange};
use crate::key_value::key_range::prefix_end;
use crate::key_value::{Batch, Column, Durability};

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
/// The commit then returns before the write-ahead log is on disk and on the standby. A later commit that waits for them
/// covers this one too, because the log is written in order.
const BEGIN_BUFFERED: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit TO off";
const LOCK_SHARED: &str = "SELECT kv.family, kv.key, kv.value FROM cuebase_kv kv \
    JOIN unnest($1::text[], $2::bytea[]) AS wanted(family, key) ON kv.family = wanted.family AND kv.key = wanted.key \
    ORDER BY kv.family, kv.key FOR SHARE OF kv";
const LOCK: &str = "SELECT kv.family, kv.key, kv.value FROM cuebase_kv kv \
    JOIN unnest($1::text[], $2::bytea[]) AS wanted(family, key) ON kv.family = wanted.family AND kv.key = wanted.key \
    ORDER BY kv.family, kv.key FOR UPDATE OF kv";
const INSERT: &str = "INSERT INTO cuebase_kv (family, key, value) \
    SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[]) \
    ON CONFLICT (family, key) DO NOTHING RETURNING family, key, value";
const DELETE_RANGE: &str = "DELETE FROM cuebase_kv \
    WHERE family = $1 AND key >= $2 AND key < $3 AND key <> ALL($4::bytea[])";
const PUT: &str = "INSERT INTO cuebase_kv (family, key, value) \
    SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[]) \
    ON CONFLICT (family, key) DO UPDATE SET value = EXCLUDED.value";
const DELETE: &str = "DELETE FROM cuebase_kv kv USING unnest($1::text[], $2::bytea[]) AS gone(family, key) \
    WHERE kv.family = gone.family AND kv.key = gone.key";

/// A key of any column, ordered as the table is.
type ColumnKey = (&'static str, Vec<u8>);

/// A key as the server returns it.
type StoredKey = (String, Vec<u8>);

/// A batch in the form of the statements.
pub(super) struct Transaction {
    durability: Durability,
    /// The conditions in their order, for the report of the first one that does not hold.
    conditions: Vec<(Column, Vec<u8>, Option<Vec<u8>>)>,
    /// Keys that must have a value and that the batch does not change.
    lock_shared: Keys,
    /// Keys that must have a value and that the batch changes.
    lock: Keys,
    /// Keys that must be absent, with the value that the batch gives them, or an empty one.
    insert: Entries,
    /// Ranges to delete: column, first key, key after the last one.
    delete_ranges: Vec<(Column, Vec<u8>, Vec<u8>)>,
    /// The new values of all other keys.
    put: Entries,
    /// The keys to delete.
    delete: Keys,
}

/// Keys as two arrays of equal length.
#[derive(Default)]
struct Keys {
    families: Vec<&'static str>,
    keys: Vec<Vec<u8>>,
}

/// Keys and their values as arrays of equal length.
#[derive(Default)]
struct Entries {
    keys: Keys,
    values: Vec<Vec<u8>>,
}

/// Why a batch was not acknowledged.
struct Failure {
    error: Error,
    outcome: Outcome,
}

/// What a failed transaction left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Nothing: the server did not receive the commit, or rolled the transaction back.
    Unchanged,
    /// The commit was sent and its answer did not arrive.
    Unknown,
}

impl Transaction {
    /// Converts a batch.
    pub(super) fn new(batch: &Batch, durability: Durability) -> Self {
        let mut last_values = BTreeMap::new();
        for KeyChange { column, key, value } in &batch.changes {
            last_values.insert((column.name(), key.clone()), value.clone());
        }
        let mut transaction = Self {
            durability,
            conditions: Vec::new(),
            lock_shared: Keys::default(),
            lock: Keys::default(),
            insert: Entries::default(),
            delete_ranges: Vec::new(),
            put: Entries::default(),
            delete: Keys::default(),
        };
        for (column, prefix) in &batch.deleted_prefixes {
            if let Some(end) = prefix_end(prefix) {
                transaction.delete_ranges.push((*column, prefix.clone(), end));
            }
        }
        transaction.add_conditions(&batch.conditions, &mut last_values);
        for (key, value) in last_values {
            match value {
                Some(value) => transaction.put.push(key, value),
                None => transaction.delete.push(key),
            }
        }
        transaction
    }

    /// Sorts the conditions by the way in which they are checked. Removes the values that are written with a check.
    fn add_conditions(&mut self, conditions: &[Condition], last_values: &mut BTreeMap<ColumnKey, Option<Vec<u8>>>) {
        let mut present = BTreeSet::new();
        let mut absent = BTreeSet::new();
        for Condition { column, key, value } in conditions {
            let name = (column.name(), key.clone());
            match value {
                Some(_) => present.insert(name),
                None => absent.insert(name),
            };
            self.conditions.push((*column, key.clone(), value.clone()));
        }
        for key in present {
            if last_values.contains_key(&key) || self.is_in_deleted_range(&key) {
                self.lock.push(key);
            } else {
                self.lock_shared.push(key);
            }
        }
        for key in absent {
            match last_values.remove(&key) {
                Some(Some(value)) => self.insert.push(key, value),
                // The row holds the key until the commit and is deleted before it.
                Some(None) | None => {
                    self.delete.push(key.clone());
                    self.insert.push(key, Vec::new());
                }
            }
        }
    }

    fn is_in_deleted_range(&self, (family, key): &ColumnKey) -> bool {
        self.delete_ranges.iter().any(|(column, from, end)| column.name() == *family && from <= key && key < end)
    }

    /// Runs the transaction. Repeats it while it has changed nothing and may succeed, until the deadline.
    ///
    /// # Errors
    /// [`Error::ConditionFailed`] if a condition does not hold. [`Error::Engine`] if the server refuses the batch, or if
    /// the answer to the commit is lost: the batch may have been applied then, in whole.
    pub(super) async fn run(&self, connections: &Connections, deadline: Deadline) -> Result<()> {
        loop {
            let Err(failure) = self.run_once(connections).await else { return Ok(()) };
            let may_repeat = failure.outcome == Outcome::Unchanged && is_passing(&failure.error);
            if !may_repeat || !deadline.pause().await {
                return Err(failure.error);
            }
        }
    }

    async fn run_once(&self, connections: &Connections) -> Result<(), Failure> {
        let lease = connections.lend().await.map_err(unchanged)?;
        let result = self.run_on(lease.client().map_err(unchanged)?).await;
        let is_reusable = match &result {
            Ok(()) => true,
            Err(failure) => matches!(failure.error, Error::ConditionFailed { .. }),
        };
        if is_reusable {
            lease.give_back();
        }
        result
    }

    async fn run_on(&self, client: &Client) -> Result<(), Failure> {
        let statements = Statements::prepare(client).await.map_err(unchanged)?;
        let begin = match self.durability {
            Durability::Synced => BEGIN,
            Durability::Buffered => BEGIN_BUFFERED,
        };
        // Answered before the commit is sent: if the connection was lost while it was idle, nothing has changed.
        self.begin_and_check(client, &statements, begin).await.map_err(unchanged)?;
        self.change_and_commit(client, &statements).await
    }

    /// Begins the transaction, locks what the conditions are about, and checks them. Ends the transaction if one does
    /// not hold.
    async fn begin_and_check(&self, client: &Client, statements: &Statements, begin: &str) -> Result<()> {
        let (begun, shared, locked, inserted) = tokio::join!(
            biased;
            client.batch_execute(begin),
            self.lock_shared.lock(client, &statements.lock_shared),
            self.lock.lock(client, &statements.lock),
            self.insert.insert(client, &statements.insert),
        );
        begun.map_err(convert)?;
        let mut found = BTreeMap::new();
        for rows in [shared?, locked?] {
            for row in &rows {
                let (key, value) = entry_of(row)?;
                found.insert(key, value);
            }
        }
        let mut inserted_keys = BTreeSet::new();
        for row in &inserted? {
            inserted_keys.insert(entry_of(row)?.0);
        }
        for (column, key, value) in &self.conditions {
            let name = (column.name().to_owned(), key.clone());
            let holds = match value {
                Some(value) => found.get(&name) == Some(value),
                None => inserted_keys.contains(&name),
            };
            if !holds {
                client.batch_execute("ROLLBACK").await.map_err(convert)?;
                return Err(Error::ConditionFailed { column: *column, key: key.clone() });
            }
        }
        Ok(())
    }

    /// Changes the keys and commits. All statements but the deletions of ranges are sent at once.
    async fn change_and_commit(&self, client: &Client, statements: &Statements) -> Result<(), Failure> {
        for (column, from, end) in &self.delete_ranges {
            let kept = self.insert.keys.of_family(column.name());
            let deleted = client.execute(&statements.delete_range, &[&column.name(), from, end, &kept]).await;
            deleted.map_err(convert).map_err(unchanged)?;
        }
        let (put, deleted, committed) = tokio::join!(
            biased;
            self.put.put(client, &statements.put),
            self.delete.delete(client, &statements.delete),
            client.batch_execute("COMMIT"),
        );
        put.map_err(after_commit)?;
        deleted.map_err(after_commit)?;
        committed.map_err(after_commit)
    }
}

/// The prepared statements of a connection.
struct Statements {
    lock_shared: Statement,
    lock: Statement,
    insert: Statement,
    delete_range: Statement,
    put: Statement,
    delete: Statement,
}

impl Statements {
    /// Prepares the statements at the first use of a connection, and takes them from its cache later.
    async fn prepare(client: &Client) -> Result<Self> {
        Ok(Self {
            lock_shared: client.prepare_cached(LOCK_SHARED).await.map_err(convert)?,
            lock: client.prepare_cached(LOCK).await.map_err(convert)?,
            insert: client.prepare_cached(INSERT).await.map_err(convert)?,
            delete_range: client.prepare_cached(DELETE_RANGE).await.map_err(convert)?,
            put: client.prepare_cached(PUT).await.map_err(convert)?,
            delete: client.prepare_cached(DELETE).await.map_err(convert)?,
        })
    }
}

impl Keys {
    fn push(&mut self, (family, key): ColumnKey) {
        self.families.push(family);
        self.keys.push(key);
    }

    /// The keys of one column.
    fn of_family(&self, family: &str) -> Vec<&[u8]> {
        let mut keys = Vec::new();
        for (each, key) in self.families.iter().zip(&self.keys) {
            if *each == family {
                keys.push(key.as_slice());
            }
        }
        keys
    }

    /// Locks the rows of these keys. Returns those that exist.
    async fn lock(&self, client: &Client, statement: &Statement) -> Result<Vec<Row>> {
        if self.keys.is_empty() {
            return Ok(Vec::new());
        }
        client.query(statement, &[&self.families, &self.keys]).await.map_err(convert)
    }

    async fn delete(&self, client: &Client, statement: &Statement) -> Result<(), tokio_postgres::Error> {
        if self.keys.is_empty() {
            return Ok(());
        }
        client.execute(statement, &[&self.families, &self.keys]).await?;
        Ok(())
    }
}

impl Entries {
    fn push(&mut self, key: ColumnKey, value: Vec<u8>) {
        self.keys.push(key);
        self.values.push(value);
    }

    /// Inserts the entries whose keys are absent. Returns them.
    async fn insert(&self, client: &Client, statement: &Statement) -> Result<Vec<Row>> {
        if self.values.is_empty() {
            return Ok(Vec::new());
        }
        let Self { keys, values } = self;
        client.query(statement, &[&keys.families, &keys.keys, values]).await.map_err(convert)
    }

    async fn put(&self, client: &Client, statement: &Statement) -> Result<(), tokio_postgres::Error> {
        if self.values.is_empty() {
            return Ok(());
        }
        let Self { keys, values } = self;
        client.execute(statement, &[&keys.families, &keys.keys, values]).await?;
        Ok(())
    }
}

/// The key and value of a row that was locked or inserted.
fn entry_of(row: &Row) -> Result<(StoredKey, Vec<u8>)> {
    let family = row.try_get(0).map_err(convert)?;
    let key = row.try_get(1).map_err(convert)?;
    let value = row.try_get(2).map_err(convert)?;
    Ok(((family, key), value))
}

fn unchanged(error: Error) -> Failure {
    Failure { error, outcome: Outcome::Unchanged }
}

/// The failure of a statement that was sent together with the commit. If the server refuses a statement, it rolls the
/// transaction back. If the connection is lost, the commit may have been received.
fn after_commit(error: tokio_postgres::Error) -> Failure {
    let outcome = if is_unreachable(&error) { Outcome::Unknown } else { Outcome::Unchanged };
    Failure { error: convert(error), outcome }
}
