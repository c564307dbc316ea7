//! Paths of memories: the four tiers and the rules for valid paths.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Maximum length of a path, in bytes.
pub const PATH_BYTES_MAX: usize = 256;
/// Maximum number of segments below the tier.
pub const SEGMENTS_MAX: usize = 8;

/// The four kinds of memory, each a top directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Statements that hold.
    Facts,
    /// Events with their time.
    Incidents,
    /// Instructions and preferences.
    Rules,
    /// Procedures.
    Skills,
}

impl Tier {
    /// All tiers, in alphabetical order.
    pub const ALL: [Self; 4] = [Self::Facts, Self::Incidents, Self::Rules, Self::Skills];

    /// The directory's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Facts => "facts",
            Self::Incidents => "incidents",
            Self::Rules => "rules",
            Self::Skills => "skills",
        }
    }
}

impl FromStr for Tier {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        for tier in Self::ALL {
            if tier.name() == name {
                return Ok(tier);
            }
        }
        Err(Error::invalid("tier", "must be one of facts, incidents, rules, skills"))
    }
}

/// A valid path of a memory: a tier, plain segments, and the ending `.md`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryPath {
    text: String,
    tier: Tier,
}

impl MemoryPath {
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
        if !text.ends_with(".md") {
            return Err(Error::invalid("path", "must end in .md"));
        }
        let tier = check_segments(text)?;
        if !text.contains('/') {
            return Err(Error::invalid("path", "must name a file below the tier, for example facts/ann.md"));
        }
        Ok(Self { text: text.to_owned(), tier })
    }
}

/// Checks the path of a tier or of a directory below it. Returns the path without a trailing slash.
pub fn parse_directory(text: &str) -> Result<&str> {
    let text = text.strip_suffix('/').unwrap_or(text);
    check_segments(text)?;
    Ok(text)
}

fn check_segments(text: &str) -> Result<Tier> {
    if text.len() > PATH_BYTES_MAX {
        return Err(Error::invalid("path", format!("is {} bytes long; the limit is {PATH_BYTES_MAX}", text.len())));
    }
    let mut segments = text.split('/');
    let tier = segments.next().unwrap_or("").parse()?;
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
        ] {
            assert!(bad.parse::<MemoryPath>().is_err(), "{bad:?}");
        }
        assert!(format!("facts/{}.md", "x".repeat(PATH_BYTES_MAX)).parse::<MemoryPath>().is_err());
        assert_eq!(parse_directory("facts/ann/").expect("a directory"), "facts/ann");
        assert!(parse_directory("facts/../x").is_err());
    }
}
