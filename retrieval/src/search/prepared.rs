//! One query, prepared for one snapshot: its filter as a bitmap, its vector as a row, its times in this namespace.

use crate::arms::time::NamedTimes;
use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::index::{Row, Snapshot, ValidityFilter, allowed_documents};
use crate::query::Query;
use crate::ranking::claims::ClaimQuestion;
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
    /// The claims that the query asks for.
    pub(super) claims: ClaimQuestion<'a>,
    /// The time as of which the search answers.
    pub(super) validity: ValidityFilter,
    pub(super) threads: Threads,
}

impl<'a> Search<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, query: &Query<'a>, threads: Threads) -> Result<Self> {
        let validity = ValidityFilter::new(query.now, query.as_of, query.currency);
        let allowed = allowed_documents(snapshot, query.filter, &validity, query.now);
        let claims = ClaimQuestion::new(&snapshot.ledger, query.asked, validity.at);
        let times = NamedTimes::new(&snapshot.table, query.times, allowed.as_ref());
        // Times that no memory is near are ordinary words.
        let time_words = if times.is_some() { query.time_words } else { &[] };
        let vector = match query.vector {
            Some(vector) => Some(snapshot.cues.query(vector)?),
            None => None,
        };
        let query = Query { time_words, ..query.clone() };
        Ok(Self { snapshot, query, allowed, times, vector, claims, validity, threads })
    }
}
