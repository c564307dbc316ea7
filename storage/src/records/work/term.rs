//! A term of the vocabulary that is to be stored.

use serde::{Deserialize, Serialize};

/// A validated term that is to be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermDraft {
    /// The canonical form.
    pub term: String,
    /// Other surface forms, without repeats.
    pub aliases: Vec<String>,
    /// The meaning of the term.
    pub definition: String,
}
