//! One query, prepared for one snapshot: its filter as a bitmap, its vector as a row, its times in this namespace.

use crate::arms::time::NamedTimes;
use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::index::{Row, Snapshot, allowed_documents};
use crate::query::Query;
use crate::threads::Threads;

/// One query, prepared for one snapshot.
pub(super) struct Search<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) query: Query<'a>,
    /// The documents that may be found; `None` for all.
    pub(super) allowed: Option<Bitmap>,
    /// The times that the query names, if any allowed memory is near them.
    pub(super) times: Option<NamedTimes<'a>>,
    pub(super) vector: Option<Row>,
    pub(super) threads: Threads,
}

impl<'a> Search<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, query: &Query<'a>, threads: Threads) -> Result<Self> {
        let allowed = allowed_documents(&snapshot.table, query.filter, query.now);
        let times = NamedTimes::new(&snapshot.table, query.times, allowed.as_ref());
        // Times that no memory is near are ordinary words.
        let time_words = if times.is_some() { query.time_words } else { &[] };
        let vector = match query.vector {
            Some(vector) => Some(snapshot.cues.query(vector)?),
            None => None,
        };
        Ok(Self { snapshot, query: Query { time_words, ..query.clone() }, allowed, times, vector, threads })
    }
}
