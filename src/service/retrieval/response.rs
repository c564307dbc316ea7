//! The response to a retrieval request.

use std::time::Duration;

use cuebase_storage::{AccountId, NamespaceName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hit::HitView;
use super::request::RetrievalRequest;
use super::search_result::{Definition, SearchTimes};
use crate::error::Result;
use crate::service::reads::Reads;

/// The response to a retrieval request.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RetrievalResponse {
    /// Hits, best first. Omitted if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("minItems" = 1))]
    pub hits: Vec<HitView>,
    /// Definitions of the vocabulary terms that the query mentions. Omitted if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("minItems" = 1))]
    pub defined: Vec<Definition>,
    /// How many candidates were read by the reader.
    pub read: usize,
    /// Time in the embedding of the query and the cue arm, milliseconds.
    #[schemars(extend("minimum" = 0))]
    pub vector_ms: f64,
    /// Time in the lexical arm, milliseconds.
    #[schemars(extend("minimum" = 0))]
    pub lexical_ms: f64,
    /// Time in expansion, ranking and reading, milliseconds.
    #[schemars(extend("minimum" = 0))]
    pub graph_ms: f64,
    /// Whether the namespace, or one of several, was not open before.
    pub cold_start: bool,
}

impl Reads {
    /// Retrieves memories of namespaces that the caller may read. The times of their searches are added up.
    ///
    /// # Errors
    ///
    /// Those of [`Reads::find_in_all`].
    pub fn retrieve(
        &self,
        account: &AccountId,
        namespaces: &[NamespaceName],
        request: &RetrievalRequest,
    ) -> Result<RetrievalResponse> {
        let mut found = self.find_in_all(account, namespaces, request)?;
        let mut total = SearchTimes::default();
        let mut cold_start = false;
        for searched in &found.namespaces {
            let SearchTimes { vector, lexical, graph } = searched.times;
            if request.query.is_some() {
                self.metrics.record_retrieval(vector, lexical, graph);
            }
            total.vector += vector;
            total.lexical += lexical;
            total.graph += graph;
            cold_start |= searched.is_cold();
        }
        Ok(RetrievalResponse {
            defined: std::mem::take(&mut found.defined),
            vector_ms: milliseconds(total.vector),
            lexical_ms: milliseconds(total.lexical),
            graph_ms: milliseconds(total.graph),
            cold_start,
            read: found.read,
            hits: found.into_views(request.detail.full)?,
        })
    }
}

/// Returns a time in milliseconds, rounded to a microsecond.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
