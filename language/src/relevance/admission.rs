//! Admission: which hits of a query are good enough to show.
//!
//! A score is a calibrated probability, so a decision on scores means the same in every namespace. It has three steps.
//! Nothing is admitted unless the best hit is likely enough: a query that nothing answers also has a best hit. Then a
//! hit is admitted if it is likely enough itself, and if it is not far behind the best one. The first few hits need less,
//! because the order of the first hits is less sure than that any of them answers.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// How sure a search must be of a hit to return it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
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
    /// The same for the first [`FEW`] hits.
    few: Few,
}

/// What the first few hits need.
#[derive(Clone, Copy, Debug)]
struct Few {
    hit: f32,
    share: f32,
}

/// How many hits are the first few.
const FEW: usize = 4;

/// The thresholds of one level.
#[derive(Clone, Copy, Debug)]
struct LevelThresholds {
    /// For a query that asks for one thing.
    whole: Thresholds,
    /// For a part of a query. A part names its thing in few words, and somebody who lists things knows that they exist.
    part: Thresholds,
}

// Chosen on the questions and queries of docs/evaluation.md#admission. `cuebase eval --scores` writes the scores from which
// they can be chosen again.
const RECALL: LevelThresholds = LevelThresholds {
    whole: Thresholds { best: 0.05, hit: 0.02, share: 0.1, few: Few { hit: 0.02, share: 0.1 } },
    part: Thresholds { best: 0.02, hit: 0.01, share: 0.2, few: Few { hit: 0.01, share: 0.2 } },
};
const BALANCED: LevelThresholds = LevelThresholds {
    whole: Thresholds { best: 0.12, hit: 0.05, share: 0.2, few: Few { hit: 0.03, share: 0.1 } },
    part: Thresholds { best: 0.04, hit: 0.02, share: 0.3, few: Few { hit: 0.02, share: 0.3 } },
};
const STRICT: LevelThresholds = LevelThresholds {
    whole: Thresholds { best: 0.4, hit: 0.25, share: 0.5, few: Few { hit: 0.25, share: 0.5 } },
    part: Thresholds { best: 0.12, hit: 0.08, share: 0.5, few: Few { hit: 0.08, share: 0.5 } },
};

/// What the scores belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Searched {
    /// The whole query.
    Whole,
    /// A part of a query.
    Part,
}

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

    /// Returns the score that a hit needs, given the scores of all hits of its search. `None` if nothing is admitted.
    pub fn least_score(self, scores: &[f32], searched: Searched) -> Option<f32> {
        let level = match self {
            Self::All => return Some(f32::NEG_INFINITY),
            Self::Recall => RECALL,
            Self::Balanced => BALANCED,
            Self::Strict => STRICT,
        };
        let thresholds = match searched {
            Searched::Whole => level.whole,
            Searched::Part => level.part,
        };
        let mut highest = scores.to_vec();
        highest.sort_unstable_by(|a, b| b.total_cmp(a));
        let best = highest.first().copied().unwrap_or(f32::NEG_INFINITY);
        if best < thresholds.best {
            return None;
        }
        let least = thresholds.hit.max(best * thresholds.share);
        let Few { hit, share } = thresholds.few;
        let last_of_few = highest.get(FEW - 1).copied().unwrap_or(f32::NEG_INFINITY);
        Some(least.min(last_of_few.max(hit).max(best * share)))
    }

    /// Returns whether each of the hits with these scores is admitted.
    pub fn admitted(self, scores: &[f32], searched: Searched) -> Vec<bool> {
        match self.least_score(scores, searched) {
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
            assert_eq!(level.admitted(&[0.04, 0.03], Searched::Whole), [false, false], "{level:?}");
            assert!(level.admitted(&[], Searched::Whole).is_empty());
        }
    }

    #[test]
    fn a_hit_far_behind_the_best_is_not_admitted() {
        assert_eq!(Admission::Balanced.admitted(&[0.9, 0.3, 0.08, 0.01], Searched::Whole), [true, true, false, false]);
    }

    #[test]
    fn the_first_few_hits_need_less_than_later_ones() {
        let scores = [0.5, 0.3, 0.07, 0.06, 0.06, 0.055];
        let admitted = Admission::Balanced.admitted(&scores, Searched::Whole);
        assert_eq!(admitted, [true, true, true, true, true, false], "the fifth is as likely as the fourth");
        assert_eq!(Admission::Balanced.admitted(&[0.2, 0.02], Searched::Whole), [true, false]);
    }

    #[test]
    fn each_level_admits_what_a_stricter_one_admits() {
        let lists = [[0.9, 0.5, 0.3, 0.1], [0.45, 0.35, 0.2, 0.05], [0.25, 0.2, 0.1, 0.04], [0.1, 0.05, 0.02, 0.01]];
        for scores in lists {
            let mut more = Admission::All.admitted(&scores, Searched::Whole);
            assert_eq!(more, [true; 4]);
            for level in Admission::LEVELS {
                let fewer = level.admitted(&scores, Searched::Whole);
                for (narrow, wide) in fewer.iter().zip(&more) {
                    assert!(*wide || !*narrow, "{level:?} {scores:?}");
                }
                more = fewer;
            }
        }
    }

    #[test]
    fn a_part_needs_less_than_a_whole_query() {
        for level in Admission::LEVELS {
            for best in [0.03, 0.08, 0.2] {
                let whole = level.admitted(&[best], Searched::Whole)[0];
                assert!(level.admitted(&[best], Searched::Part)[0] || !whole, "{level:?} {best}");
            }
        }
        assert_eq!(Admission::Balanced.admitted(&[0.08], Searched::Whole), [false]);
        assert_eq!(Admission::Balanced.admitted(&[0.08], Searched::Part), [true]);
    }

    #[test]
    fn a_level_is_found_by_its_name() {
        for level in [Admission::All, Admission::Recall, Admission::Balanced, Admission::Strict] {
            assert_eq!(Admission::named(level.name()), Some(level));
        }
        assert_eq!(Admission::named("Strict"), None);
    }
}
