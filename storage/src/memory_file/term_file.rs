//! The file format of a vocabulary term, `vocab/<slug>.md`.
//!
//! ```text
//! ---
//! term: Kubernetes
//! aliases: [k8s, kube]
//! ---
//! # Kubernetes
//!
//! The cluster that the shop runs on.
//! ```

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{from_yaml, join_front_matter, split_front_matter};
use crate::error::{Error, Result};

/// The directory of all terms.
pub const VOCABULARY_FOLDER: &str = "vocab";

/// A term file in git.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermFile {
    /// The canonical form.
    pub term: String,
    /// The other surface forms.
    pub aliases: Vec<String>,
    /// The definition.
    pub definition: String,
    /// Unknown keys of the front matter. A rewrite keeps them unchanged.
    pub other: Map<String, Value>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct TermFrontMatter {
    term: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl TermFile {
    /// Parses a file. If the front matter has no `term`, the first heading is the term.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let (yaml, body) = split_front_matter(bytes)?;
        let front = if yaml.trim().is_empty() { TermFrontMatter::default() } else { from_yaml(&yaml)? };
        let (title, rest) = match body.trim_start().strip_prefix("# ") {
            Some(heading) => heading.split_once('\n').unwrap_or((heading, "")),
            None => ("", body.as_str()),
        };
        let term = if front.term.is_empty() { title.trim().to_owned() } else { front.term };
        if term.is_empty() {
            return Err(Error::invalid(
                "term file",
                "names no term: set `term` in the front matter or begin the text with a # heading",
            ));
        }
        Ok(Self { term, aliases: front.aliases, definition: rest.trim().to_owned(), other: front.other })
    }

    /// Renders the file. [`TermFile::parse`] returns an equal value, except for outer white space of the definition.
    pub fn render(&self) -> Result<String> {
        let front =
            TermFrontMatter { term: self.term.clone(), aliases: self.aliases.clone(), other: self.other.clone() };
        let mut yaml = serde_saphyr::to_string(&front).map_err(|e| Error::invalid("front matter", e))?;
        if !yaml.ends_with('\n') {
            yaml.push('\n');
        }
        let definition = self.definition.trim();
        let gap = if definition.is_empty() { "" } else { "\n" };
        Ok(join_front_matter(&yaml, &format!("# {}\n{gap}{definition}", self.term)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_file_written_by_hand_is_parsed() {
        let file = TermFile::parse(b"# SLO\n\nWhat we promise.\n\nMore.\n").expect("parses");
        assert_eq!((file.term.as_str(), file.definition.as_str()), ("SLO", "What we promise.\n\nMore."));
        assert!(TermFile::parse(b"no heading").is_err());
        assert!(TermFile::parse(b"---\nterm: [a\n---\n").is_err());
        let kept = TermFile::parse(b"---\nterm: A\nowner: Kim\n---\n# A\n").expect("parses");
        assert!(kept.render().expect("renders").contains("owner: Kim"));
    }

    proptest! {
        #[test]
        fn a_rendered_file_is_parsed_back(
            term in "[^\\p{C}\\s]{1,10}( [^\\p{C}\\s]{1,10})?",
            aliases in proptest::collection::vec("[^\\p{C}\\s]{1,10}( [^\\p{C}\\s]{1,10})?", 0..4),
            definition in "[^\r\u{feff}]{0,100}",
        ) {
            let file = TermFile { term, aliases, definition: definition.trim().into(), other: Map::new() };
            let text = file.render().expect("renders");
            prop_assert_eq!(TermFile::parse(text.as_bytes()).expect("parses"), file);
        }
    }
}
