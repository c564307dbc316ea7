//! Why a file cannot become a document.

use std::borrow::Cow;

use cuebase_language::text::steps::Interrupted;
use serde::{Deserialize, Serialize};

use super::limits::{PASSAGES_MAX, SECONDS_MAX, TEXT_BYTES_MAX};

/// Why a file cannot become a document. The process that reads the file returns it as JSON.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum DocumentError {
    /// Neither media type nor name says what the file is.
    #[error(
        "the file is of no kind that can be read: send PDF, DOCX, HTML, Markdown, plain text or source code, with its \
         media type in content-type or the ending of its name in filename"
    )]
    UnknownKind,
    /// The bytes are not a file of the kind.
    #[error("the file cannot be read as {kind}: {reason}")]
    Malformed {
        /// Name of the kind.
        kind: Cow<'static, str>,
        /// What is wrong.
        reason: String,
    },
    /// The text is in an unknown encoding.
    #[error("the file is not UTF-8 from byte {offset}: convert it to UTF-8")]
    NotUtf8 {
        /// Offset of the first other byte.
        offset: usize,
    },
    /// The file is protected by a password.
    #[error("the PDF is protected by a password: remove the password and send it again")]
    Encrypted,
    /// The file has no text.
    #[error("the file has no text; a scan needs text recognition before it is sent")]
    NoText,
    /// The file has more text than a document can have.
    #[error("the file has more than {TEXT_BYTES_MAX} bytes of text or {PASSAGES_MAX} passages: send it in parts")]
    TooMuchText,
    /// The process that reads the file needed more time than it may.
    #[error("the file could not be read within {seconds} seconds: send it in parts")]
    TooSlow {
        /// Time of the process.
        seconds: u32,
    },
    /// The process that reads the file needed more memory than it may for a file of this size.
    #[error("reading the file takes more than {mebibytes} MiB, the limit for its size: send it in parts")]
    TooMuchMemory {
        /// Memory of the process.
        mebibytes: usize,
    },
    /// All processes that read files are in use, or that of the account.
    #[error("other files are being read: try again in a moment")]
    Busy,
    /// The process that reads the file was ended, because the server stops.
    #[error("the server stops: send the file again in a moment")]
    Stopped,
    /// The process that reads the file could not be started.
    #[error("the process that reads files cannot be started: {0}")]
    NoReader(String),
}

impl DocumentError {
    /// Makes an error for bytes that are not a file of a kind.
    pub(super) fn malformed(kind: &'static str, reason: impl std::fmt::Display) -> Self {
        Self::Malformed { kind: Cow::Borrowed(kind), reason: reason.to_string() }
    }
}

impl From<Interrupted> for DocumentError {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::TimedOut => Self::TooSlow { seconds: SECONDS_MAX },
            Interrupted::Stopped => Self::Stopped,
        }
    }
}
