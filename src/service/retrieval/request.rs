//! What to retrieve.

use std::fmt;
use std::sync::Arc;

use cuebase_retrieval::{Currency, Explain, Filter, TextBudget};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use cuebase_language::relevance::Admission;

use super::reading::Reading;

/// A retrieval request whose fields are checked.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RetrievalRequest {
    /// The query. Without a query, the memories of the filter are listed.
    pub query: Option<String>,
    /// The name of the person who asks, for whom "I" stands. Without a name it is the only person who speaks in the
    /// namespace, if there is just one.
    pub user: Option<String>,
    /// Restricts the memories.
    pub filter: Filter,
    /// Hits with a lower score are left out.
    pub min_score: f32,
    /// Which hits are returned, by their scores. Has no effect on a listing.
    pub admission: Admission,
    /// If given, the request is answered as of this time, milliseconds since the epoch.
    pub as_of: Option<i64>,
    /// What becomes of memories that no longer hold.
    pub currency: Currency,
    /// Maximum number of hits.
    pub limit: usize,
    /// Time zone of the dates in the query, which raise the score of memories from those days. Without a zone, dates
    /// are not read.
    #[serde(with = "jiff::fmt::serde::tz::optional")]
    pub zone: Option<TimeZone>,
    /// What is added to each hit.
    pub detail: HitDetail,
    /// Which candidates the reader reads.
    pub reading: Reading,
    /// Room for the hits. A node that answers for another one has its own.
    #[serde(skip)]
    pub budget: ReplyBudget,
}

/// What is added to each hit.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct HitDetail {
    /// Whether history, last diff, relations and cues are added.
    pub full: bool,
    /// Whether hits of a query come with an explanation of their score.
    pub explain: Explain,
}

impl RetrievalRequest {
    /// Returns the time at which the query is asked: that of `as_of`, else `now`. "Last week" is the week before it.
    pub(in crate::service) fn asked_at(&self, now: Timestamp) -> Timestamp {
        match self.as_of.map(Timestamp::from_millisecond) {
            Some(Ok(as_of)) => as_of,
            _ => now,
        }
    }
}

/// Room for the memories of a reply, which is taken before they are read. By default there is room for any.
#[derive(Clone, Default)]
pub struct ReplyBudget(Option<Arc<dyn TextBudget>>);

impl ReplyBudget {
    /// Returns a budget that `limit` limits.
    pub fn limited(limit: Arc<dyn TextBudget>) -> Self {
        Self(Some(limit))
    }
}

impl TextBudget for ReplyBudget {
    fn take(&self, bytes: usize) -> bool {
        match &self.0 {
            Some(limit) => limit.take(bytes),
            None => true,
        }
    }
}

impl fmt::Debug for ReplyBudget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "limited" } else { "unlimited" })
    }
}
