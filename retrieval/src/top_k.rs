//! Selection of the highest scores of a stream, independent of the order in which they arrive.

/// Keeps the `limit` highest scores, each with its document.
pub(crate) struct TopK<F> {
    kept: Vec<(u32, f32)>,
    limit: usize,
    /// A score that does not exceed this cannot be among the highest.
    pub(crate) floor: f32,
    /// Breaks ties between equal scores: the lower key wins.
    tie_key: F,
}

impl<F: Fn(u32) -> u64> TopK<F> {
    pub(crate) fn new(limit: usize, tie_key: F) -> Self {
        Self::above(0.0, limit, tie_key)
    }

    /// Keeps only scores that exceed `floor`.
    pub(crate) fn above(floor: f32, limit: usize, tie_key: F) -> Self {
        Self { kept: Vec::new(), limit, floor, tie_key }
    }

    /// Adds a score. Callers skip scores that do not exceed the floor.
    pub(crate) fn push(&mut self, document: u32, score: f32) {
        self.kept.push((document, score));
        if self.kept.len() >= 4 * self.limit.max(1) {
            self.shrink();
        }
    }

    /// Drops all but the highest scores and raises the floor to the lowest of these.
    fn shrink(&mut self) {
        if self.limit == 0 {
            self.kept.clear();
        } else if self.kept.len() > self.limit {
            let (_, last, _) = self.kept.select_nth_unstable_by(self.limit - 1, by_score(&self.tie_key));
            // A later score that equals the last one may still win by its tie key.
            self.floor = last.1.next_down().max(self.floor);
            self.kept.truncate(self.limit);
        }
    }

    /// Returns the documents with the highest scores, highest first.
    pub(crate) fn finish(mut self) -> Vec<(u32, f32)> {
        self.shrink();
        self.kept.sort_unstable_by(by_score(&self.tie_key));
        self.kept
    }
}

/// Orders by score, highest first, then by tie key.
fn by_score(tie_key: impl Fn(u32) -> u64) -> impl FnMut(&(u32, f32), &(u32, f32)) -> std::cmp::Ordering {
    move |a, b| b.1.total_cmp(&a.1).then_with(|| tie_key(a.0).cmp(&tie_key(b.0)))
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
            let mut top = TopK::new(limit, |document| u64::from(document ^ 5));
            let mut all: Vec<(u32, f32)> = (0..).zip(scores.iter().map(|score| f32::from(*score))).collect();
            for (document, score) in &all {
                if *score > top.floor {
                    top.push(*document, *score);
                }
            }
            all.retain(|(_, score)| *score > 0.0);
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then((a.0 ^ 5).cmp(&(b.0 ^ 5))));
            all.truncate(limit);
            prop_assert_eq!(top.finish(), all);
        }
    }
}
