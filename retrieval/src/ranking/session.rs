//! What the candidates of one conversation say about it.

use crate::arms::soft::Nearest;

/// How many of a session's best memories speak for the session.
const SESSION_BEST: usize = 3;

/// What the candidates of one conversation say about it.
#[derive(Default)]
pub(super) struct Session {
    /// Standardised.
    pub(super) cosine: MeanOfBest,
    /// Which of the query's parts they hold.
    pub(super) matched: u32,
    pub(super) nearest: Nearest,
}

/// The mean of the largest values; those that are missing count as zero.
#[derive(Default)]
pub(super) struct MeanOfBest {
    /// Largest first; the first `held` are there.
    best: [f32; SESSION_BEST],
    held: usize,
}

impl MeanOfBest {
    pub(super) fn push(&mut self, value: f32) {
        let at = self.best[..self.held].partition_point(|better| *better >= value);
        if at < SESSION_BEST {
            self.held = (self.held + 1).min(SESSION_BEST);
            self.best[at..self.held].rotate_right(1);
            self.best[at] = value;
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
