//! Metadata: what a caller stores with a memory to filter by.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// The metadata of a memory, by key.
pub type Metadata = BTreeMap<String, MetadataValue>;

/// A value of the metadata.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MetadataValue {
    /// `true` or `false`.
    Boolean(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// Anything else that a file contains. It is kept unchanged, and nothing filters by it.
    Other(Value),
}
