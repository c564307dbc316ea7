//! The file format of a memory: YAML front matter, then markdown that a person can read, edit and push.
//!
//! ```text
//! ---
//! tags: [running]
//! cues:
//! - what did Ann run for charity?
//! occurred_at: 2023-05-20T12:00:00Z
//! occurred_precision: day
//! ---
//! # Ann: I ran a charity race last Saturday (20 May 2023).
//!
//! ## Sections
//! may follow, with [links](../other.md) or [[facts/other.md]].
//! ```
//!
//! [`front_matter`] is the part between the dashes, with the memory's claims, its [`metadata`] and the place in its
//! [`document`]. [`markdown`] reads the body, and [`path`] validates paths. [`erased`] removes what files say of erased memories,
//! and [`moved`] rewrites references to memories that get other paths. [`term_file`] is the corresponding format of a
//! vocabulary term.

pub mod document;
pub mod erased;
pub mod front_matter;
pub mod markdown;
pub mod metadata;
pub mod moved;
pub mod path;
pub mod term_file;

pub use cuebase_language::claims::{Claim, Polarity};
pub use cuebase_language::memory::{OccurredPrecision, OccurredSource, Relation, RelationKind, Tier};
pub use document::{DocumentId, DocumentPlace};
pub use erased::ErasedPaths;
pub use front_matter::{FrontMatter, SourceMessage};
pub use metadata::{Metadata, MetadataValue};
pub use moved::MovedPaths;
pub use path::MemoryPath;
pub use term_file::TermFile;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, Result};

const FENCE: &str = "---\n";

/// A memory file in git.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryFile {
    /// The metadata.
    pub front: FrontMatter,
    /// The markdown after the front matter, which is the memory's content. Cuebase starts it with a `# title`.
    pub body: String,
}

impl MemoryFile {
    /// Parses a file. A file without front matter is all body. Front matter must be closed and contain a YAML mapping.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let (yaml, body) = split_front_matter(bytes)?;
        Ok(Self { front: FrontMatter::parse(&yaml)?, body })
    }

    /// Parses a file of another program. Returns its front matter, which may be any mapping, and its body.
    pub fn parse_untyped(bytes: &[u8]) -> Result<(Map<String, Value>, String)> {
        let (yaml, body) = split_front_matter(bytes)?;
        let fields = if yaml.trim().is_empty() { Map::new() } else { from_yaml(&yaml)? };
        Ok((fields, body))
    }

    /// Renders the file. [`MemoryFile::parse`] returns an equal value.
    pub fn render(&self) -> Result<String> {
        Ok(join_front_matter(&self.front.render()?, &self.body))
    }
}

/// Splits a file into the YAML between the fences and the body after them.
fn split_front_matter(bytes: &[u8]) -> Result<(String, String)> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        Error::invalid("memory file", format!("line {line} is not valid UTF-8"))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = if text.contains('\r') { text.replace("\r\n", "\n") } else { text.to_owned() };
    let Some(rest) = text.strip_prefix(FENCE) else { return Ok((String::new(), text)) };
    let (yaml, body) = if let Some(body) = rest.strip_prefix(FENCE) {
        ("", body)
    } else if let Some((yaml, body)) = rest.split_once("\n---\n") {
        (yaml, body)
    } else if let Some(yaml) = rest.strip_suffix("\n---") {
        (yaml, "")
    } else {
        return Err(Error::invalid("memory file", "the front matter that starts at line 1 has no closing --- line"));
    };
    Ok((yaml.to_owned(), body.strip_prefix('\n').unwrap_or(body).to_owned()))
}

/// Parses non-empty YAML between the fences. A newline replaces the opening fence, so that errors name lines of the
/// file.
fn from_yaml<T: DeserializeOwned>(yaml: &str) -> Result<T> {
    serde_saphyr::from_str(&format!("\n{yaml}"))
        .map_err(|error| Error::invalid("front matter", error.without_snippet()))
}

/// Joins front matter and body into a file that ends in a newline.
fn join_front_matter(yaml: &str, body: &str) -> String {
    let newline = if body.ends_with('\n') || body.is_empty() { "" } else { "\n" };
    format!("{FENCE}{yaml}{FENCE}\n{body}{newline}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unknown_keys_survive_a_rewrite() {
        let text = "---\ntags: [b, a]\nauthor: Kim\nnested:\n  deep: [1, two]\n---\n\n# Title\n\nBody\n";
        let mut file = MemoryFile::parse(text.as_bytes()).expect("parses");
        file.front.cues.push("who?".into());
        let again = MemoryFile::parse(file.render().expect("renders").as_bytes()).expect("parses again");
        assert_eq!(again, file);
        assert_eq!(again.front.other["author"], "Kim");
        assert_eq!(again.front.other["nested"]["deep"][1], "two");
        assert_eq!(again.body, "# Title\n\nBody\n");
    }

    #[test]
    fn a_plain_markdown_file_is_all_body() {
        let file = MemoryFile::parse(b"# Only\n\nmarkdown --- here\n").expect("parses");
        assert_eq!(file.front, FrontMatter::default());
        assert_eq!(file.body, "# Only\n\nmarkdown --- here\n");
    }

    #[test]
    fn an_unclosed_or_malformed_front_matter_is_rejected() {
        assert!(MemoryFile::parse(b"---\ntags: [a]\n\n# no end").is_err());
        assert!(MemoryFile::parse(b"---\n- a list\n---\nbody").is_err());
        assert!(MemoryFile::parse(b"---\ntags: [unclosed\n---\nbody").is_err());
        assert!(MemoryFile::parse(b"\xff\xfe").is_err());
    }

    #[test]
    fn metadata_keeps_its_types_and_what_cannot_be_filtered_by() {
        let text = "---\nmetadata:\n  batch: 7\n  draft: true\n  ratio: 0.5\n  team: '7'\n  nested: {deep: [1]}\n---\n\nBody\n";
        let file = MemoryFile::parse(text.as_bytes()).expect("parses");
        let value = |key: &str| file.front.metadata[key].clone();
        assert_eq!(value("batch"), MetadataValue::Number(7.into()));
        assert_eq!(value("draft"), MetadataValue::Boolean(true));
        assert_eq!(value("ratio"), MetadataValue::Number(serde_json::Number::from_f64(0.5).expect("finite")));
        assert_eq!(value("team"), MetadataValue::Text("7".into()));
        assert_eq!(value("nested"), MetadataValue::Other(serde_json::json!({"deep": [1]})));
        let again = MemoryFile::parse(file.render().expect("renders").as_bytes()).expect("parses again");
        assert_eq!(again, file);
    }

    #[test]
    fn texts_of_the_metadata_stay_texts() {
        let mut file = MemoryFile { body: "# T\n".into(), ..MemoryFile::default() };
        for text in ["", "true", "no", "null", "~", "7", "-1", "1.5", "1e3", "0x1f", "2026-01-01", "- a", "a: b", " x "]
        {
            file.front.metadata.insert("value".into(), MetadataValue::Text(text.into()));
            // A key can look like another type, too.
            file.front.metadata.insert("on".into(), MetadataValue::Boolean(true));
            file.front.metadata.insert("1.5".into(), MetadataValue::Number(1.into()));
            let rendered = file.render().expect("renders");
            assert_eq!(MemoryFile::parse(rendered.as_bytes()).expect("parses"), file, "{rendered}");
        }
    }

    #[test]
    fn errors_name_the_line_in_the_file() {
        fn error(bytes: &[u8]) -> String {
            MemoryFile::parse(bytes).expect_err("rejected").to_string()
        }
        assert!(error(b"---\ntags: [a]\noccurred_at: soon\n---\nbody").contains("line 3"));
        assert!(error(b"---\r\ntags: [a]\r\ncues: what?\r\n---\r\nbody").contains("line 3"));
        assert!(error(b"---\ntags: [unclosed\n---\nbody").contains("line "));
        assert!(error(b"---\ntags: [a]\n\n# no end").contains("line 1"));
        assert!(error(b"one\ntwo \xff\n").contains("line 2"));
        assert_eq!(error(b"---\n- a list\n---\nbody").lines().count(), 1);
    }

    proptest! {
        #[test]
        fn a_rendered_file_is_parsed_back(
            tags in proptest::collection::vec("\\PC{1,20}", 0..4),
            cues in proptest::collection::vec("\\PC{0,60}", 0..4),
            metadata in proptest::collection::btree_map("[A-Za-z0-9_.-]{1,6}", "\\PC{0,40}", 0..4),
            snippet in "\\PC{0,40}",
            body in "[^\r\u{feff}]{0,200}",
        ) {
            let mut file = MemoryFile { body: format!("# T\n{body}\n"), ..MemoryFile::default() };
            file.front.tags = tags;
            file.front.cues = cues;
            file.front.metadata = metadata.into_iter().map(|(key, text)| (key, MetadataValue::Text(text))).collect();
            file.front.relations = vec![Relation { path: "facts/a.md".into(), kind: RelationKind::Follows, snippet }];
            let text = file.render().expect("renders");
            prop_assert_eq!(MemoryFile::parse(text.as_bytes()).expect("parses"), file);
        }

        #[test]
        fn any_bytes_are_parsed_or_rejected_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = MemoryFile::parse(&bytes);
            let _ = MemoryFile::parse(&[b"---\n", &bytes[..], b"\n---\n"].concat());
        }
    }
}
