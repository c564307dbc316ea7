//! Where the memories that answer a question rank.

use super::admitted::Mean;

/// Hits within which recall, MRR and calibration are reported.
pub(super) const LIMIT: usize = 24;
/// Hits within which the first recall is reported.
const FEW: usize = 5;
/// Hits within which the discounted gain is reported.
const GAIN_HITS: usize = 10;
/// Words of content within which recall is reported.
const WORDS: usize = 2000;

/// A hit, in the order in which hits are judged.
pub(super) struct RankedHit<'a> {
    /// Words of its content.
    pub(super) words: usize,
    /// The units that it was made from.
    pub(super) units: Vec<&'a str>,
}

/// Where a unit that answers a question was found first.
#[derive(Clone, Copy)]
struct Place {
    /// From 1.
    rank: usize,
    /// Words of the hits up to and including this one.
    words: usize,
}

/// The mean figures of questions with an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct RankFigures {
    /// Whether the first hit answers.
    pub first: Mean,
    /// Share of the units within the first five hits.
    pub within_few: Mean,
    /// Share of the units within the first [`LIMIT`] hits.
    pub within_limit: Mean,
    /// One divided by the rank of the first hit that answers, within [`LIMIT`].
    pub reciprocal_rank: Mean,
    /// Normalised discounted cumulative gain of the first ten hits (Järvelin and Kekäläinen, 2002).
    pub gain: Mean,
    /// Share of the units within the first 2,000 words.
    pub within_words: Mean,
}

impl RankFigures {
    /// Adds a question with its hits, best first, and the units that answer it.
    pub(super) fn add(&mut self, hits: &[&RankedHit<'_>], relevant: &[String]) {
        let places = places(hits, relevant);
        let mut best: Option<usize> = None;
        let (mut few, mut limit, mut within_words) = (0_u32, 0_u32, 0_u32);
        let mut gain = 0.0;
        for place in places.into_iter().flatten() {
            best = Some(best.map_or(place.rank, |best| best.min(place.rank)));
            few += u32::from(place.rank <= FEW);
            limit += u32::from(place.rank <= LIMIT);
            within_words += u32::from(place.words <= WORDS);
            if place.rank <= GAIN_HITS {
                gain += discount(place.rank);
            }
        }
        let mut ideal = 0.0;
        for rank in 1..=relevant.len().min(GAIN_HITS) {
            ideal += discount(rank);
        }
        let units = relevant.len() as f64;
        self.first.add(if best == Some(1) { 1.0 } else { 0.0 });
        self.within_few.add(f64::from(few) / units);
        self.within_limit.add(f64::from(limit) / units);
        self.within_words.add(f64::from(within_words) / units);
        self.gain.add(gain / ideal);
        self.reciprocal_rank.add(match best {
            Some(rank) if rank <= LIMIT => 1.0 / rank as f64,
            _ => 0.0,
        });
    }

    /// Returns the figures with their names.
    pub fn report(&self) -> [(&'static str, f64); 6] {
        [
            ("first", self.first.value()),
            ("recall@5", self.within_few.value()),
            ("recall@24", self.within_limit.value()),
            ("mrr", self.reciprocal_rank.value()),
            ("ndcg@10", self.gain.value()),
            ("recall@2000w", self.within_words.value()),
        ]
    }
}

/// Returns the weight of a rank, from 1, in a discounted gain.
fn discount(rank: usize) -> f64 {
    1.0 / (rank as f64 + 1.0).log2()
}

/// Returns the place of each of some units.
fn places(hits: &[&RankedHit<'_>], units: &[String]) -> Vec<Option<Place>> {
    let mut places = vec![None; units.len()];
    let mut words = 0;
    for (rank, hit) in (1..).zip(hits) {
        words += hit.words;
        for (unit, place) in units.iter().zip(&mut places) {
            if place.is_none() && hit.units.contains(&unit.as_str()) {
                *place = Some(Place { rank, words });
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_right_on_small_cases() {
        let hit = |unit| RankedHit { words: 1200, units: vec![unit] };
        let mut figures = RankFigures::default();
        figures.add(&[&hit("x"), &hit("a"), &hit("y"), &hit("b")], &["a".to_owned(), "b".to_owned()]);
        let expected = [0.0, 1.0, 1.0, 0.5, (0.63093 + 0.43068) / 1.63093, 0.0];
        for ((name, value), expected) in figures.report().iter().zip(expected) {
            assert!((value - expected).abs() < 1e-4, "{name}: {value} instead of {expected}");
        }
        let mut figures = RankFigures::default();
        figures.add(&[&hit("a"), &hit("a")], &["a".to_owned(), "b".to_owned()]);
        let expected = [1.0, 0.5, 0.5, 1.0, 1.0 / 1.63093, 0.5];
        for ((name, value), expected) in figures.report().iter().zip(expected) {
            assert!((value - expected).abs() < 1e-4, "{name}: {value} instead of {expected}");
        }
    }
}
