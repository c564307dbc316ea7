//! The states of tokens below the first layer: the normalised sum of the vectors of the token, of its position, and of its
//! type. The type says whether the token is of the first or of the second text of a pair.

use ndarray::Array2;

use super::norm::LayerNorm;
use super::settings::EncoderSettings;
use super::tokens::Tokens;
use super::weights::{Weights, WeightsError};
use super::words::Words;

/// A token or a position has no vector: the tokenizer and the weights are not of one model.
#[derive(Debug, thiserror::Error)]
#[error("the weights have no vector for token {token} at position {position}")]
pub(super) struct UnknownToken {
    token: u32,
    position: usize,
}

/// The vectors of tokens, positions and types.
pub(super) struct Embeddings {
    words: Words,
    /// The vectors of positions, with that of the first type added.
    positions: Array2<f32>,
    /// The vector of the second type less that of the first; `None` if the model has one type only.
    second: Option<Vec<f32>>,
    norm: LayerNorm,
    first_position: usize,
}

impl Embeddings {
    /// Builds the embeddings from the tensors of a file, whose shapes are checked, and the vectors of its tokens.
    pub(super) fn new(settings: &EncoderSettings, weights: &Weights<'_>, words: Words) -> Result<Self, WeightsError> {
        let hidden = settings.hidden_size;
        let types = weights.table("embeddings.token_type_embeddings.weight", hidden)?;
        let mut positions = weights.table("embeddings.position_embeddings.weight", hidden)?;
        let mut second = None;
        if types.nrows() > 0 {
            positions += &types.row(0);
        }
        if types.nrows() > 1 {
            second = Some((&types.row(1) - &types.row(0)).to_vec());
        }
        let norm = weights.norm("embeddings.LayerNorm", hidden, settings.norm_epsilon)?;
        Ok(Self { words, positions, second, norm, first_position: settings.first_position })
    }

    /// Returns the length of a vector.
    pub(super) fn dimensions(&self) -> usize {
        self.words.dimensions()
    }

    /// Returns the states of all tokens, one row after the other; `count` is their number.
    pub(super) fn rows(&self, inputs: &[&Tokens], count: usize) -> Result<Vec<f32>, UnknownToken> {
        let width = self.dimensions();
        let mut rows = vec![0.0; count * width];
        let mut added = vec![0.0; count * width];
        let mut places = rows.chunks_exact_mut(width).zip(added.chunks_exact_mut(width));
        for input in inputs {
            for (offset, token) in input.ids().iter().enumerate() {
                let position = self.first_position + offset;
                let Some((word, added)) = places.next() else { continue };
                if !self.words.write(*token, word) || position >= self.positions.nrows() {
                    return Err(UnknownToken { token: *token, position });
                }
                for (to, value) in added.iter_mut().zip(self.positions.row(position)) {
                    *to = *value;
                }
                if offset >= input.second()
                    && let Some(second) = &self.second
                {
                    for (to, value) in added.iter_mut().zip(second) {
                        *to += value;
                    }
                }
            }
        }
        self.norm.add(&mut rows, &added);
        Ok(rows)
    }
}
