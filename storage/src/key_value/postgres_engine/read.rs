//! Reads: one key, ranges of keys in both directions, and pages of a whole column.

use deadpool_postgres::Client;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::connections::Connections;
use super::deadline::Deadline;
use super::errors::{convert, is_passing};
use crate::error::Result;
use crate::key_value::key_range::{backward_start, prefix_end};
use crate::key_value::page::Page;
use crate::key_value::{Column, KeyValuePair};

const GET: &str = "SELECT key, value FROM cuebase_kv WHERE family = $1 AND key = $2 LIMIT $3";
const FORWARD: &str = "SELECT key, value FROM cuebase_kv \
    WHERE family = $1 AND key >= $2 AND key < $3 ORDER BY key LIMIT $4";
const FORWARD_TO_LAST: &str = "SELECT key, value FROM cuebase_kv \
    WHERE family = $1 AND key >= $2 ORDER BY key LIMIT $3";
const BACKWARD: &str = "SELECT key, value FROM cuebase_kv \
    WHERE family = $1 AND key >= $2 AND key < $3 ORDER BY key DESC LIMIT $4";
const BACKWARD_FROM_LAST: &str = "SELECT key, value FROM cuebase_kv \
    WHERE family = $1 AND key >= $2 ORDER BY key DESC LIMIT $3";
/// Rows that a page fetches at a time.
const PAGE_ROWS: i32 = 64;

/// A read of one column.
pub(super) struct Query {
    /// One of the statements above.
    statement: &'static str,
    column: Column,
    /// The key, or the ends of the range: the first key, and the key after the last one if the statement has one.
    keys: Vec<Vec<u8>>,
    /// Most rows; `None` for all.
    limit: Option<i64>,
}

impl Query {
    /// The column of the keys.
    pub(super) fn column(&self) -> Column {
        self.column
    }

    /// The entry of a key.
    pub(super) fn get(column: Column, key: &[u8]) -> Self {
        Self { statement: GET, column, keys: vec![key.to_vec()], limit: None }
    }

    /// The entries whose key starts with `prefix` and is greater than `after`, in key order.
    pub(super) fn forward(column: Column, prefix: &[u8], after: Option<&[u8]>, limit: Option<usize>) -> Self {
        let first = first_key(prefix, after);
        match prefix_end(prefix) {
            Some(end) => Self::range(FORWARD, column, vec![first, end], limit),
            None => Self::range(FORWARD_TO_LAST, column, vec![first], limit),
        }
    }

    /// The entries whose key starts with `prefix` and is less than `before`, in descending key order.
    pub(super) fn backward(column: Column, prefix: &[u8], before: Option<&[u8]>, limit: Option<usize>) -> Self {
        let first = prefix.to_vec();
        match backward_start(prefix, before) {
            Some(end) => Self::range(BACKWARD, column, vec![first, end], limit),
            None => Self::range(BACKWARD_FROM_LAST, column, vec![first], limit),
        }
    }

    fn range(statement: &'static str, column: Column, keys: Vec<Vec<u8>>, limit: Option<usize>) -> Self {
        let limit = limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
        Self { statement, column, keys, limit }
    }

    /// Reads all entries of the query. Repeats the read while the server cannot be reached, until the deadline.
    pub(super) async fn entries(&self, connections: &Connections, deadline: Deadline) -> Result<Vec<KeyValuePair>> {
        loop {
            match self.entries_once(connections).await {
                Err(error) if is_passing(&error) && deadline.pause().await => {}
                read => return read,
            }
        }
    }

    /// Reads the entries that fit into a page of bounded size. Repeats the read as [`Self::entries`] does.
    pub(super) async fn page(&self, connections: &Connections, deadline: Deadline) -> Result<Vec<KeyValuePair>> {
        loop {
            match self.page_once(connections).await {
                Err(error) if is_passing(&error) && deadline.pause().await => {}
                read => return read,
            }
        }
    }

    async fn entries_once(&self, connections: &Connections) -> Result<Vec<KeyValuePair>> {
        let lease = connections.lend().await?;
        let entries = self.entries_on(lease.client()?).await?;
        lease.give_back();
        Ok(entries)
    }

    /// Reads all entries of the query on a connection.
    pub(super) async fn entries_on(&self, client: &Client) -> Result<Vec<KeyValuePair>> {
        let statement = client.prepare_cached(self.statement).await.map_err(convert)?;
        let column = self.column.name();
        let rows = client.query(&statement, &self.parameters(&column)).await.map_err(convert)?;
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            entries.push(entry_of(row)?);
        }
        Ok(entries)
    }

    /// Fetches rows in small groups until the page is full, since the rows that fit cannot be counted in advance.
    async fn page_once(&self, connections: &Connections) -> Result<Vec<KeyValuePair>> {
        let mut lease = connections.lend().await?;
        let transaction = lease.client_mut()?.transaction().await.map_err(convert)?;
        let statement = transaction.prepare_cached(self.statement).await.map_err(convert)?;
        let column = self.column.name();
        let portal = transaction.bind(&statement, &self.parameters(&column)).await.map_err(convert)?;
        let mut page = Page::of_bounded_size();
        'page: loop {
            let rows = transaction.query_portal(&portal, PAGE_ROWS).await.map_err(convert)?;
            for row in &rows {
                let (key, value) = entry_of(row)?;
                page.push(key, value);
                if page.is_full() {
                    break 'page;
                }
            }
            if rows.is_empty() {
                break;
            }
        }
        transaction.rollback().await.map_err(convert)?;
        lease.give_back();
        Ok(page.into_entries())
    }

    /// The parameters of the statement, in its order.
    fn parameters<'a>(&'a self, column: &'a &'static str) -> Vec<&'a (dyn ToSql + Sync)> {
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![column];
        for key in &self.keys {
            parameters.push(key);
        }
        parameters.push(&self.limit);
        parameters
    }
}

/// The smallest key that starts with a prefix and is greater than `after`.
fn first_key(prefix: &[u8], after: Option<&[u8]>) -> Vec<u8> {
    match after {
        // The next key after a key is the key and a NUL byte.
        Some(after) if after >= prefix => [after, &[0]].concat(),
        _ => prefix.to_vec(),
    }
}

fn entry_of(row: &Row) -> Result<KeyValuePair> {
    let key = row.try_get(0).map_err(convert)?;
    let value = row.try_get(1).map_err(convert)?;
    Ok((key, value))
}
