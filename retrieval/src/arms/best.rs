//! The best of many scores, whatever the order in which they come.

/// Keeps the best of many scores.
pub(crate) struct Best<F> {
    kept: Vec<(u32, f32)>,
    limit: usize,
    /// What does not exceed this is not among the best.
    pub(crate) floor: f32,
    order: F,
}

impl<F: Fn(u32) -> u64> Best<F> {
    pub(crate) fn new(limit: usize, order: F) -> Self {
        Self::above(0.0, limit, order)
    }

    /// Those that exceed a least score.
    pub(crate) fn above(least: f32, limit: usize, order: F) -> Self {
        Self { kept: Vec::new(), limit, floor: least, order }
    }

    pub(crate) fn push(&mut self, document: u32, score: f32) {
        self.kept.push((document, score));
        if self.kept.len() >= 4 * self.limit.max(1) {
            self.shrink();
        }
    }

    /// Drops all but the best, and raises the floor to the last of them.
    fn shrink(&mut self) {
        if self.limit == 0 {
            self.kept.clear();
        } else if self.kept.len() > self.limit {
            let (_, last, _) = self.kept.select_nth_unstable_by(self.limit - 1, by_score(&self.order));
            // A score that equals the last may still win by its order.
            self.floor = last.1.next_down().max(self.floor);
            self.kept.truncate(self.limit);
        }
    }

    /// The best, best first.
    pub(crate) fn finish(mut self) -> Vec<(u32, f32)> {
        self.shrink();
        self.kept.sort_unstable_by(by_score(&self.order));
        self.kept
    }
}

/// Best first, ties by `order`.
fn by_score(order: impl Fn(u32) -> u64) -> impl FnMut(&(u32, f32), &(u32, f32)) -> std::cmp::Ordering {
    move |a, b| b.1.total_cmp(&a.1).then_with(|| order(a.0).cmp(&order(b.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_best_are_kept_whatever_the_order(scores in proptest::collection::vec(0u8..8, 0..200), limit in 1usize..9) {
            let mut best = Best::new(limit, |document| u64::from(document ^ 5));
            let mut all: Vec<(u32, f32)> = (0..).zip(scores.iter().map(|score| f32::from(*score))).collect();
            for (document, score) in &all {
                if *score > best.floor {
                    best.push(*document, *score);
                }
            }
            all.retain(|(_, score)| *score > 0.0);
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then((a.0 ^ 5).cmp(&(b.0 ^ 5))));
            all.truncate(limit);
            prop_assert_eq!(best.finish(), all);
        }
    }
}
