//! The vectors of tokens.

use ndarray::Array2;

/// The vectors of all tokens.
pub(super) enum Words {
    /// In single precision; shape: tokens × dimensions.
    SinglePrecision(Array2<f32>),
    /// In 8 bits, in the binary: the system reads a page of it when a token on that page is first used.
    Quantised {
        /// `dimensions` integers for each token.
        values: &'static [i8],
        /// The scale of each token: a number is its integer times the scale.
        scales: Vec<f32>,
        dimensions: usize,
    },
}

impl Words {
    /// Returns the length of a vector.
    pub(super) fn dimensions(&self) -> usize {
        match self {
            Self::SinglePrecision(vectors) => vectors.ncols(),
            Self::Quantised { dimensions, .. } => *dimensions,
        }
    }

    /// Copies the vector of a token to `to`, which has the same length. Returns whether the token exists.
    pub(super) fn write(&self, token: u32, to: &mut [f32]) -> bool {
        let token = token as usize;
        match self {
            Self::SinglePrecision(vectors) => {
                if token >= vectors.nrows() {
                    return false;
                }
                for (to, value) in to.iter_mut().zip(vectors.row(token)) {
                    *to = *value;
                }
            }
            Self::Quantised { values, scales, dimensions } => {
                let (Some(scale), Some(values)) =
                    (scales.get(token), values.get(token * dimensions..(token + 1) * dimensions))
                else {
                    return false;
                };
                for (to, value) in to.iter_mut().zip(values) {
                    *to = f32::from(*value) * scale;
                }
            }
        }
        true
    }
}
