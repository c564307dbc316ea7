//! The forward pass of a BERT-family encoder (Devlin et al., 2019).
//!
//! Texts are not padded. The tokens of all texts are the rows of one matrix in every operation on single rows. Only
//! [`attend`] relates the tokens of one text.

use ndarray::{Array2, ShapeError};

use super::activation::activate;
use super::attention::attend;
use super::linear::Linear;
use super::norm::LayerNorm;
use super::settings::{Activation, EncoderSettings, Pooling};
use super::weights::{Weights, WeightsError};
use super::words::Words;

/// Why a network has no vectors for texts.
#[derive(Debug, thiserror::Error)]
pub(super) enum NetworkError {
    /// A token or a position has no vector: the tokenizer and the weights are not of one model.
    #[error("the weights have no vector for token {token} at position {position}")]
    UnknownToken { token: u32, position: usize },
    /// The layers do not fit together.
    #[error(transparent)]
    Shape(#[from] ShapeError),
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
    pub(super) fn vectors(&self, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>, NetworkError> {
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        let count = lengths.iter().sum();
        let hidden = self.words.dimensions();
        let mut rows = self.embedded(texts, count)?;
        // Each is written by every layer, and allocated once.
        let (mut wide, mut attended, mut narrow) = (Vec::new(), vec![0.0; rows.len()], Vec::new());
        for layer in &self.layers {
            layer.attention.apply(&rows, count, &mut wide)?;
            attend(&wide, hidden, &lengths, self.heads, &mut attended)?;
            layer.attended.apply(&attended, count, &mut narrow)?;
            layer.attended_norm.add(&mut rows, &narrow);
            layer.widened.apply(&rows, count, &mut wide)?;
            activate(&mut wide, self.activation);
            layer.narrowed.apply(&wide, count, &mut narrow)?;
            layer.norm.add(&mut rows, &narrow);
        }
        Ok(self.pool(&rows, &lengths))
    }

    /// Returns the normalised sum of the vectors of each token and of its position, one row after the other.
    fn embedded(&self, texts: &[&[u32]], count: usize) -> Result<Vec<f32>, NetworkError> {
        let width = self.words.dimensions();
        let mut rows = vec![0.0; count * width];
        let mut of_positions = vec![0.0; count * width];
        let mut places = rows.chunks_exact_mut(width).zip(of_positions.chunks_exact_mut(width));
        for text in texts {
            for (offset, token) in text.iter().enumerate() {
                let position = self.first_position + offset;
                let Some((word, of_position)) = places.next() else { continue };
                if !self.words.write(*token, word) || position >= self.positions.nrows() {
                    return Err(NetworkError::UnknownToken { token: *token, position });
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
    fn pool(&self, rows: &[f32], lengths: &[usize]) -> Vec<Vec<f32>> {
        let width = self.words.dimensions();
        let mut rest = rows;
        let mut vectors = Vec::with_capacity(lengths.len());
        for length in lengths {
            let (of_text, after) = rest.split_at(length * width);
            rest = after;
            let mut vector = of_text[..width].to_vec();
            for row in of_text.chunks_exact(width).skip(1) {
                self.pooling.add(row, &mut vector);
            }
            if self.pooling == Pooling::Mean {
                for sum in &mut vector {
                    *sum /= *length as f32;
                }
            }
            vectors.push(vector);
        }
        vectors
    }
}

impl Pooling {
    /// Adds the row of a further token to what is pooled so far. Of the mean, this is the sum.
    fn add(self, row: &[f32], pooled: &mut [f32]) {
        for (pooled, value) in pooled.iter_mut().zip(row) {
            match self {
                Self::First => {}
                Self::Mean => *pooled += value,
                Self::Max => *pooled = pooled.max(*value),
            }
        }
    }
}
