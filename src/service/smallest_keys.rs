//! [`SmallestKeys`]: the first entries of a sequence that is not sorted, without a copy of the whole sequence.

use std::collections::BTreeMap;

/// The entries with the smallest keys, up to a limit. Further entries are dropped when they are inserted.
pub(super) struct SmallestKeys<K, V> {
    limit: usize,
    entries: BTreeMap<K, V>,
}

impl<K: Ord, V> SmallestKeys<K, V> {
    /// Makes an empty collection of up to `limit` entries.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, entries: BTreeMap::new() }
    }

    /// Whether an entry with this key would be among the smallest so far.
    pub(super) fn has_place_for(&self, key: &K) -> bool {
        match self.entries.last_key_value() {
            Some((last, _)) if self.entries.len() >= self.limit => key < last,
            _ => self.limit > 0,
        }
    }

    /// Inserts an entry if its key is among the smallest so far. It replaces an entry with an equal key.
    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.has_place_for(&key) || self.entries.contains_key(&key) {
            self.entries.insert(key, value);
        }
        if self.entries.len() > self.limit {
            self.entries.pop_last();
        }
    }

    /// Returns the values of the entries, in the order of their keys.
    pub(super) fn into_values(self) -> Vec<V> {
        self.entries.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the values that stay of these keys. Each value is ten times its key.
    fn kept(limit: usize, keys: &[u32]) -> Vec<u32> {
        let mut smallest = SmallestKeys::new(limit);
        for key in keys {
            smallest.insert(*key, key * 10);
            assert!(smallest.entries.len() <= limit, "at most {limit} entries are held");
        }
        smallest.into_values()
    }

    #[test]
    fn only_the_entries_with_the_smallest_keys_stay() {
        assert_eq!(kept(3, &[5, 1, 4, 2, 9, 3]), [10, 20, 30]);
        assert_eq!(kept(3, &[2, 1]), [10, 20]);
        assert!(kept(0, &[2, 1]).is_empty());
    }

    #[test]
    fn an_entry_with_an_equal_key_is_replaced() {
        let mut smallest = SmallestKeys::new(2);
        for (key, value) in [("a", 1), ("b", 2), ("b", 3)] {
            smallest.insert(key, value);
        }
        assert_eq!(smallest.into_values(), [1, 3]);
    }
}
