//! Errors of JSON text: the line and the column, and what stands there.

use serde_json::error::Category;

/// Characters of the text that an error quotes.
const QUOTED_CHARS_MAX: usize = 40;

/// Bytes of a wrong word that are quoted before the place of the error.
const WORD_BYTES_MAX: usize = 10;

/// Describes why JSON text is not valid, for example ``expected value at line 2 column 5, found `x]` ``. `first_line` is
/// the number of the text's first line in its file.
pub fn describe(text: &[u8], first_line: usize, error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    // A value that was decoded before has no place.
    let Some(reason) = message.strip_suffix(&format!(" at line {line} column {column}")) else { return message };
    let found = match error.classify() {
        Category::Syntax => format!(", {}", found(text, line, column)),
        Category::Eof => format!(", where the text ends after `{}`", quoted_end(text)),
        // The reason quotes the value.
        Category::Data | Category::Io => String::new(),
    };
    format!("{reason} at line {} column {column}{found}", first_line + line.saturating_sub(1))
}

/// Describes what stands at the beginning of a text that is not a JSON object.
pub fn describe_beginning(text: &[u8], first_line: usize) -> String {
    let trimmed = text.trim_ascii_start();
    let before = &text[..text.len() - trimmed.len()];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = match before.rsplit(|byte| *byte == b'\n').next() {
        Some(indent) => indent.len() + 1,
        None => 1,
    };
    format!("{} at line {} column {column}", found(text, line, column), first_line + line - 1)
}

/// Describes the first byte that is not UTF-8; `None` if the text is UTF-8.
pub fn describe_encoding(text: &[u8], first_line: usize) -> Option<String> {
    let error = std::str::from_utf8(text).err()?;
    let (before, rest) = text.split_at(error.valid_up_to());
    let line = before.iter().filter(|byte| **byte == b'\n').count();
    let column = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default().len() + 1;
    let byte = rest.first().copied().unwrap_or_default();
    Some(format!("the text is not UTF-8 at line {} column {column}, found the byte {byte:#04x}", first_line + line))
}

/// Quotes the text from a column of a line on. Columns count bytes from 1; 0 is the end of the line before.
fn found(text: &[u8], line: usize, column: usize) -> String {
    let mut lines = text.split(|byte| *byte == b'\n');
    let rest = lines.nth(line.saturating_sub(1)).unwrap_or_default();
    let mut begin = column.saturating_sub(1).min(rest.len());
    let first = begin.saturating_sub(WORD_BYTES_MAX);
    // serde_json notices a wrong word such as `nope` in its middle.
    while begin > first && rest[begin - 1].is_ascii_alphanumeric() {
        begin -= 1;
    }
    let rest = &rest[begin..];
    let quoted: String = String::from_utf8_lossy(rest).trim().chars().take(QUOTED_CHARS_MAX + 1).collect();
    let quoted = plain(&quoted);
    match quoted.char_indices().nth(QUOTED_CHARS_MAX) {
        Some((end, _)) => format!("found `{}…`", &quoted[..end]),
        None if quoted.is_empty() => "found the end of the line".to_owned(),
        None => format!("found `{quoted}`"),
    }
}

/// Returns the last characters of a text.
fn quoted_end(text: &[u8]) -> String {
    let text = text.trim_ascii_end();
    // A character has at most four bytes, and the first one may be cut.
    let tail = &text[text.len().saturating_sub(4 * QUOTED_CHARS_MAX)..];
    let tail = String::from_utf8_lossy(tail);
    let count = tail.chars().count();
    if count <= QUOTED_CHARS_MAX {
        return plain(&tail);
    }
    let end: String = tail.chars().skip(count - QUOTED_CHARS_MAX).collect();
    plain(&format!("…{end}"))
}

/// Replaces control characters, so that an error stays on one line.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(text: &str, first_line: usize) -> String {
        let error = serde_json::from_str::<serde_json::Value>(text).expect_err("not JSON");
        describe(text.as_bytes(), first_line, &error)
    }

    #[test]
    fn an_error_has_the_line_the_column_and_what_stands_there() {
        assert_eq!(described(r#"{"a": tru, "b": 1}"#, 1), "expected ident at line 1 column 10, found `tru, \"b\": 1}`");
        assert_eq!(described("{\n  \"a\": nope}", 7), "expected ident at line 8 column 9, found `nope}`");
        let long = described(&format!("{{\"a\": x{}", "é".repeat(90)), 1);
        assert_eq!(long, format!("expected value at line 1 column 7, found `x{}…`", "é".repeat(39)));
        let cut = described("{\"a\": 1\n", 1);
        assert_eq!(cut, "EOF while parsing an object at line 2 column 0, where the text ends after `{\"a\": 1`");
    }

    #[test]
    fn other_texts_than_objects_are_quoted_from_their_beginning() {
        assert_eq!(describe_beginning(b"[1, 2]", 1), "found `[1, 2]` at line 1 column 1");
        assert_eq!(describe_beginning(b"\n  hello\nworld", 1), "found `hello` at line 2 column 3");
        let encoding = describe_encoding(b"{\n\"a\": \"\xfc\"}", 1).expect("not UTF-8");
        assert_eq!(encoding, "the text is not UTF-8 at line 2 column 7, found the byte 0xfc");
        assert_eq!(describe_encoding("é".as_bytes(), 1), None);
    }
}
