//! Where the members and elements of a JSON text stand.
//!
//! The functions expect valid JSON: [`plain`] makes it of JSON with comments, without moving a byte.

use std::ops::Range;

/// An object or a list.
#[derive(Debug)]
pub(super) struct Container {
    /// The byte of the opening bracket.
    pub(super) open: usize,
    /// The byte of the closing bracket.
    pub(super) close: usize,
    /// The members or elements in order.
    pub(super) items: Vec<Item>,
}

/// A member of an object or an element of a list.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The name of a member; empty for an element.
    pub(super) name: String,
    /// The first byte: that of the name, or that of the element.
    pub(super) begin: usize,
    /// The value.
    pub(super) value: Range<usize>,
}

impl Container {
    /// Returns the position of a member in the items. Of several with one name, the last one counts.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.items.iter().rposition(|item| item.name == name)
    }
}

/// Returns the text with spaces in place of comments, and of commas before a closing bracket.
pub(super) fn plain(text: &str) -> String {
    let mut bytes = without_comments(text).into_bytes();
    let mut comma = None;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                comma = None;
                at = end_of_string(&bytes, at);
                continue;
            }
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the text with spaces in place of comments. Line breaks stay, so that the lines of an error are right.
pub(super) fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => {
                at = end_of_string(&bytes, at);
                continue;
            }
            (b'/', Some(b'/')) => find(&bytes, at, b"\n"),
            (b'/', Some(b'*')) => (find(&bytes, at + 2, b"*/") + 2).min(bytes.len()),
            _ => {
                at += 1;
                continue;
            }
        };
        for byte in &mut bytes[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns where a sequence begins at or after a byte, or the end.
fn find(bytes: &[u8], from: usize, wanted: &[u8]) -> usize {
    let mut at = from;
    while at < bytes.len() && !bytes[at..].starts_with(wanted) {
        at += 1;
    }
    at.min(bytes.len())
}

/// Returns the container at the end of a path of names; `None` if there is none.
pub(super) fn container_at(plain: &str, path: &[&str]) -> Option<Container> {
    let mut container = container(plain, skip_space(plain.as_bytes(), 0))?;
    for name in path {
        let position = container.position(name)?;
        container = self::container(plain, container.items[position].value.start)?;
    }
    Some(container)
}

/// Returns the object or list that begins at a byte; `None` for another value.
pub(super) fn container(plain: &str, open: usize) -> Option<Container> {
    let bytes = plain.as_bytes();
    let is_object = match bytes.get(open) {
        Some(b'{') => true,
        Some(b'[') => false,
        _ => return None,
    };
    let mut items = Vec::new();
    let mut at = skip_space(bytes, open + 1);
    while at < bytes.len() && bytes[at] != b'}' && bytes[at] != b']' {
        let begin = at;
        let mut name = String::new();
        if is_object {
            let end = end_of_string(bytes, at);
            name = serde_json::from_str(&plain[begin..end]).unwrap_or_default();
            // The colon follows the name.
            at = skip_space(bytes, skip_space(bytes, end) + 1);
        }
        let end = end_of_value(bytes, at);
        items.push(Item { name, begin, value: at..end });
        at = skip_space(bytes, end);
        if bytes.get(at) == Some(&b',') {
            at = skip_space(bytes, at + 1);
        }
    }
    Some(Container { open, close: at, items })
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at].is_ascii_whitespace() {
        at += 1;
    }
    at
}

/// Returns the end of the text in quotation marks that begins at a byte.
fn end_of_string(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

fn end_of_value(bytes: &[u8], begin: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = begin;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = end_of_string(bytes, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' if depth == 0 => return at,
            byte if depth == 0 && byte.is_ascii_whitespace() => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn comments_and_last_commas_become_spaces() {
        let text = "{ // first\n  \"a\": \"// not a \\\" comment, }\", /* two\n lines */\n  \"b\": [1, 2, ], // é\n}\n";
        let plain = plain(text);
        assert_eq!(plain.len(), text.len());
        assert_eq!(plain.lines().count(), text.lines().count());
        let value: Value = serde_json::from_str(&plain).expect("JSON");
        assert_eq!(value, json!({"a": "// not a \" comment, }", "b": [1, 2]}));
        assert_eq!(without_comments("1 /* open").trim_end(), "1");
    }

    #[test]
    fn items_are_found_where_they_stand() {
        let text = r#" {"a" : {"x":[true , "]"]}, "b\"c":-1.5,"d":[{"k":null}] } "#;
        let root = container_at(text, &[]).expect("an object");
        let names: Vec<&str> = root.items.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["a", "b\"c", "d"]);
        let values: Vec<&str> = root.items.iter().map(|item| &text[item.value.clone()]).collect();
        assert_eq!(values, [r#"{"x":[true , "]"]}"#, "-1.5", r#"[{"k":null}]"#]);
        assert_eq!((&text[root.open..=root.open], &text[root.close..=root.close]), ("{", "}"));
        let list = container_at(text, &["a", "x"]).expect("a list");
        assert_eq!(list.items.len(), 2);
        assert!(container_at(text, &["a", "y"]).is_none() && container_at(text, &["d", "k"]).is_none());
        assert!(container_at(text, &["b\"c"]).is_none(), "a number has no items");
    }
}
