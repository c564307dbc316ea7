//! A growing bitmap of documents.

use std::ops::Range;

/// A set of documents, one bit each. Bits after the last that was set are clear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    /// Sets a bit.
    pub fn insert(&mut self, index: u32) {
        let word = index as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (index % 64);
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

    /// Whether any bit of a range is set. The range must not be empty and must not cross a multiple of 64.
    pub(crate) fn any(&self, range: Range<usize>) -> bool {
        let bits = u64::MAX >> (64 - range.len()) << (range.start % 64);
        self.words.get(range.start / 64).is_some_and(|word| word & bits != 0)
    }

    /// Returns the number of bits that are set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Clears every bit that is clear in `other`.
    pub fn intersect(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
    }

    /// Returns the bits that are set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().enumerate().flat_map(|(index, word)| BitsOfWord { first: index as u32 * 64, rest: *word })
    }
}

/// The set bits of one word, ascending.
struct BitsOfWord {
    /// The index of the word's lowest bit.
    first: u32,
    /// The bits that were not returned yet.
    rest: u64,
}

impl Iterator for BitsOfWord {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.rest == 0 {
            return None;
        }
        let bit = self.rest.trailing_zeros();
        self.rest &= self.rest - 1;
        Some(self.first + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
