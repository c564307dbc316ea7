//! Why a file cannot become a document.

use super::limits::{PASSAGES_MAX, TEXT_BYTES_MAX};

/// Why a file cannot become a document.
#[derive(Debug, thiserror::Error)]
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
        kind: &'static str,
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
    /// The process that reads PDF files could not do it within its limits.
    #[error("the PDF could not be read within {seconds} seconds and {mebibytes} MiB: send it in parts")]
    TooExpensive {
        /// Processor time of the process.
        seconds: u64,
        /// Memory of the process.
        mebibytes: u64,
    },
    /// All readers of PDF files are in use.
    #[error("other PDF files are being read: try again in a moment")]
    Busy,
    /// The process that reads PDF files could not be started.
    #[error("the process that reads PDF files cannot be started: {0}")]
    NoReader(std::io::Error),
}

impl DocumentError {
    /// Makes an error for bytes that are not a file of a kind.
    pub(super) fn malformed(kind: &'static str, reason: impl std::fmt::Display) -> Self {
        Self::Malformed { kind, reason: reason.to_string() }
    }
}
