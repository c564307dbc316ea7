//! The arms of a search, by their names in the API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// A way of finding a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Arm {
    /// By the words of the query.
    Lexical,
    /// By a cue near the query's vector.
    Cue,
    /// By a relation to one of the best hits.
    Graph,
}

impl From<cuebase_retrieval::Arm> for Arm {
    fn from(arm: cuebase_retrieval::Arm) -> Self {
        match arm {
            cuebase_retrieval::Arm::Lexical => Self::Lexical,
            cuebase_retrieval::Arm::Cue => Self::Cue,
            cuebase_retrieval::Arm::Graph => Self::Graph,
        }
    }
}
