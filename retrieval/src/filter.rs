//! Which memories a query may find, as a bitmap that every arm looks into.

use std::ops::Range;

use crate::hash::{Kind, hash};
use crate::index::Table;
use crate::index::entry::UNKNOWN;
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

/// One bit a document. Bits beyond the last that was set are clear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    /// Sets a bit.
    pub fn insert(&mut self, index: u32) {
        let at = index as usize / 64;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        self.words[at] |= 1 << (index % 64);
    }

    /// Clears a bit.
    pub fn remove(&mut self, index: u32) {
        if let Some(word) = self.words.get_mut(index as usize / 64) {
            *word &= !(1 << (index % 64));
        }
    }

    /// Whether a bit is set.
    pub fn contains(&self, index: u32) -> bool {
        self.words.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Whether any bit of a range is set that is not empty and crosses no multiple of 64.
    pub(crate) fn any(&self, range: Range<usize>) -> bool {
        let bits = u64::MAX >> (64 - range.len()) << (range.start % 64);
        self.words.get(range.start / 64).is_some_and(|word| word & bits != 0)
    }

    /// How many bits are set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Clears every bit that is clear in the other one.
    pub fn intersect(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
    }

    /// The bits that are set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let bits = |(at, word): (usize, &u64)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
                (bit < 64).then_some(at as u32 * 64 + bit)
            })
        };
        self.words.iter().enumerate().flat_map(bits)
    }
}

/// The documents that a filter lets through at a moment; none when that is every current one and none is dead.
pub(crate) fn allowed(table: &Table, filter: &Filter, now: Millis) -> Option<Bitmap> {
    let hidden = table.anything_hidden(now);
    if filter.is_empty() && !hidden {
        return (table.live() < table.len()).then(|| table.alive().clone());
    }
    let mut bitmap = table.alive().clone();
    let folders = |folders: &[String]| folders.iter().map(|folder| hash(Kind::Folder, folder)).collect::<Vec<_>>();
    let tags = |tags: &[String]| tags.iter().map(|tag| hash(Kind::Tag, tag)).collect::<Vec<_>>();
    for any in [folders(&filter.tiers), folders(&filter.folders), tags(&filter.tags_any)] {
        if !any.is_empty() {
            bitmap.intersect(&holding(table, &any));
        }
    }
    for tag in tags(&filter.tags_all) {
        bitmap.intersect(&holding(table, &[tag]));
    }
    if filter.since.is_some() || filter.until.is_some() {
        let (since, until) = (filter.since.unwrap_or(Millis::MIN), filter.until.unwrap_or(Millis::MAX));
        for layer in table.layers() {
            let outside =
                |time: &Millis| *time == UNKNOWN || *time < since || (filter.until.is_some() && *time >= until);
            let times = layer.range().zip(layer.times(filter.time_field));
            times.filter(|(_, time)| outside(time)).for_each(|(document, _)| bitmap.remove(document));
        }
    }
    if hidden {
        for layer in table.layers() {
            let hidden = layer.range().zip(layer.hidden_from()).filter(|(_, from)| **from <= now);
            hidden.for_each(|(document, _)| bitmap.remove(document));
        }
    }
    Some(bitmap)
}

/// The documents that hold any of these facets.
fn holding(table: &Table, facets: &[u64]) -> Bitmap {
    let mut bitmap = Bitmap::default();
    facets.iter().flat_map(|facet| table.holding(*facet)).for_each(|document| bitmap.insert(document));
    bitmap
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

    #[test]
    fn bits_are_set_cleared_and_listed() {
        let mut bitmap = Bitmap::default();
        [3, 64, 200].into_iter().for_each(|bit| bitmap.insert(bit));
        bitmap.remove(64);
        bitmap.remove(9999);
        assert_eq!((bitmap.iter().collect::<Vec<_>>(), bitmap.count()), (vec![3, 200], 2));
        assert!(bitmap.contains(200) && !bitmap.contains(64) && !bitmap.contains(9999));
        assert!(bitmap.any(0..16) && bitmap.any(192..208) && !bitmap.any(4..64) && !bitmap.any(9984..10000));
        let mut other = Bitmap::default();
        other.insert(3);
        bitmap.intersect(&other);
        assert_eq!(bitmap.iter().collect::<Vec<_>>(), [3]);
    }
}
