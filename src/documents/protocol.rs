//! What the process that reads a file and the process that starts it agree on.
//!
//! Standard input of the reading process is a line of JSON, the [`Header`], and then the bytes of the file. Its standard
//! output is an [`Answer`] as JSON. A process that ends without one exceeded a limit, or its parser failed.

use cuebase_storage::records::PassageDraft;
use serde::{Deserialize, Serialize};

use super::error::DocumentError;
use super::kind::DocumentKind;

/// The command that reads a file. People do not call it.
pub(super) const COMMAND: &str = "read-document";

/// What the reading process knows of the file before its bytes.
#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    /// What the file is.
    pub(super) kind: DocumentKind,
    /// Name of the file. Not an argument of the command, because other users of the machine can see arguments.
    pub(super) name: String,
    /// Length of the file.
    pub(super) bytes: usize,
}

/// The passages of the file, or why it cannot become a document.
pub(super) type Answer = Result<Vec<PassageDraft>, DocumentError>;
