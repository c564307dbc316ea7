//! A growing bitmap of documents.

use std::ops::Range;

use crate::ids::DocumentId;

/// A set of documents, one bit each. Bits after the last that was set are clear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    /// Sets the bit of a document.
    pub(crate) fn insert(&mut self, document: DocumentId) {
        let word = document.index() / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (document.get() % 64);
    }

    /// Clears the bit of a document.
    pub(crate) fn remove(&mut self, document: DocumentId) {
        if let Some(word) = self.words.get_mut(document.index() / 64) {
            *word &= !(1 << (document.get() % 64));
        }
    }

    /// Whether the bit of a document is set.
    pub(crate) fn contains(&self, document: DocumentId) -> bool {
        self.words.get(document.index() / 64).is_some_and(|word| word >> (document.get() % 64) & 1 == 1)
    }

    /// Whether any bit of a range of documents is set. The range must not be empty and must not cross a multiple of 64.
    pub(crate) fn any(&self, range: Range<usize>) -> bool {
        let bits = u64::MAX >> (64 - range.len()) << (range.start % 64);
        self.words.get(range.start / 64).is_some_and(|word| word & bits != 0)
    }

    /// Returns the number of bits that are set.
    pub(crate) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Clears every bit that is clear in `other`.
    pub(crate) fn intersect(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
    }

    /// Returns the documents whose bits are set, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = DocumentId> {
        self.words.iter().enumerate().flat_map(|(index, word)| BitsOfWord { first: index as u32 * 64, rest: *word })
    }
}

/// The documents of one word, ascending.
struct BitsOfWord {
    /// The number of the document that the word's lowest bit stands for.
    first: u32,
    /// The bits that were not returned yet.
    rest: u64,
}

impl Iterator for BitsOfWord {
    type Item = DocumentId;

    fn next(&mut self) -> Option<DocumentId> {
        if self.rest == 0 {
            return None;
        }
        let bit = self.rest.trailing_zeros();
        self.rest &= self.rest - 1;
        Some(DocumentId::new(self.first + bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_set_cleared_and_listed() {
        let [three, sixty_four, two_hundred, absent] = [3, 64, 200, 9999].map(DocumentId::new);
        let mut bitmap = Bitmap::default();
        [three, sixty_four, two_hundred].into_iter().for_each(|document| bitmap.insert(document));
        bitmap.remove(sixty_four);
        bitmap.remove(absent);
        assert_eq!((bitmap.iter().collect::<Vec<_>>(), bitmap.count()), (vec![three, two_hundred], 2));
        assert!(bitmap.contains(two_hundred) && !bitmap.contains(sixty_four) && !bitmap.contains(absent));
        assert!(bitmap.any(0..16) && bitmap.any(192..208) && !bitmap.any(4..64) && !bitmap.any(9984..10000));
        let mut other = Bitmap::default();
        other.insert(three);
        bitmap.intersect(&other);
        assert_eq!(bitmap.iter().collect::<Vec<_>>(), [three]);
    }
}
