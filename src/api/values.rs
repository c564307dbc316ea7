//! Field and parameter values that several resources read in the same way.

use std::time::Instant;

use cuebase_storage::memory_file::{MemoryPath, path};

use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::request::invalid_body;

/// Parses the path of a memory.
pub(super) fn memory_path(text: &str) -> Result<MemoryPath> {
    text.parse().map_err(|error| Error::invalid(ErrorCode::InvalidPath, format!("{text:?}: {error}")))
}

/// Checks the path of a directory. `name` is the parameter that the error names.
pub(super) fn directory(name: &str, text: &str) -> Result<String> {
    match path::parse_directory(text) {
        Ok(directory) => Ok(directory.to_owned()),
        Err(error) => Err(Error::invalid(ErrorCode::InvalidPath, format!("{name}: {error}"))),
    }
}

/// Returns a text with its white space as single spaces.
pub(super) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks the text of a field of one line; `None` where it is absent or blank.
pub(super) fn line(name: &str, text: Option<&str>, chars_max: usize) -> Result<Option<String>> {
    let Some(text) = text else { return Ok(None) };
    let line = on_one_line(text);
    if line.chars().count() > chars_max {
        return Err(invalid_body(format!("{name} is longer than {chars_max} characters")));
    }
    if line.chars().any(char::is_control) {
        return Err(invalid_body(format!("{name} must not contain control characters")));
    }
    if line.is_empty() {
        return Ok(None);
    }
    Ok(Some(line))
}

/// Checks the texts of a field, and puts each on one line; blank ones are left out.
pub(super) fn lines(name: &str, texts: &[String], entries_max: usize, chars_max: usize) -> Result<Vec<String>> {
    if texts.len() > entries_max {
        return Err(invalid_body(format!("{name} has {} entries, the maximum is {entries_max}", texts.len())));
    }
    let mut lines = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        if text.chars().count() > chars_max {
            return Err(invalid_body(format!("{name}[{index}] is longer than {chars_max} characters")));
        }
        let line = on_one_line(text);
        if !line.is_empty() {
            lines.push(line);
        }
    }
    Ok(lines)
}

/// Returns the whole milliseconds since a start.
pub(super) fn milliseconds_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
