//! The signals of one conversation, combined from its candidates.

use crate::arms::soft::BestCosines;

/// How many of a session's best memories represent the session.
const SESSION_BEST: usize = 3;

/// The combined signals of the candidates of one conversation.
#[derive(Default)]
pub(super) struct SessionSignals {
    /// Of the standardised cosines.
    pub(super) cosine: MeanOfBest,
    /// The parts of the query that any of the candidates holds.
    pub(super) matched: u32,
    pub(super) best_cosines: BestCosines,
}

/// The mean of the [`SESSION_BEST`] largest values. Missing values count as zero.
#[derive(Default)]
pub(super) struct MeanOfBest {
    /// The largest values, largest first; the first `len` are set.
    best: [f32; SESSION_BEST],
    len: usize,
}

impl MeanOfBest {
    pub(super) fn push(&mut self, value: f32) {
        let rank = self.best[..self.len].partition_point(|better| *better >= value);
        if rank < SESSION_BEST {
            self.len = (self.len + 1).min(SESSION_BEST);
            self.best[rank..self.len].rotate_right(1);
            self.best[rank] = value;
        }
    }

    pub(super) fn mean(&self) -> f32 {
        self.best.iter().sum::<f32>() / SESSION_BEST as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_a_session_are_kept_whatever_the_order() {
        for values in [[0.5, -1.0, 0.25, 2.0, 0.0], [2.0, 0.5, 0.25, 0.0, -1.0], [-1.0, 0.0, 0.25, 0.5, 2.0]] {
            let mut best = MeanOfBest::default();
            values.into_iter().for_each(|value| best.push(value));
            assert_eq!(best.best, [2.0, 0.5, 0.25]);
        }
        let mut few = MeanOfBest::default();
        few.push(-0.6);
        assert!((few.mean() + 0.2).abs() < 1e-6);
    }
}
