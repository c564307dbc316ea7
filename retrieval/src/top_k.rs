//! Selection of the highest scores of a stream, independent of the order in which they arrive.

use crate::hash::PathHash;
use crate::ids::DocumentId;

/// A document with a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scored {
    pub(crate) document: DocumentId,
    pub(crate) score: f32,
}

/// Keeps the `limit` highest scores, each with its document.
pub(crate) struct TopK<F> {
    kept: Vec<Scored>,
    limit: usize,
    /// See [`TopK::floor`].
    floor: f32,
    /// Breaks ties between equal scores: the lower path wins.
    path: F,
}

impl<F: Fn(DocumentId) -> PathHash> TopK<F> {
    pub(crate) fn new(limit: usize, path: F) -> Self {
        Self::above(0.0, limit, path)
    }

    /// Keeps only scores that exceed `floor`.
    pub(crate) fn above(floor: f32, limit: usize, path: F) -> Self {
        Self { kept: Vec::new(), limit, floor, path }
    }

    /// Returns the floor: a score that does not exceed it cannot be among the highest. It only rises.
    #[inline]
    pub(crate) fn floor(&self) -> f32 {
        self.floor
    }

    /// Keeps a score if it may be among the highest.
    #[inline]
    pub(crate) fn offer(&mut self, scored: Scored) {
        if scored.score > self.floor {
            self.kept.push(scored);
            if self.kept.len() >= 4 * self.limit.max(1) {
                self.shrink();
            }
        }
    }

    /// Drops all but the highest scores and raises the floor to the lowest of these.
    fn shrink(&mut self) {
        if self.limit == 0 {
            self.kept.clear();
        } else if self.kept.len() > self.limit {
            let (_, last, _) = self.kept.select_nth_unstable_by(self.limit - 1, by_score(&self.path));
            // A later score that equals the last one may still win by its path.
            self.floor = last.score.next_down().max(self.floor);
            self.kept.truncate(self.limit);
        }
    }

    /// Returns the documents with the highest scores, highest first.
    pub(crate) fn finish(mut self) -> Vec<Scored> {
        self.shrink();
        self.kept.sort_unstable_by(by_score(&self.path));
        self.kept
    }
}

/// Orders by score, highest first, then by path.
fn by_score(path: impl Fn(DocumentId) -> PathHash) -> impl FnMut(&Scored, &Scored) -> std::cmp::Ordering {
    move |a, b| b.score.total_cmp(&a.score).then_with(|| path(a.document).cmp(&path(b.document)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_highest_scores_are_kept_whatever_the_order(
            scores in proptest::collection::vec(0u8..8, 0..200), limit in 1usize..9,
        ) {
            let path = |document: DocumentId| PathHash::of_number(u64::from(document.get() ^ 5));
            let mut top = TopK::new(limit, path);
            let mut all: Vec<Scored> = (0..).map(DocumentId::new).zip(&scores)
                .map(|(document, score)| Scored { document, score: f32::from(*score) })
                .collect();
            for scored in &all {
                top.offer(*scored);
            }
            all.retain(|scored| scored.score > 0.0);
            all.sort_by(|a, b| b.score.total_cmp(&a.score).then(path(a.document).cmp(&path(b.document))));
            all.truncate(limit);
            prop_assert_eq!(top.finish(), all);
        }
    }
}
