//! Admission: which hits of a query are good enough to show.
//!
//! A score is a calibrated probability, so a decision on scores means the same in every namespace. It has three steps.
//! Nothing is admitted unless the best hit is likely enough: a query that nothing answers also has a best hit. Then a
//! hit is admitted if it is likely enough itself, and if it is not far behind the best one.

use strum::IntoStaticStr;

/// How sure a search must be of a hit to return it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Admission {
    /// Every hit is returned, whatever its score.
    #[default]
    All,
    /// A missing memory costs more than an irrelevant one.
    Recall,
    /// Both cost the same.
    Balanced,
    /// An irrelevant memory costs more than a missing one.
    Strict,
}

/// The scores that a hit needs.
#[derive(Clone, Copy, Debug)]
struct Thresholds {
    /// The score of the best hit below which nothing is admitted.
    best: f32,
    /// The score below which a hit is not admitted.
    hit: f32,
    /// The share of the best score below which a hit is not admitted.
    share: f32,
}

// Chosen on the questions and queries of docs/evaluation.md#admission: of several settings, one with which the levels
// leave out and find about as much. `cuebase eval --scores` writes the scores from which they can be chosen again.
const RECALL: Thresholds = Thresholds { best: 0.05, hit: 0.02, share: 0.1 };
const BALANCED: Thresholds = Thresholds { best: 0.12, hit: 0.05, share: 0.2 };
const STRICT: Thresholds = Thresholds { best: 0.4, hit: 0.25, share: 0.5 };

impl Admission {
    /// The levels that leave hits out.
    pub const LEVELS: [Self; 3] = [Self::Recall, Self::Balanced, Self::Strict];

    /// Returns the level with a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "all" => Some(Self::All),
            "recall" => Some(Self::Recall),
            "balanced" => Some(Self::Balanced),
            "strict" => Some(Self::Strict),
            _ => None,
        }
    }

    /// Returns the name of the level.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the score that a hit needs, given the scores of all hits of its query. `None` if nothing is admitted.
    pub fn least_score(self, scores: &[f32]) -> Option<f32> {
        let thresholds = match self {
            Self::All => return Some(f32::NEG_INFINITY),
            Self::Recall => RECALL,
            Self::Balanced => BALANCED,
            Self::Strict => STRICT,
        };
        let mut best = f32::NEG_INFINITY;
        for score in scores {
            best = best.max(*score);
        }
        if best < thresholds.best { None } else { Some(thresholds.hit.max(best * thresholds.share)) }
    }

    /// Returns whether each of the hits with these scores is admitted.
    pub fn admitted(self, scores: &[f32]) -> Vec<bool> {
        match self.least_score(scores) {
            Some(least) => scores.iter().map(|score| *score >= least).collect(),
            None => vec![false; scores.len()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_admitted_if_the_best_hit_is_unlikely() {
        for level in Admission::LEVELS {
            assert_eq!(level.admitted(&[0.04, 0.03]), [false, false], "{level:?}");
            assert!(level.admitted(&[]).is_empty());
        }
    }

    #[test]
    fn a_hit_far_behind_the_best_is_not_admitted() {
        assert_eq!(Admission::Balanced.admitted(&[0.9, 0.3, 0.15, 0.01]), [true, true, false, false]);
    }

    #[test]
    fn each_level_admits_what_a_stricter_one_admits() {
        let lists = [[0.9, 0.5, 0.3, 0.1], [0.45, 0.35, 0.2, 0.05], [0.25, 0.2, 0.1, 0.04], [0.1, 0.05, 0.02, 0.01]];
        for scores in lists {
            let mut more = Admission::All.admitted(&scores);
            assert_eq!(more, [true; 4]);
            for level in Admission::LEVELS {
                let fewer = level.admitted(&scores);
                for (narrow, wide) in fewer.iter().zip(&more) {
                    assert!(*wide || !*narrow, "{level:?} {scores:?}");
                }
                more = fewer;
            }
        }
    }

    #[test]
    fn a_level_is_found_by_its_name() {
        for level in [Admission::All, Admission::Recall, Admission::Balanced, Admission::Strict] {
            assert_eq!(Admission::named(level.name()), Some(level));
        }
        assert_eq!(Admission::named("Strict"), None);
    }
}
