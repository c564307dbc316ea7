//! How good scores are as probabilities: whether relevant hits have higher ones, and whether they are true.

/// Bins of the calibration error.
const BINS: usize = 10;

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

/// A bin of the calibration error: sums over the hits whose scores are in its range.
#[derive(Clone, Copy, Default)]
struct CalibrationBin {
    hits: usize,
    scores: f64,
    relevant: f64,
}

/// Returns the expected calibration error over ten bins of scores.
pub(super) fn calibration_error(scored: &[(f32, bool)]) -> f64 {
    let mut bins = [CalibrationBin::default(); BINS];
    for (score, relevant) in scored {
        // A score of exactly 1 belongs to the last bin.
        let bin = &mut bins[((score * BINS as f32) as usize).min(BINS - 1)];
        bin.hits += 1;
        bin.scores += f64::from(*score);
        bin.relevant += if *relevant { 1.0 } else { 0.0 };
    }
    let filled = bins.iter().filter(|bin| bin.hits > 0);
    let error: f64 = filled.map(|bin| (bin.scores - bin.relevant).abs()).sum();
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
}
