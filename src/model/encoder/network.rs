//! The forward pass of a BERT-family encoder (Devlin et al., 2019).
//!
//! An input is a text or a pair of texts. Inputs are not padded. The tokens of all inputs are the rows of one matrix in
//! every operation on single rows. Only [`attend`] relates the tokens of one input.

use ndarray::ShapeError;

use super::activation::activate;
use super::attention::attend;
use super::embeddings::{Embeddings, UnknownToken};
use super::linear::Linear;
use super::norm::LayerNorm;
use super::settings::{Activation, EncoderSettings, Pooling};
use super::tokens::Tokens;
use super::weights::{Weights, WeightsError};

/// Why a network has no vectors for texts.
#[derive(Debug, thiserror::Error)]
pub(super) enum NetworkError {
    /// A token or a position has no vector.
    #[error(transparent)]
    UnknownToken(#[from] UnknownToken),
    /// The layers do not fit together.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

/// The network. The weights of its linear layers have the precision of the settings, the others single precision.
pub(super) struct Network {
    embeddings: Embeddings,
    layers: Vec<Layer>,
    heads: usize,
    activation: Activation,
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
    /// Builds the network from its embeddings and the layers in a file, whose shapes are checked.
    pub(super) fn new(
        settings: &EncoderSettings,
        weights: &Weights<'_>,
        embeddings: Embeddings,
    ) -> Result<Self, WeightsError> {
        let mut layers = Vec::with_capacity(settings.layers);
        for number in 0..settings.layers {
            layers.push(Layer::read(weights, number, settings)?);
        }
        let (heads, activation, pooling) = (settings.heads, settings.activation, settings.pooling);
        Ok(Self { embeddings, layers, heads, activation, pooling })
    }

    /// Returns the vector of each input.
    pub(super) fn vectors(&self, inputs: &[&Tokens]) -> Result<Vec<Vec<f32>>, NetworkError> {
        let lengths: Vec<usize> = inputs.iter().map(|input| input.ids().len()).collect();
        let count = lengths.iter().sum();
        let hidden = self.embeddings.dimensions();
        let mut rows = self.embeddings.rows(inputs, count)?;
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

    /// Pools the rows of each input to one vector.
    fn pool(&self, rows: &[f32], lengths: &[usize]) -> Vec<Vec<f32>> {
        let width = self.embeddings.dimensions();
        let mut rest = rows;
        let mut vectors = Vec::with_capacity(lengths.len());
        for length in lengths {
            let (of_input, after) = rest.split_at(length * width);
            rest = after;
            let mut vector = of_input[..width].to_vec();
            for row in of_input.chunks_exact(width).skip(1) {
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
