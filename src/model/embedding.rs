//! The form of embeddings: their dimensions and their length.

/// Dimensions of an embedding. A model may fill only a prefix; the remaining dimensions are zero.
pub const DIMENSIONS: usize = 1024;

/// Scales a vector to unit length; a vector of length zero stays unchanged. Returns false if a value is not finite.
pub(crate) fn normalise(vector: &mut [f32]) -> bool {
    if !vector.iter().all(|value| value.is_finite()) {
        return false;
    }
    // In double precision: squares of large values must not overflow.
    let norm = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt();
    if norm > 0.0 {
        for value in vector {
            *value = (f64::from(*value) / norm) as f32;
        }
    }
    true
}
