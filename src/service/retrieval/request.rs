//! What to retrieve.

use cuebase_retrieval::{Currency, Explain, Filter};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::relevance::Admission;

/// A retrieval request whose fields are checked.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RetrievalRequest {
    /// The query. Without a query, the memories of the filter are listed.
    pub query: Option<String>,
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
    /// Whether history, last diff, relations and cues are added.
    pub full: bool,
    /// Whether hits of a query come with an explanation of their score.
    pub explain: Explain,
}
