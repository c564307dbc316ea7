//! The lines of a text file, read one at a time.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::error::{InputError, open};

/// A reader of lines that knows its place in the file.
pub(super) struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    /// Number of the last line that was returned, from 1.
    number: usize,
}

impl Lines {
    /// Opens a file.
    pub(super) fn open(path: &Path) -> Result<Self, InputError> {
        Ok(Self { path: path.to_path_buf(), reader: BufReader::new(open(path)?), number: 0 })
    }

    /// Returns the number of the last line that was returned.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Returns the next line that is not blank, without its end.
    pub(super) fn next_line(&mut self) -> Result<Option<String>, InputError> {
        loop {
            let mut bytes = Vec::new();
            let read = self.reader.read_until(b'\n', &mut bytes);
            let count = read.map_err(|error| InputError::unreadable(&self.path, &error))?;
            if count == 0 {
                return Ok(None);
            }
            self.number += 1;
            let Ok(line) = String::from_utf8(bytes) else {
                return Err(self.error(self.number, "the line is not UTF-8", "text in UTF-8"));
            };
            if !line.trim().is_empty() {
                return Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()));
            }
        }
    }

    /// Returns an error about a line.
    pub(super) fn error(&self, line: usize, problem: impl Into<String>, expected: impl Into<String>) -> InputError {
        let file = self.path.display().to_string();
        InputError::Line { file, line, problem: problem.into(), expected: expected.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_are_skipped_and_counted() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("lines");
        std::fs::write(&path, b"\n one\r\n\n\xff\n").expect("writes");
        let mut lines = Lines::open(&path).expect("opens");
        assert_eq!((lines.next_line().expect("text"), lines.number()), (Some(" one".to_owned()), 2));
        let error = lines.next_line().expect_err("not UTF-8").to_string();
        assert!(error.contains("lines:4: the line is not UTF-8"), "{error}");
        assert_eq!(lines.next_line().expect("the end"), None);
    }
}
