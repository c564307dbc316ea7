//! Which memories a query may find, as a bitmap that every arm looks into.

use crate::index::Table;
use crate::memory::{Memory, Millis};

/// Which of a memory's times a range is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeField {
    /// When it happened.
    Occurred,
    /// When it was first written.
    Created,
    /// When it was last written.
    #[default]
    Updated,
}

impl TimeField {
    /// That time of a memory.
    pub fn of(self, memory: &Memory) -> Option<Millis> {
        match self {
            Self::Occurred => memory.occurred,
            Self::Created => memory.created,
            Self::Updated => memory.updated,
        }
    }
}

/// Conditions that a memory must meet, all of them. An empty one lets everything through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// In any of these tiers.
    pub tiers: Vec<String>,
    /// Below any of these directories.
    pub folders: Vec<String>,
    /// Any of these tags, user's or inferred.
    pub tags_any: Vec<String>,
    /// All of these tags.
    pub tags_all: Vec<String>,
    /// At or after.
    pub since: Option<Millis>,
    /// Before.
    pub until: Option<Millis>,
    /// Which time `since` and `until` are about.
    pub time_field: TimeField,
}

impl Filter {
    /// Whether it lets everything through.
    pub fn is_empty(&self) -> bool {
        *self == Self { time_field: self.time_field, ..Self::default() }
    }

    /// Whether a memory meets every condition.
    pub fn accepts(&self, memory: &Memory) -> bool {
        let below =
            |folder: &String| memory.path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let tagged = |tag: &String| {
            memory.user_tags.binary_search(tag).is_ok() || memory.inferred_tags.binary_search(tag).is_ok()
        };
        let timed = || match self.time_field.of(memory) {
            Some(at) => self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until),
            None => self.since.is_none() && self.until.is_none(),
        };
        (self.tiers.is_empty() || self.tiers.iter().any(below))
            && (self.folders.is_empty() || self.folders.iter().any(below))
            && (self.tags_any.is_empty() || self.tags_any.iter().any(tagged))
            && self.tags_all.iter().all(tagged)
            && timed()
    }
}

/// One bit a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    /// All bits clear, room for `len`.
    pub fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)] }
    }

    /// Sets a bit within the length.
    pub fn insert(&mut self, index: u32) {
        if let Some(word) = self.words.get_mut(index as usize / 64) {
            *word |= 1 << (index % 64);
        }
    }

    /// Whether a bit is set; beyond the length none is.
    pub fn contains(&self, index: u32) -> bool {
        self.words.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }
}

/// The memories that a filter lets through at a moment; none when that is every memory.
pub(crate) fn allowed(table: &Table, filter: &Filter, now: Millis) -> Option<Bitmap> {
    if filter.is_empty() && !table.anything_hidden(now) {
        return None;
    }
    let mut bitmap = Bitmap::new(table.len());
    for (slot, record) in table.iter() {
        let memory = &record.memory;
        if memory.hidden_from.is_none_or(|from| now < from) && filter.accepts(memory) {
            bitmap.insert(slot);
        }
    }
    Some(bitmap)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(path: &str) -> Memory {
        Memory {
            path: path.into(),
            user_tags: vec!["a".into(), "b".into()],
            inferred_tags: vec!["z".into()],
            updated: Some(100),
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
    }
}
