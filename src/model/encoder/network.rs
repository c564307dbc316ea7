//! The forward pass of a BERT-family encoder (Devlin et al., 2019).
//!
//! Texts are not padded. The tokens of all texts are the rows of one matrix in every operation on single rows. Only
//! attention, which relates the tokens of one text, processes texts of one length at a time.

use std::collections::HashMap;

use candle_core::{DType, Device, Error, Result, Tensor};

use super::linear::Linear;
use super::norm::LayerNorm;
use super::settings::{Activation, EncoderSettings, Pooling};
use super::softmax::softmax;
use crate::config::Precision;

/// The network. The weights of its linear layers have the precision of the settings, the others single precision.
pub(super) struct Network {
    words: Tensor,
    /// The vectors of positions, with that of the first token type added: a text that is not a pair has no other.
    positions: Tensor,
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

/// The tensors of a weights file by name.
struct Weights<'a> {
    tensors: &'a HashMap<String, Tensor>,
    /// Prefix of every name: empty, or the name of the model family.
    prefix: String,
    /// The precision of linear layers.
    precision: Precision,
}

impl Weights<'_> {
    fn get(&self, name: &str) -> Result<Tensor> {
        let name = format!("{}{name}", self.prefix);
        match self.tensors.get(&name) {
            Some(tensor) => tensor.to_dtype(DType::F32),
            None => Err(Error::Msg(format!("tensor {name} is missing"))),
        }
    }

    /// Returns the linear layers of these names as one layer.
    fn linear(&self, names: &[String]) -> Result<Linear> {
        let mut weights = Vec::with_capacity(names.len());
        let mut biases = Vec::with_capacity(names.len());
        for name in names {
            weights.push(self.get(&format!("{name}.weight"))?);
            biases.push(self.get(&format!("{name}.bias"))?);
        }
        Linear::new(&Tensor::cat(&weights, 0)?, Tensor::cat(&biases, 0)?, self.precision)
    }

    fn norm(&self, name: &str, epsilon: f64) -> Result<LayerNorm> {
        // Old files use the names gamma and beta.
        let weight = self.get_either(&format!("{name}.weight"), &format!("{name}.gamma"))?;
        let bias = self.get_either(&format!("{name}.bias"), &format!("{name}.beta"))?;
        LayerNorm::new(&weight, &bias, epsilon)
    }

    fn get_either(&self, name: &str, old_name: &str) -> Result<Tensor> {
        match self.get(name) {
            Ok(tensor) => Ok(tensor),
            Err(_) => self.get(old_name),
        }
    }

    fn layer(&self, number: usize, epsilon: f64) -> Result<Layer> {
        let prefix = format!("encoder.layer.{number}");
        let attention = ["query", "key", "value"].map(|name| format!("{prefix}.attention.self.{name}"));
        Ok(Layer {
            attention: self.linear(&attention)?,
            attended: self.linear(&[format!("{prefix}.attention.output.dense")])?,
            attended_norm: self.norm(&format!("{prefix}.attention.output.LayerNorm"), epsilon)?,
            widened: self.linear(&[format!("{prefix}.intermediate.dense")])?,
            narrowed: self.linear(&[format!("{prefix}.output.dense")])?,
            norm: self.norm(&format!("{prefix}.output.LayerNorm"), epsilon)?,
        })
    }
}

impl Network {
    pub(super) fn new(
        settings: &EncoderSettings,
        tensors: &HashMap<String, Tensor>,
        precision: Precision,
    ) -> Result<Self> {
        let words = "embeddings.word_embeddings.weight";
        let prefix = tensors.keys().find_map(|name| name.strip_suffix(words)).unwrap_or("").to_owned();
        let weights = Weights { tensors, prefix, precision };
        let epsilon = settings.norm_epsilon;
        let mut layers = Vec::new();
        for number in 0..settings.layers {
            layers.push(weights.layer(number, epsilon)?);
        }
        let kind = weights.get("embeddings.token_type_embeddings.weight")?.get(0)?;
        let network = Self {
            words: weights.get(words)?,
            positions: weights.get("embeddings.position_embeddings.weight")?.broadcast_add(&kind)?,
            norm: weights.norm("embeddings.LayerNorm", epsilon)?,
            layers,
            heads: settings.heads,
            activation: settings.activation,
            first_position: settings.first_position,
            pooling: settings.pooling,
        };
        network.check(settings)?;
        Ok(network)
    }

    /// Embeds a text to check that the tensors fit together.
    fn check(&self, settings: &EncoderSettings) -> Result<()> {
        let vectors = self.vectors(&[&[0, 0, 0]])?;
        match vectors.first() {
            Some(vector) if vector.len() == settings.hidden_size => Ok(()),
            Some(vector) => {
                let message = format!("a vector has {} dimensions, expected {}", vector.len(), settings.hidden_size);
                Err(Error::Msg(message))
            }
            None => Err(Error::Msg("the network returned no vector".into())),
        }
    }

    /// Returns the vector of each text, which is given as tokens. Texts of one length must be adjacent.
    pub(super) fn vectors(&self, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        let tokens: Vec<u32> = texts.concat();
        let first = self.first_position as u32;
        let mut positions: Vec<u32> = Vec::with_capacity(tokens.len());
        for text in texts {
            positions.extend(first..first + text.len() as u32);
        }
        let count = tokens.len();
        let words = self.words.index_select(&Tensor::from_vec(tokens, count, &Device::Cpu)?, 0)?;
        let positions = self.positions.index_select(&Tensor::from_vec(positions, count, &Device::Cpu)?, 0)?;
        let mut rows = self.norm.of_sum(&words, &positions)?;
        for layer in &self.layers {
            let attended = layer.attended.of(&self.attend(&layer.attention.of(&rows)?, texts)?)?;
            rows = layer.attended_norm.of_sum(&rows, &attended)?;
            let widened = match self.activation {
                Activation::Gelu => layer.widened.gelu_of(&rows)?,
                Activation::GeluTanh => layer.widened.of(&rows)?.gelu()?,
                Activation::Relu => layer.widened.of(&rows)?.relu()?,
            };
            rows = layer.norm.of_sum(&rows, &layer.narrowed.of(&widened)?)?;
        }
        self.pool(&rows, texts)
    }

    /// Applies attention among the tokens of each text.
    fn attend(&self, rows: &Tensor, texts: &[&[u32]]) -> Result<Tensor> {
        let hidden = rows.dim(1)? / 3;
        let size = hidden / self.heads;
        let scale = 1.0 / (size as f64).sqrt();
        let mut start = 0;
        let mut parts = Vec::new();
        for group in texts.chunk_by(|a, b| a.len() == b.len()) {
            let (count, length) = (group.len(), group[0].len());
            let part = rows.narrow(0, start, count * length)?;
            start += count * length;
            let query = (self.heads_of(&part.narrow(1, 0, hidden)?, count, length)? * scale)?;
            let key = self.heads_of(&part.narrow(1, hidden, hidden)?, count, length)?;
            let value = self.heads_of(&part.narrow(1, 2 * hidden, hidden)?, count, length)?;
            let weights = query.matmul(&key.t()?)?;
            softmax(&weights)?;
            let mixed = weights.matmul(&value)?.reshape((count, self.heads, length, size))?;
            parts.push(mixed.transpose(1, 2)?.reshape((count * length, hidden))?);
        }
        if parts.len() == 1 { Ok(parts.remove(0)) } else { Tensor::cat(&parts, 0) }
    }

    /// Reshapes the rows of `count` texts of one length to the shape texts × heads, tokens, size of a head.
    fn heads_of(&self, rows: &Tensor, count: usize, length: usize) -> Result<Tensor> {
        let size = rows.dim(1)? / self.heads;
        let split = rows.reshape((count, length, self.heads, size))?.transpose(1, 2)?;
        split.contiguous()?.reshape((count * self.heads, length, size))
    }

    /// Pools the rows of each text to one vector.
    fn pool(&self, rows: &Tensor, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        let mut start = 0;
        let mut vectors = Vec::with_capacity(texts.len());
        for text in texts {
            let text_rows = rows.narrow(0, start, text.len())?;
            start += text.len();
            let vector = match self.pooling {
                Pooling::First => text_rows.get(0)?,
                Pooling::Mean => text_rows.mean(0)?,
                Pooling::Max => text_rows.max(0)?,
            };
            vectors.push(vector.to_vec1::<f32>()?);
        }
        Ok(vectors)
    }
}
