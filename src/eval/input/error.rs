//! Errors of an input: the file, the line, what is wrong, and what was expected.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::file_errors::explain;

/// Why an input cannot be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The system refused to read a file or a folder.
    #[error("{0}")]
    Unreadable(String),
    /// A line does not have the expected form.
    #[error("{file}:{line}: {problem}: expected {expected}")]
    Line {
        /// Path of the file.
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// What the line has instead.
        problem: String,
        /// The accepted form.
        expected: String,
    },
    /// A file or folder as a whole does not have the expected form.
    #[error("{path}: {problem}: expected {expected}")]
    Content {
        /// The path.
        path: String,
        /// What it has instead.
        problem: String,
        /// The accepted form.
        expected: String,
    },
}

impl InputError {
    /// Returns the error of a refused read.
    pub(super) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::Unreadable(explain("read", path, error))
    }

    /// Returns the error of a file or folder as a whole.
    pub(super) fn content(path: &Path, problem: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Content { path: path.display().to_string(), problem: problem.into(), expected: expected.into() }
    }
}

/// Opens a file for reading.
pub(super) fn open(path: &Path) -> Result<File, InputError> {
    File::open(path).map_err(|error| InputError::unreadable(path, &error))
}

/// Returns what is wrong with JSON, without the position, which counts from the beginning of one value.
pub(super) fn problem_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once(" at line ") {
        Some((problem, _)) => problem.to_owned(),
        None => text,
    }
}
