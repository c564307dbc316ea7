//! Why a query returns the memory at a path, or why it does not.

use cuebase_language::relevance::{Admission, asking_part};
use cuebase_retrieval::{Error as IndexError, Exclusion, PathExplanation, Snapshot};
use cuebase_storage::memory_file::MemoryPath;
use cuebase_storage::{AccountId, NamespaceName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::explanation::ExplanationView;
use super::prepared_query::PreparedQuery;
use super::request::RetrievalRequest;
use super::search::with_synonyms;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::service::reads::Reads;

/// The response to `POST /v1/explain`.
///
/// The MCP tools read it from the response of a server. A field that the response lacks is empty.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExplainResponse {
    /// Path of the memory.
    pub path: String,
    /// Whether the query returns the memory as a hit.
    pub found: bool,
    /// What keeps the memory out of the hits. Empty for a hit, and for a repetition of one.
    pub excluded_by: Vec<ExcludedBy>,
    /// For a repetition: path of the hit that says the same and names this memory in `also`. Otherwise null.
    pub repeats: Option<String>,
    /// Rank among all memories that the query ranks, from 1. For a memory that it does not rank, the rank that the memory
    /// would have. Null for an unknown path.
    #[schemars(extend("minimum" = 1))]
    pub rank: Option<usize>,
    /// Probability that the memory answers the query. Null for an unknown path.
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    pub score: Option<f32>,
    /// What the score was made from. Null for an unknown path.
    pub explanation: Option<ExplanationView>,
    /// Paths of the memories that rank higher, best first, up to 24.
    pub outranked_by: Vec<String>,
}

/// What keeps a memory out of the hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExcludedBy {
    /// A filter, or the memory is later than `as_of`.
    Filter,
    /// The memory has expired.
    Expired,
    /// The memory does not hold, and the request has `current=only`.
    Superseded,
    /// No arm found the memory among its best.
    NoArm,
    /// The score is below `min_score`.
    MinScore,
    /// Hits of a higher rank take up `limit`.
    Limit,
    /// The score is too low for `admit`, for the query as a whole and for each of its parts.
    Admit,
    /// No memory is stored at the path.
    UnknownPath,
}

impl From<Exclusion> for ExcludedBy {
    fn from(exclusion: Exclusion) -> Self {
        match exclusion {
            Exclusion::UnknownPath => Self::UnknownPath,
            Exclusion::Filter => Self::Filter,
            Exclusion::Expired => Self::Expired,
            Exclusion::Superseded => Self::Superseded,
            Exclusion::NoArm => Self::NoArm,
            Exclusion::MinScore => Self::MinScore,
            Exclusion::Limit => Self::Limit,
        }
    }
}

impl ExplainResponse {
    fn of(path: &MemoryPath, explained: PathExplanation) -> Self {
        let found = explained.is_hit();
        let PathExplanation { excluded_by, repeats, ranked } = explained;
        let mut response = Self {
            path: path.to_string(),
            found,
            excluded_by: excluded_by.into_iter().map(ExcludedBy::from).collect(),
            repeats,
            ..Self::default()
        };
        if let Some(ranked) = ranked {
            response.rank = Some(ranked.rank);
            response.score = Some(ranked.score);
            response.explanation = Some(ranked.explanation.into());
            response.outranked_by = ranked.outranked_by;
        }
        response
    }
}

impl ExplainResponse {
    /// Says whether the memory is a hit after admission. The memory may also answer a part of the query well enough.
    fn apply_admission(&mut self, is_admitted: bool) {
        if is_admitted {
            self.excluded_by.clear();
        } else if self.found {
            self.excluded_by.push(ExcludedBy::Admit);
        }
        self.found = is_admitted;
    }
}

impl Reads {
    /// Explains why a query returns the memory at a path, or why it does not, in a namespace that the caller may read.
    ///
    /// # Errors
    ///
    /// `missing_query` for a request without a query; otherwise those of [`Reads::find`].
    pub fn explain(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        request: &RetrievalRequest,
        path: &MemoryPath,
    ) -> Result<ExplainResponse> {
        let Some(query) = &request.query else {
            return Err(Error::invalid(ErrorCode::MissingQuery, "q is missing: send the query to explain"));
        };
        let text = &*asking_part(query);
        let lease = self.namespaces.lease(account, namespace)?;
        let vocabulary = lease.vocabulary();
        let synonyms = vocabulary.synonyms(text, &vocabulary.mentions(text));
        let mut search = self.begin_search(request);
        let embedding = self.embed_query(&lease, with_synonyms(text, &synonyms), &mut search);
        let reader = self.query_reader(text, search.reading);
        let prepared = PreparedQuery::new(request, embedding.of(text, &synonyms), search.now).read_by(&reader);
        let explained = self.on_searchers(|| lease.read(|snapshot| explain_in(snapshot, &prepared, path)))?;
        let mut response = ExplainResponse::of(path, explained);
        if request.admission != Admission::All {
            let result = self.find_text(lease, text, &mut search)?;
            let is_admitted = result.hits.iter().any(|hit| hit.memory.path == response.path);
            response.apply_admission(is_admitted);
        }
        Ok(response)
    }
}

fn explain_in(
    snapshot: &Snapshot,
    prepared: &PreparedQuery<'_>,
    path: &MemoryPath,
) -> Result<PathExplanation, IndexError> {
    let asked = snapshot.asked_of_user(prepared.asked(), prepared.user())?;
    snapshot.explain(&prepared.query(snapshot, &asked), path.as_str())
}
