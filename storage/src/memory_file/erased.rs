//! Removing what files and commit messages say of erased memories.
//!
//! The path of a memory repeats words of its text, and a relation to it has a snippet. So an erasure also removes
//! relations, links and paths from the files of the memories that stay.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};
use serde_json::Value;

use super::front_matter::FrontMatter;
use super::markdown::resolve;
use super::path::is_path_character;
use super::{MemoryFile, MemoryPath};
use crate::error::{Error, Result};

/// Takes the place of the path of an erased memory in a text.
pub const ERASED: &str = "[erased]";

/// The paths of erased memories.
#[derive(Clone, Debug, Default)]
pub struct ErasedPaths {
    paths: HashSet<String>,
    /// The last segments of the paths. A file that contains none of them mentions no erased memory.
    names: HashSet<String>,
}

/// A part of a body, and the text that takes its place.
struct Cut {
    range: Range<usize>,
    replacement: &'static str,
}

impl ErasedPaths {
    /// Makes the set of some paths.
    pub fn new(paths: &BTreeSet<String>) -> Self {
        let mut erased = Self::default();
        for path in paths {
            erased.names.insert(last_segment(path).to_owned());
            erased.paths.insert(path.clone());
        }
        erased
    }

    /// Returns whether a path is erased.
    pub fn contains(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Returns whether a file of this name may be at an erased path.
    pub fn has_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Returns a text with [`ERASED`] in place of every erased path. `None` if the text has none.
    pub fn redact(&self, text: &str) -> Option<String> {
        self.redact_in("", text)
    }

    /// Returns a text of the file `from`, in which paths may be relative, with [`ERASED`] in place of every erased
    /// path.
    fn redact_in(&self, from: &str, text: &str) -> Option<String> {
        let mut redacted = String::new();
        let mut copied = 0;
        for word in path_words(text) {
            let path = &text[word.clone()];
            if self.contains(path) || self.is_target(from, path) {
                redacted.push_str(&text[copied..word.start]);
                redacted.push_str(ERASED);
                copied = word.end;
            }
        }
        if copied == 0 {
            return None;
        }
        redacted.push_str(&text[copied..]);
        Some(redacted)
    }

    /// Returns the content of a file without what it says of erased memories. `None` if it says nothing of them.
    ///
    /// In a memory, relations to erased memories are removed, and [`ERASED`] takes the place of links to them. In every
    /// other text it takes the place of their paths.
    pub fn redact_file(&self, path: &str, content: &[u8]) -> Result<Option<Vec<u8>>> {
        let Ok(text) = std::str::from_utf8(content) else { return Ok(None) };
        if !self.may_be_in(content) {
            return Ok(None);
        }
        let (Ok(_), Ok(file)) = (MemoryPath::of_stored(path), MemoryFile::parse(content)) else {
            return Ok(self.redact_in(path, text).map(String::into_bytes));
        };
        let Ok(front) = self.redact_front_matter(&file.front) else {
            // A field that must be there was a path. The file becomes one that cannot be read, but says nothing.
            return Ok(self.redact_in(path, text).map(String::into_bytes));
        };
        let redacted = MemoryFile { front, body: self.redact_body(path, &file.body) };
        if redacted == file {
            return Ok(None);
        }
        Ok(Some(redacted.render()?.into_bytes()))
    }

    /// Returns whether a file may mention an erased memory, at whatever path the file is. A backslash may hide a path
    /// in the front matter.
    pub fn may_be_in(&self, content: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(content) else { return false };
        if text.contains('\\') {
            return true;
        }
        for word in path_words(text) {
            if self.names.contains(last_segment(&text[word])) {
                return true;
            }
        }
        false
    }

    fn redact_front_matter(&self, front: &FrontMatter) -> Result<FrontMatter> {
        let mut value = serde_json::to_value(front).map_err(|error| Error::invalid("front matter", error))?;
        self.redact_value(&mut value);
        serde_json::from_value(value).map_err(|error| Error::invalid("front matter", error))
    }

    /// Removes fields and list entries that name an erased memory, and its path from longer texts. A relation is a list
    /// entry with the path in a field.
    fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(redacted) = self.redact(text) {
                    *text = redacted;
                }
            }
            Value::Array(entries) => {
                entries.retain(|entry| !self.is_about(entry));
                for entry in entries {
                    self.redact_value(entry);
                }
            }
            Value::Object(fields) => {
                fields.retain(|_, field| !self.is_path(field));
                for (_, field) in fields.iter_mut() {
                    self.redact_value(field);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns whether an entry of a list names an erased memory.
    fn is_about(&self, entry: &Value) -> bool {
        match entry {
            Value::Object(fields) => fields.values().any(|field| self.is_path(field)),
            entry => self.is_path(entry),
        }
    }

    fn is_path(&self, value: &Value) -> bool {
        matches!(value, Value::String(text) if self.contains(text))
    }

    /// Returns the body of the memory at a path without links to erased memories and without their paths.
    fn redact_body(&self, path: &str, body: &str) -> String {
        let mut cuts = self.link_cuts(path, body);
        cuts.extend(self.double_bracket_cuts(body));
        cuts.sort_by_key(|cut| (cut.range.start, std::cmp::Reverse(cut.range.end)));
        let mut redacted = String::with_capacity(body.len());
        let mut copied = 0;
        for cut in cuts {
            // A link can be inside of another one, which is removed as a whole.
            if cut.range.start < copied {
                continue;
            }
            redacted.push_str(&body[copied..cut.range.start]);
            redacted.push_str(cut.replacement);
            copied = cut.range.end;
        }
        redacted.push_str(&body[copied..]);
        self.redact_in(path, &redacted).unwrap_or(redacted)
    }

    /// Finds links and images that lead to an erased memory, with the definitions of such links.
    fn link_cuts(&self, path: &str, body: &str) -> Vec<Cut> {
        let mut cuts = Vec::new();
        let parser = Parser::new(body);
        for (_, definition) in parser.reference_definitions().iter() {
            if self.is_target(path, &definition.dest) {
                cuts.push(Cut { range: definition.span.clone(), replacement: "" });
            }
        }
        for (event, range) in parser.into_offset_iter() {
            let (Event::Start(Tag::Link { dest_url, .. }) | Event::Start(Tag::Image { dest_url, .. })) = event else {
                continue;
            };
            if self.is_target(path, &dest_url) {
                cuts.push(Cut { range, replacement: ERASED });
            }
        }
        cuts
    }

    /// Finds links of the form `[[facts/a.md]]`.
    fn double_bracket_cuts(&self, body: &str) -> Vec<Cut> {
        let mut cuts = Vec::new();
        for (start, _) in body.match_indices("[[") {
            let inner = start + 2;
            let Some(length) = body[inner..].find("]]") else { break };
            let target = &body[inner..inner + length];
            if self.is_target("", target) {
                cuts.push(Cut { range: start..inner + length + 2, replacement: ERASED });
            }
        }
        cuts
    }

    fn is_target(&self, from: &str, link: &str) -> bool {
        resolve(from, link).is_some_and(|target| self.contains(&target))
    }
}

fn last_segment(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((_, name)) => name,
        None => path,
    }
}

/// Returns the longest runs of characters of paths and slashes in a text that end in `.md`, without slashes at their
/// beginnings and dots at their ends.
pub(super) fn path_words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = 0;
    for part in text.split(|c: char| !is_path_character(c) && c != '/') {
        let word = part.trim_end_matches('.');
        if word.ends_with(".md") {
            let slashes = word.len() - word.trim_start_matches('/').len();
            words.push(start + slashes..start + word.len());
        }
        start += part.len();
        // The character that ends the part.
        start += text[start..].chars().next().map_or(0, char::len_utf8);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_file::{Relation, RelationKind};

    fn erased(paths: &[&str]) -> ErasedPaths {
        ErasedPaths::new(&paths.iter().map(|path| (*path).to_owned()).collect())
    }

    #[test]
    fn only_whole_paths_are_replaced_in_a_text() {
        let erased = erased(&["facts/a.md", "rules/x/é.md"]);
        assert_eq!(erased.redact("Rewrite facts/a.md").as_deref(), Some("Rewrite [erased]"));
        assert_eq!(erased.redact("é (facts/a.md), facts/a.md.").as_deref(), Some("é ([erased]), [erased]."));
        assert_eq!(erased.redact("/facts/a.md ./facts/a.md").as_deref(), Some("/[erased] [erased]"));
        for other in ["facts/facts/a.md", "facts/a.md.md", "facts/a.mdx", "a.md", "", "facts/a"] {
            assert_eq!(erased.redact(other), None, "{other}");
        }
    }

    #[test]
    fn relations_links_and_paths_leave_a_memory_and_everything_else_stays() {
        let file = MemoryFile {
            front: FrontMatter {
                tags: vec!["trip".into()],
                relations: vec![
                    Relation { path: "facts/a.md".into(), kind: RelationKind::Follows, snippet: "secret".into() },
                    Relation { path: "facts/b.md".into(), kind: RelationKind::Shares, snippet: "kept".into() },
                ],
                other: [("replaces".to_owned(), "facts/a.md".into()), ("note".to_owned(), "see facts/a.md".into())]
                    .into_iter()
                    .collect(),
                ..FrontMatter::default()
            },
            body: "# T\n\n`../facts/a.md` [one](a.md) ![two](../facts/a.md#x) [b](b.md) [[facts/a.md]] [three][r] \
                facts/a.md.\n\n[r]: a.md\n"
                .into(),
        };
        let content = file.render().expect("renders").into_bytes();
        let redacted = erased(&["facts/a.md"]).redact_file("facts/c.md", &content).expect("redacts").expect("changes");
        let read = MemoryFile::parse(&redacted).expect("parses");
        assert_eq!(read.front.tags, ["trip"]);
        assert_eq!(read.front.relations, file.front.relations[1..]);
        assert_eq!(read.front.other.len(), 1);
        assert_eq!(read.front.other["note"], "see [erased]");
        assert_eq!(read.body.trim_end(), "# T\n\n`[erased]` [erased] [erased] [b](b.md) [erased] [erased] [erased].");
    }

    #[test]
    fn a_file_without_mentions_stays_as_it_is() {
        let erased = erased(&["facts/a.md"]);
        for content in ["# Other\n\n[b](b.md)", "---\nrelations:\n- {path: facts/b.md, kind: shares}\n---\n\nx \\ y\n"]
        {
            assert_eq!(erased.redact_file("facts/c.md", content.as_bytes()).expect("reads"), None, "{content}");
        }
        assert_eq!(erased.redact_file("facts/c.md", b"\xff facts/a.md").expect("reads"), None);
        let term = erased.redact_file("vocab/t.md", b"see facts/a.md").expect("reads");
        assert_eq!(term.as_deref(), Some(b"see [erased]".as_slice()));
    }
}
