//! The forward pass of a BERT-family encoder (Devlin et al., 2019).
//!
//! Texts are not padded. The tokens of all texts are the rows of one matrix in every operation on single rows. Only
//! [`attend`] relates the tokens of one text.

use ndarray::{Array1, Array2, Axis, s};

use super::activation::activate;
use super::attention::attend;
use super::linear::Linear;
use super::norm::LayerNorm;
use super::settings::{Activation, EncoderSettings, Pooling};
use super::weights::{Weights, WeightsError};
use super::words::Words;

/// A token or a position without a vector: the tokenizer and the weights are not of one model.
#[derive(Debug, thiserror::Error)]
#[error("the weights have no vector for token {token} at position {position}")]
pub(super) struct UnknownToken {
    token: u32,
    position: usize,
}

/// The network. The weights of its linear layers have the precision of the settings, the others single precision.
pub(super) struct Network {
    words: Words,
    /// The vectors of positions, with that of the first token type added: a text that is not a pair has no other.
    positions: Array2<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
    heads: usize,
    activation: Activation,
    first_position: usize,
    pooling: Pooling,
}

struct Layer {
    /// Query, key and value in one matrix, so that one multiplication computes them.
    attention: Linear,
    attended: Linear,
    attended_norm: LayerNorm,
    widened: Linear,
    narrowed: Linear,
    norm: LayerNorm,
}

impl Layer {
    fn read(weights: &Weights<'_>, number: usize, settings: &EncoderSettings) -> Result<Self, WeightsError> {
        let (hidden, epsilon) = (settings.hidden_size, settings.norm_epsilon);
        let prefix = format!("encoder.layer.{number}");
        let attention = ["query", "key", "value"].map(|name| format!("{prefix}.attention.self.{name}"));
        let widened = format!("{prefix}.intermediate.dense");
        let wide = weights.rows_of(&format!("{widened}.weight"))?;
        Ok(Self {
            attention: weights.linear(&attention, hidden, hidden)?,
            attended: weights.linear(&[format!("{prefix}.attention.output.dense")], hidden, hidden)?,
            attended_norm: weights.norm(&format!("{prefix}.attention.output.LayerNorm"), hidden, epsilon)?,
            widened: weights.linear(&[widened], hidden, wide)?,
            narrowed: weights.linear(&[format!("{prefix}.output.dense")], wide, hidden)?,
            norm: weights.norm(&format!("{prefix}.output.LayerNorm"), hidden, epsilon)?,
        })
    }
}

impl Network {
    /// Builds the network from the tensors of a file, whose shapes are checked, and the vectors of its tokens.
    pub(super) fn new(settings: &EncoderSettings, weights: &Weights<'_>, words: Words) -> Result<Self, WeightsError> {
        let hidden = settings.hidden_size;
        let mut layers = Vec::with_capacity(settings.layers);
        for number in 0..settings.layers {
            layers.push(Layer::read(weights, number, settings)?);
        }
        let kinds = weights.table("embeddings.token_type_embeddings.weight", hidden)?;
        let mut positions = weights.table("embeddings.position_embeddings.weight", hidden)?;
        if kinds.nrows() > 0 {
            positions += &kinds.row(0);
        }
        Ok(Self {
            words,
            positions,
            norm: weights.norm("embeddings.LayerNorm", hidden, settings.norm_epsilon)?,
            layers,
            heads: settings.heads,
            activation: settings.activation,
            first_position: settings.first_position,
            pooling: settings.pooling,
        })
    }

    /// Returns the vector of each text, which is given as tokens.
    pub(super) fn vectors(&self, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>, UnknownToken> {
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        let mut rows = self.embedded(texts)?;
        for layer in &self.layers {
            let attended = attend(&layer.attention.of(&rows), &lengths, self.heads);
            layer.attended_norm.add(&mut rows, &layer.attended.of(&attended));
            let mut widened = layer.widened.of(&rows);
            if let Some(values) = widened.as_slice_mut() {
                activate(values, self.activation);
            }
            layer.norm.add(&mut rows, &layer.narrowed.of(&widened));
        }
        Ok(self.pool(&rows, &lengths))
    }

    /// Returns the normalised sum of the vectors of each token and of its position.
    fn embedded(&self, texts: &[&[u32]]) -> Result<Array2<f32>, UnknownToken> {
        let (count, width) = (texts.iter().map(|text| text.len()).sum(), self.words.dimensions());
        let mut rows = Array2::zeros((count, width));
        let mut of_positions = Array2::zeros((count, width));
        let (Some(mut free_rows), Some(mut free_positions)) = (rows.as_slice_mut(), of_positions.as_slice_mut()) else {
            return Ok(rows);
        };
        for text in texts {
            for (offset, token) in text.iter().enumerate() {
                let position = self.first_position + offset;
                let (word, of_position);
                (word, free_rows) = free_rows.split_at_mut(width);
                (of_position, free_positions) = free_positions.split_at_mut(width);
                if !self.words.write(*token, word) || position >= self.positions.nrows() {
                    return Err(UnknownToken { token: *token, position });
                }
                for (to, value) in of_position.iter_mut().zip(self.positions.row(position)) {
                    *to = *value;
                }
            }
        }
        self.norm.add(&mut rows, &of_positions);
        Ok(rows)
    }

    /// Pools the rows of each text to one vector.
    fn pool(&self, rows: &Array2<f32>, lengths: &[usize]) -> Vec<Vec<f32>> {
        let mut start = 0;
        let mut vectors = Vec::with_capacity(lengths.len());
        for length in lengths {
            let of_text = rows.slice(s![start..start + length, ..]);
            start += length;
            let vector: Array1<f32> = match self.pooling {
                Pooling::First => of_text.row(0).to_owned(),
                Pooling::Mean => of_text.sum_axis(Axis(0)) / *length as f32,
                Pooling::Max => of_text.fold_axis(Axis(0), f32::NEG_INFINITY, |largest, value| largest.max(*value)),
            };
            vectors.push(vector.to_vec());
        }
        vectors
    }
}
