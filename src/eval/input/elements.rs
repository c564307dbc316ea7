//! The elements of a JSON array, decoded one at a time, so that a file of gigabytes needs the memory of one element.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::error::{InputError, open, problem_of};

/// A reader of the elements of an array.
pub(super) struct Elements {
    path: PathBuf,
    reader: CountedLines,
    /// Elements that were returned.
    count: usize,
}

/// A reader that counts the ends of lines.
struct CountedLines {
    inner: BufReader<File>,
    lines: usize,
}

/// Returns the first byte of a file that is not white space, without reading on.
pub(super) fn first_byte(path: &Path) -> Result<Option<u8>, InputError> {
    let mut reader = CountedLines { inner: BufReader::new(open(path)?), lines: 0 };
    reader.peek().map_err(|error| InputError::unreadable(path, &error))
}

impl Elements {
    /// Opens a file and reads the beginning of its array.
    pub(super) fn open(path: &Path) -> Result<Self, InputError> {
        let reader = CountedLines { inner: BufReader::new(open(path)?), lines: 0 };
        let mut elements = Self { path: path.to_path_buf(), reader, count: 0 };
        if elements.peek()? != Some(b'[') {
            return Err(elements.error("the file does not begin with [", "a JSON array of objects"));
        }
        elements.reader.skip_byte();
        Ok(elements)
    }

    /// Decodes the next element, which must be an object. `None` after the last one.
    pub(super) fn next_element<T: DeserializeOwned>(&mut self) -> Result<Option<T>, InputError> {
        let mut byte = self.peek()?;
        if byte == Some(b']') {
            return self.end();
        }
        if self.count > 0 {
            if byte != Some(b',') {
                return Err(self.error("no comma after an element", "a comma and another element, or ]"));
            }
            self.reader.skip_byte();
            byte = self.peek()?;
        }
        if byte != Some(b'{') {
            return Err(self.error("an element is not an object", "an object"));
        }
        match decoded(&mut self.reader) {
            Ok(element) => {
                self.count += 1;
                Ok(Some(element))
            }
            Err(error) => {
                let place = error.path().to_string();
                let problem = problem_of(error.inner());
                // The path of the object itself is a dot, and that of a field without a name a question mark.
                let problem = if place == "." || place == "?" { problem } else { format!("{place}: {problem}") };
                Err(self.error(&problem, "the fields of the format with values of their types"))
            }
        }
    }

    /// Returns an error about the element that was returned last, at the line of its end.
    pub(super) fn error_in_last(&self, problem: &str, expected: &str) -> InputError {
        self.error_in(self.count, problem, expected)
    }

    /// Returns an error about the element that is read, at the line up to which the file was read.
    fn error(&self, problem: &str, expected: &str) -> InputError {
        self.error_in(self.count + 1, problem, expected)
    }

    fn error_in(&self, element: usize, problem: &str, expected: &str) -> InputError {
        InputError::Line {
            file: self.path.display().to_string(),
            line: self.reader.lines + 1,
            problem: format!("element {element}: {problem}"),
            expected: expected.to_owned(),
        }
    }

    /// Reads the end of the array, after which the file must end.
    fn end<T>(&mut self) -> Result<Option<T>, InputError> {
        self.reader.skip_byte();
        if self.peek()?.is_some() {
            return Err(self.error("text after the array", "the end of the file"));
        }
        Ok(None)
    }

    fn peek(&mut self) -> Result<Option<u8>, InputError> {
        self.reader.peek().map_err(|error| InputError::unreadable(&self.path, &error))
    }
}

impl CountedLines {
    /// Skips white space and returns the next byte, which stays in the reader.
    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            let Some(byte) = self.inner.fill_buf()?.first().copied() else { return Ok(None) };
            if !byte.is_ascii_whitespace() {
                return Ok(Some(byte));
            }
            self.lines += usize::from(byte == b'\n');
            self.inner.consume(1);
        }
    }

    /// Skips the byte that [`Self::peek`] returned.
    fn skip_byte(&mut self) {
        self.inner.consume(1);
    }
}

impl Read for CountedLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        for byte in &buffer[..count] {
            self.lines += usize::from(*byte == b'\n');
        }
        Ok(count)
    }
}

/// Decodes an object. The decoder reads byte by byte and stops at the end of the object, so the reader is behind it
/// afterwards.
fn decoded<T: DeserializeOwned>(reader: &mut CountedLines) -> Result<T, serde_path_to_error::Error<serde_json::Error>> {
    let mut decoder = serde_json::Deserializer::from_reader(reader);
    serde_path_to_error::deserialize(&mut decoder)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Pebble {
        weight: u32,
    }

    /// Reads all elements of a text.
    fn read(text: &str) -> Result<Vec<Pebble>, String> {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("pebbles.json");
        std::fs::write(&path, text).expect("writes");
        let mut elements = Elements::open(&path).map_err(|error| error.to_string())?;
        let mut pebbles = Vec::new();
        while let Some(pebble) = elements.next_element().map_err(|error| error.to_string())? {
            pebbles.push(pebble);
        }
        Ok(pebbles)
    }

    #[test]
    fn elements_are_returned_in_order() {
        let pebbles = read("\n[{\"weight\": 1},\n {\"weight\": 2, \"color\": \"}]\"}]\n").expect("elements");
        assert_eq!(pebbles, [Pebble { weight: 1 }, Pebble { weight: 2 }]);
        assert_eq!(read("[ ]").expect("no element"), []);
    }

    #[test]
    fn an_error_names_the_line_the_element_and_what_was_expected() {
        for (text, says) in [
            ("", "pebbles.json:1: element 1: the file does not begin with [: expected a JSON array"),
            ("\n{}", "pebbles.json:2: element 1: the file does not begin with ["),
            ("[\n{\"weight\": 1}\n{\"weight\": 2}]", ":3: element 2: no comma after an element"),
            ("[{\"weight\": 1},\n]", ":2: element 2: an element is not an object"),
            ("[\n\n7]", ":3: element 1: an element is not an object"),
            ("[{\"weight\": 1},\n{\"color\": \"\"}]", ":2: element 2: missing field `weight`"),
            ("[{\"weight\":\n\"much\"}]", ":2: element 1: weight: invalid type"),
            ("[{\"weight\": 1}", ":1: element 2: no comma after an element"),
            ("[{\"weight\": 1", ":1: element 1: EOF"),
            ("[{\"weight\": 1}] []", ":1: element 2: text after the array"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(says), "{text:?}: {error}");
        }
    }
}
