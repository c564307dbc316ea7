//! Responses of `/v1/vocab`.

use cuebase_storage::NamespaceName;
use cuebase_storage::records::TermRecord;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::schema::values;

/// The response of `GET /v1/vocab` without `word`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TermsView<'a> {
    /// Namespace of the vocabulary.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// The terms.
    #[schemars(extend("maxItems" = 1000))]
    pub terms: Vec<TermView<'a>>,
    /// Time that the server took, in milliseconds.
    pub millis: u64,
}

/// The response of `GET /v1/vocab` with `word`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ResolvedTermView<'a> {
    /// Namespace of the vocabulary.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// The word as it was sent.
    pub word: &'a str,
    /// Whether the word is a surface form of a term.
    pub found: bool,
    /// The term; absent if none was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TermView<'a>")]
    pub term: Option<TermView<'a>>,
    /// Time that the server took, in milliseconds.
    pub millis: u64,
}

/// A term of the vocabulary.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Term")]
pub struct TermView<'a> {
    /// Path of the term's file.
    #[schemars(extend("pattern" = "^vocab/.+\\.md$"))]
    pub path: &'a str,
    /// Canonical form of the term.
    pub term: &'a str,
    /// Other surface forms.
    pub aliases: &'a [String],
    /// Meaning of the term; empty if none was given.
    pub definition: &'a str,
}

impl<'a> TermView<'a> {
    /// Makes the view of a record.
    pub fn of(record: &'a TermRecord) -> Self {
        let TermRecord { path, term, aliases, definition, .. } = record;
        Self { path, term, aliases, definition }
    }
}
