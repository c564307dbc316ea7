//! The response to a retrieval request.

use std::time::Duration;

use cuebase_storage::{AccountId, NamespaceName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hit::HitView;
use super::request::RetrievalRequest;
use super::search_result::Definition;
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
    /// Time in the embedding of the query and the cue arm, milliseconds.
    #[schemars(extend("minimum" = 0))]
    pub vector_ms: f64,
    /// Time in the lexical arm, milliseconds.
    #[schemars(extend("minimum" = 0))]
    pub lexical_ms: f64,
    /// Time in expansion and ranking, milliseconds.
    #[schemars(extend("minimum" = 0))]
    pub graph_ms: f64,
    /// Whether the namespace was not open before.
    pub cold_start: bool,
}

impl Reads {
    /// Retrieves memories of a namespace that the caller may read.
    pub fn retrieve(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        request: &RetrievalRequest,
    ) -> Result<RetrievalResponse> {
        let mut found = self.find(account, namespace, request)?;
        if request.query.is_some() {
            self.metrics.record_retrieval(found.vector_time, found.lexical_time, found.graph_time);
        }
        Ok(RetrievalResponse {
            defined: std::mem::take(&mut found.defined),
            vector_ms: milliseconds(found.vector_time),
            lexical_ms: milliseconds(found.lexical_time),
            graph_ms: milliseconds(found.graph_time),
            cold_start: found.lease.cold,
            hits: found.into_views(request.full)?,
        })
    }
}

/// Returns a time in milliseconds, rounded to a microsecond.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
