//! Filters: the conditions that a memory must meet to be found or listed.

use serde::{Deserialize, Serialize};

use crate::memory::{Memory, Millis};
use crate::metadata::Condition;

/// Which of a memory's times a filter's range applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeField {
    /// When the content happened.
    Occurred,
    /// When the memory was first written.
    Created,
    /// When the memory was last written.
    #[default]
    Updated,
}

impl TimeField {
    /// Returns this time of a memory.
    pub fn of(self, memory: &Memory) -> Option<Millis> {
        match self {
            Self::Occurred => memory.occurred,
            Self::Created => memory.created,
            Self::Updated => memory.updated,
        }
    }
}

/// Conditions that a memory must meet, all of them. An empty filter accepts every memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    /// Tiers; the memory must be in one of them.
    pub tiers: Vec<String>,
    /// Directories; the memory must be below one of them.
    pub folders: Vec<String>,
    /// Tags, set by the user or inferred; the memory must have at least one.
    pub tags_any: Vec<String>,
    /// Tags, set by the user or inferred; the memory must have all.
    pub tags_all: Vec<String>,
    /// Start of the time range, inclusive.
    pub since: Option<Millis>,
    /// End of the time range, exclusive.
    pub until: Option<Millis>,
    /// The time that `since` and `until` apply to.
    pub time_field: TimeField,
    /// Conditions on the metadata; the memory must meet all.
    pub conditions: Vec<Condition>,
}

impl Filter {
    /// Whether the filter has no conditions.
    pub fn is_empty(&self) -> bool {
        *self == Self { time_field: self.time_field, ..Self::default() }
    }

    /// Whether a memory meets every condition.
    pub fn accepts(&self, memory: &Memory) -> bool {
        (self.tiers.is_empty() || is_below_any(&memory.path, &self.tiers))
            && (self.folders.is_empty() || is_below_any(&memory.path, &self.folders))
            && (self.tags_any.is_empty() || self.tags_any.iter().any(|tag| has_tag(memory, tag)))
            && self.tags_all.iter().all(|tag| has_tag(memory, tag))
            && self.conditions.iter().all(|condition| condition.accepts(&memory.metadata))
            && self.accepts_time(memory)
    }

    fn accepts_time(&self, memory: &Memory) -> bool {
        match self.time_field.of(memory) {
            Some(time) => self.since.is_none_or(|since| time >= since) && self.until.is_none_or(|until| time < until),
            None => self.since.is_none() && self.until.is_none(),
        }
    }
}

fn is_below_any(path: &str, folders: &[String]) -> bool {
    folders.iter().any(|folder| match path.strip_prefix(folder.as_str()) {
        Some(rest) => rest.starts_with('/'),
        None => false,
    })
}

/// Whether a memory has a tag; its lists of tags are sorted.
fn has_tag(memory: &Memory, tag: &str) -> bool {
    [&memory.user_tags, &memory.inferred_tags].iter().any(|tags| tags.binary_search_by(|t| t.as_str().cmp(tag)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{Comparison, MetadataValue};

    fn memory(path: &str) -> Memory {
        Memory {
            path: path.into(),
            user_tags: vec!["a".into(), "b".into()],
            inferred_tags: vec!["z".into()],
            updated: Some(100),
            metadata: vec![("team".into(), MetadataValue::Text("blue".into()))],
            ..Memory::default()
        }
    }

    #[test]
    fn every_condition_must_hold() {
        let m = memory("facts/ann/x.md");
        let check = |filter: Filter| filter.accepts(&m);
        assert!(check(Filter::default()));
        assert!(check(Filter { tiers: vec!["rules".into(), "facts".into()], ..Filter::default() }));
        assert!(!check(Filter { tiers: vec!["rules".into()], ..Filter::default() }));
        assert!(check(Filter { folders: vec!["facts/ann".into()], ..Filter::default() }));
        assert!(!check(Filter { folders: vec!["facts/an".into()], ..Filter::default() }));
        assert!(check(Filter { tags_any: vec!["q".into(), "z".into()], ..Filter::default() }));
        assert!(!check(Filter { tags_all: vec!["a".into(), "q".into()], ..Filter::default() }));
        assert!(check(Filter { since: Some(100), until: Some(101), ..Filter::default() }));
        assert!(!check(Filter { until: Some(100), ..Filter::default() }));
        assert!(!check(Filter { since: Some(1), time_field: TimeField::Occurred, ..Filter::default() }));
        let team = |name: &str| Condition { key: "team".into(), comparison: Comparison::Equal(name.into()) };
        assert!(check(Filter { conditions: vec![team("blue")], ..Filter::default() }));
        assert!(!check(Filter { conditions: vec![team("blue"), team("red")], ..Filter::default() }));
    }
}
