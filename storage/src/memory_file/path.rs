//! Paths of memories: the four tiers and the rules for valid paths.

use std::fmt;
use std::str::FromStr;

use cuebase_language::memory::Tier;

use crate::error::{Error, Result};

/// Maximum length of a path, in bytes.
pub const PATH_BYTES_MAX: usize = 256;
/// Maximum number of segments below the tier.
pub const SEGMENTS_MAX: usize = 8;

/// A valid path of a memory: a tier, plain segments, and the ending `.md`.
///
/// Only the last segment ends in `.md`: otherwise the directory of one memory could have the path of another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryPath {
    text: String,
    tier: Tier,
}

impl MemoryPath {
    /// Parses the path of a file that a repository already has. Earlier versions accepted directories whose names end in
    /// `.md`, so those are valid here.
    pub fn of_stored(text: &str) -> Result<Self> {
        if !text.ends_with(".md") {
            return Err(Error::invalid("path", "must end in .md"));
        }
        let tier = check_segments(text)?;
        if !text.contains('/') {
            return Err(Error::invalid("path", "must name a file below the tier, for example facts/ann.md"));
        }
        Ok(Self { text: text.to_owned(), tier })
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The top directory.
    pub fn tier(&self) -> Tier {
        self.tier
    }
}

impl fmt::Display for MemoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for MemoryPath {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let path = Self::of_stored(text)?;
        match memory_named_directory(text) {
            Some(directory) => Err(named_like_a_memory(directory)),
            None => Ok(path),
        }
    }
}

/// Returns the first directory of a file's path whose name ends in `.md`, so that it could be the path of a memory.
pub fn memory_named_directory(path: &str) -> Option<&str> {
    let end = path.find(".md/")?;
    path.get(..end + ".md".len())
}

fn named_like_a_memory(directory: &str) -> Error {
    let other = directory.trim_end_matches(".md");
    let reason =
        format!("only the last segment may end in .md: rename the directory {directory}, for example to {other}");
    Error::invalid("path", reason)
}

/// Checks the path of a tier, of a directory below it or of a memory. Returns the path without a trailing slash.
pub fn parse_directory(text: &str) -> Result<&str> {
    let directory = text.strip_suffix('/').unwrap_or(text);
    check_segments(directory)?;
    match memory_named_directory(directory) {
        Some(named) => Err(named_like_a_memory(named)),
        None => Ok(directory),
    }
}

fn check_segments(text: &str) -> Result<Tier> {
    if text.len() > PATH_BYTES_MAX {
        return Err(Error::invalid("path", format!("is {} bytes long; the limit is {PATH_BYTES_MAX}", text.len())));
    }
    let mut segments = text.split('/');
    let Some(tier) = Tier::named(segments.next().unwrap_or("")) else {
        return Err(Error::invalid("tier", "must be one of facts, incidents, rules, skills"));
    };
    let mut count = 0;
    for segment in segments {
        count += 1;
        if segment.is_empty() || segment.starts_with('.') {
            return Err(Error::invalid("path", "must not contain an empty segment or one that begins with a dot"));
        }
        if !segment.chars().all(is_path_character) {
            return Err(Error::invalid("path", "may contain only ASCII letters, digits, - _ . in its segments"));
        }
    }
    if count > SEGMENTS_MAX {
        return Err(Error::invalid(
            "path",
            format!("has {count} segments below the tier; the limit is {SEGMENTS_MAX}"),
        ));
    }
    Ok(tier)
}

/// Returns whether a segment of a path may contain a character.
pub(super) fn is_path_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_paths_below_a_tier_are_valid() {
        for good in ["facts/a.md", "skills/x/y-z/a_b.c.md", "rules/1/2/3/4/5/6/7/8.md"] {
            assert!(good.parse::<MemoryPath>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "facts",
            "facts/",
            "facts/a",
            "a.md",
            "facts.md",
            "/facts/a.md",
            "facts//a.md",
            "facts/../a.md",
            "facts/.git/a.md",
            "facts/./a.md",
            "notes/a.md",
            "facts/a b.md",
            "facts/é.md",
            "facts/a\\b.md",
            "facts/.md",
            "facts/a\0.md",
            "rules/1/2/3/4/5/6/7/8/9.md",
            "facts/%2e%2e/a.md",
            "facts/a.md/b.md",
            "facts/x/a.md/y/b.md",
        ] {
            assert!(bad.parse::<MemoryPath>().is_err(), "{bad:?}");
        }
        assert!(format!("facts/{}.md", "x".repeat(PATH_BYTES_MAX)).parse::<MemoryPath>().is_err());
        assert_eq!(parse_directory("facts/ann/").expect("a directory"), "facts/ann");
        assert!(parse_directory("facts/../x").is_err());
        assert!(parse_directory("facts/ann.md/x").is_err());
    }

    #[test]
    fn a_stored_path_may_have_a_directory_named_like_a_memory() {
        let stored = MemoryPath::of_stored("facts/a.md/b.md").expect("valid");
        assert_eq!(stored.as_str(), "facts/a.md/b.md");
        assert_eq!(memory_named_directory(stored.as_str()), Some("facts/a.md"));
        assert_eq!(memory_named_directory("facts/a.mdx/b.md"), None);
        let error = "facts/a.md/b.md".parse::<MemoryPath>().expect_err("not valid").to_string();
        assert!(error.contains("rename the directory facts/a.md, for example to facts/a"), "{error}");
    }
}
