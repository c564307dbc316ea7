//! How good scores are as probabilities: whether relevant hits have higher ones, and whether they are true.

/// Ranges of scores.
pub(super) const BINS: usize = 10;

/// Returns the probability that a relevant hit has a higher score than an irrelevant one; ties count half.
pub(super) fn area_under_curve(scored: &[(f32, bool)]) -> f64 {
    let mut ranked = scored.to_vec();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let positives = ranked.iter().filter(|(_, relevant)| *relevant).count() as f64;
    let negatives = ranked.len() as f64 - positives;
    let (mut ranks, mut hits_before) = (0.0, 0.0);
    for tied in ranked.chunk_by(|a, b| a.0 == b.0) {
        let middle = hits_before + (tied.len() as f64 + 1.0) / 2.0;
        ranks += middle * tied.iter().filter(|(_, relevant)| *relevant).count() as f64;
        hits_before += tied.len() as f64;
    }
    if positives == 0.0 || negatives == 0.0 {
        return f64::NAN;
    }
    (ranks - positives * (positives + 1.0) / 2.0) / (positives * negatives)
}

/// A range of scores: sums over the hits whose scores are in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ScoreBucket {
    /// Number of hits.
    pub(super) hits: usize,
    /// Sum of their scores.
    pub(super) scores: f64,
    /// Number of hits that are right.
    pub(super) relevant: usize,
}

/// Returns ten ranges of scores of one width, lowest first.
pub(super) fn buckets(scored: &[(f32, bool)]) -> [ScoreBucket; BINS] {
    let mut buckets = [ScoreBucket::default(); BINS];
    for (score, relevant) in scored {
        // A score of exactly 1 belongs to the last bucket.
        let bucket = &mut buckets[((score * BINS as f32) as usize).min(BINS - 1)];
        bucket.hits += 1;
        bucket.scores += f64::from(*score);
        bucket.relevant += usize::from(*relevant);
    }
    buckets
}

/// Returns the expected calibration error over ten buckets of scores.
pub(super) fn calibration_error(scored: &[(f32, bool)]) -> f64 {
    let mut error = 0.0;
    for bucket in buckets(scored) {
        error += (bucket.scores - bucket.relevant as f64).abs();
    }
    error / scored.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measures_are_right_on_small_cases() {
        let perfect = [(0.9, true), (0.8, true), (0.1, false)];
        assert!((area_under_curve(&perfect) - 1.0).abs() < 1e-9);
        assert!((area_under_curve(&[(0.5, true), (0.5, false)]) - 0.5).abs() < 1e-9);
        assert!((calibration_error(&[(1.0, true), (0.0, false)])).abs() < 1e-9);
        assert!((calibration_error(&[(1.0, false)]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn scores_are_counted_in_the_bucket_of_their_range() {
        let buckets = buckets(&[(1.0, true), (0.99, false), (0.0, false), (0.55, true)]);
        let counts: Vec<(usize, usize)> = buckets.iter().map(|bucket| (bucket.hits, bucket.relevant)).collect();
        let mut expected = vec![(0, 0); BINS];
        (expected[0], expected[5], expected[9]) = ((1, 0), (1, 1), (2, 1));
        assert_eq!(counts, expected);
    }
}
