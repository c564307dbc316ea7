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

/// The best scores of questions.
#[derive(Clone, Debug, Default)]
pub(super) struct BestScores {
    /// Of each question with an answer, with whether the best hit is right.
    answerable: Vec<(f32, bool)>,
    /// Of each question without an answer.
    unanswerable: Vec<f32>,
}

impl BestScores {
    /// Adds the best score of a question with an answer.
    pub(super) fn add_answerable(&mut self, score: f32, is_right: bool) {
        self.answerable.push((score, is_right));
    }

    /// Adds the best score of a question without an answer.
    pub(super) fn add_unanswerable(&mut self, score: f32) {
        self.unanswerable.push(score);
    }

    /// Returns how far the best scores are from the share of right best hits, and the probability that a question with an
    /// answer has a higher best score than one without, if there are any of these.
    pub(super) fn report(&self) -> Vec<(String, f64)> {
        let mut report = vec![("ece of the best hit".to_owned(), calibration_error(&self.answerable))];
        if self.unanswerable.is_empty() {
            return report;
        }
        let mut scored: Vec<(f32, bool)> = Vec::with_capacity(self.answerable.len() + self.unanswerable.len());
        scored.extend(self.answerable.iter().map(|(score, _)| (*score, true)));
        scored.extend(self.unanswerable.iter().map(|score| (*score, false)));
        report.push(("auc of the best score".to_owned(), area_under_curve(&scored)));
        report
    }
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
    fn best_scores_are_compared_with_right_hits_and_with_questions_without_an_answer() {
        let mut best = BestScores::default();
        assert_eq!(best.report().len(), 1, "no question without an answer");
        best.add_answerable(0.9, true);
        best.add_answerable(0.9, false);
        best.add_unanswerable(0.5);
        best.add_unanswerable(0.9);
        let report = best.report();
        let (error, area) = (report[0].1, report[1].1);
        assert!((error - 0.4).abs() < 1e-6, "{error}");
        assert!((area - 0.75).abs() < 1e-9, "{area}");
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
