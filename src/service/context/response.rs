//! What a context is made from, and what it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::memory::values::Name;
use crate::service::retrieval::RetrievalRequest;

/// What a context is made from, and how long it may be.
#[derive(Clone, Debug, Default)]
pub struct ContextRequest {
    /// The query, and what is admitted for it.
    pub retrieval: RetrievalRequest,
    /// Maximum number of tokens of the text.
    pub max_tokens: usize,
    /// Whether entries have marks.
    pub marks: Marks,
    /// Which standing facts come first.
    pub standing: StandingFacts,
}

/// Which standing facts and rules a context begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StandingFacts {
    /// Those that the request touches.
    #[default]
    Auto,
    /// None.
    Off,
    /// All of them.
    All,
}

/// Whether each entry ends with a mark: the number of its citation in brackets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marks {
    /// `[1]` stands for the first citation.
    #[default]
    On,
    /// Entries have no marks.
    Off,
}

/// A context for a prompt.
///
/// The MCP tools read it from the response of a server. A field that the response lacks is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Context")]
pub struct ContextResponse {
    /// The text, as markdown: one entry a line, each with the mark of its citation. Empty if nothing is relevant.
    pub text: String,
    /// Number of tokens of the text, by the WordPiece tokenizer of BERT (uncased, 30,522 tokens). Other tokenizers
    /// count somewhat differently.
    pub tokens: usize,
    /// The memories that the text is made from, best first. The mark `[1]` in the text stands for the first one.
    pub citations: Vec<ContextCitation>,
    /// How many candidates were read by the reader.
    pub read: usize,
    /// The namespace, or several separated by commas.
    pub namespace: String,
}

/// A memory that a context is made from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ContextCitation {
    /// Path of the memory.
    pub path: String,
    /// Heading of the section that the text has in place of a long memory; null for a whole memory.
    pub section: Option<String>,
    /// Probability that the memory answers the query, or the part of it that it answers best; 1 if the query asks for
    /// one of its claims.
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    pub score: f32,
    /// Whether the memory is a standing fact or rule that the request touches. Absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(with = "bool")]
    pub standing: bool,
    /// Namespace of the memory. Absent unless the request names several namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    pub namespace: Option<String>,
}
