//! Where a memory may live: its path is its address.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Longest path, in bytes.
pub const PATH_BYTES_MAX: usize = 256;
/// Most segments below the tier.
pub const SEGMENTS_MAX: usize = 8;

/// The four kinds of memory, each a top directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// What is so.
    Facts,
    /// What happened, when.
    Incidents,
    /// What is always or never to be done, and what somebody prefers.
    Rules,
    /// How something is done.
    Skills,
}

impl Tier {
    /// All four, by name.
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
        let found = Self::ALL.into_iter().find(|tier| tier.name() == name);
        found.ok_or_else(|| Error::invalid("tier", "must be one of facts, incidents, rules, skills"))
    }
}

/// A valid path of a memory: under a tier, of plain segments, ending in `.md`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryPath {
    text: String,
    tier: Tier,
}

impl MemoryPath {
    /// The path as written.
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
            return Err(Error::invalid("path", "names a tier but no file"));
        }
        Ok(Self { text: text.to_owned(), tier })
    }
}

/// Checks a directory under a tier (or a whole tier), with or without a closing slash; returns it without.
pub fn directory(text: &str) -> Result<&str> {
    let text = text.strip_suffix('/').unwrap_or(text);
    check_segments(text)?;
    Ok(text)
}

fn check_segments(text: &str) -> Result<Tier> {
    if text.len() > PATH_BYTES_MAX {
        return Err(Error::invalid(
            "path",
            format!("is {} bytes long, at most {PATH_BYTES_MAX} are taken", text.len()),
        ));
    }
    let mut segments = text.split('/');
    let tier = segments.next().unwrap_or_default().parse()?;
    let mut below = 0;
    for segment in segments {
        below += 1;
        if segment.is_empty() || segment.starts_with('.') {
            return Err(Error::invalid("path", "has an empty segment or one that begins with a dot"));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !segment.chars().all(plain) {
            return Err(Error::invalid("path", "may hold letters, digits, - _ . in its segments"));
        }
    }
    if below > SEGMENTS_MAX {
        return Err(Error::invalid("path", format!("has {below} segments below the tier, at most {SEGMENTS_MAX}")));
    }
    Ok(tier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_paths_under_a_tier_are_taken() {
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
        assert_eq!(directory("facts/ann/").expect("a directory"), "facts/ann");
        assert!(directory("facts/../x").is_err());
    }
}
