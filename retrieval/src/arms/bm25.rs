//! BM25 (k1 = 1.2, b = 0.75; Robertson and Zaragoza, 2009): the weight of a term and the score of a posting.

/// How soon further occurrences of a term in a document stop adding to its score.
const K1: f32 = 1.2;
/// How much a document's length counts against it.
const B: f32 = 0.75;

/// Returns the inverse document frequency of a term; never negative.
pub(super) fn idf(documents: f32, frequency: f32) -> f32 {
    (1.0 + (documents - frequency + 0.5) / (frequency + 0.5)).ln()
}

/// Returns the limit of the score of a term with this weight, for ever more occurrences.
pub(super) fn saturated(weight: f32) -> f32 {
    weight * (K1 + 1.0)
}

/// Computes the scores of one term's postings. Common factors are computed once, which leaves one division per posting.
#[derive(Clone, Copy)]
pub(super) struct PostingScore {
    saturated: f32,
    fixed: f32,
    per_length: f32,
}

impl PostingScore {
    /// Takes the term's weight and the mean length of a document in terms.
    #[inline(always)]
    pub(super) fn new(weight: f32, mean_length: f32) -> Self {
        Self { saturated: saturated(weight), fixed: K1 * (1.0 - B), per_length: K1 * B / mean_length }
    }

    /// Returns the score of a document of `length` terms that holds the term `count` times.
    #[inline(always)]
    pub(super) fn of(self, count: f32, length: f32) -> f32 {
        self.saturated * count / (count + self.fixed + self.per_length * length)
    }
}
