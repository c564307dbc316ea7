//! The forward pass of a BERT-family encoder (Devlin et al., 2019).
//!
//! Texts are not padded: the tokens of all of them are the rows of one matrix wherever a row is worked on by itself, and
//! only attention, which looks at a text's own tokens, takes texts of one length at a time.

use std::collections::HashMap;

use candle_core::{DType, Device, Error, Result, Tensor};
use candle_nn::ops::{layer_norm, softmax_last_dim};

use super::linear::Linear;
use super::settings::{Activation, Pooling, Settings};

/// The weights, single precision.
pub(super) struct Network {
    words: Tensor,
    positions: Tensor,
    kind: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
    heads: usize,
    activation: Activation,
    first_position: usize,
    pooling: Pooling,
}

struct Layer {
    /// Query, key and value side by side, so that they are one multiplication.
    attention: Linear,
    attended: Linear,
    attended_norm: Norm,
    widened: Linear,
    narrowed: Linear,
    norm: Norm,
}

struct Norm {
    weight: Tensor,
    bias: Tensor,
    epsilon: f32,
}

/// The weights of a file by name.
struct Weights<'a> {
    tensors: &'a HashMap<String, Tensor>,
    /// What stands before every name: nothing, or the family's.
    prefix: String,
}

impl Weights<'_> {
    fn get(&self, name: &str) -> Result<Tensor> {
        let name = format!("{}{name}", self.prefix);
        let found = self.tensors.get(&name).ok_or_else(|| Error::Msg(format!("there is no tensor {name}")))?;
        found.to_dtype(DType::F32)
    }

    fn linear(&self, names: &[String]) -> Result<Linear> {
        let part = |end: &str| names.iter().map(|name| self.get(&format!("{name}.{end}"))).collect::<Result<Vec<_>>>();
        Linear::new(&Tensor::cat(&part("weight")?, 0)?, Tensor::cat(&part("bias")?, 0)?)
    }

    fn norm(&self, name: &str, epsilon: f64) -> Result<Norm> {
        // Old files call them gamma and beta.
        let either =
            |new: &str, old: &str| self.get(&format!("{name}.{new}")).or_else(|_| self.get(&format!("{name}.{old}")));
        Ok(Norm { weight: either("weight", "gamma")?, bias: either("bias", "beta")?, epsilon: epsilon as f32 })
    }
}

impl Norm {
    fn of(&self, rows: &Tensor) -> Result<Tensor> {
        layer_norm(rows, &self.weight, &self.bias, self.epsilon)
    }
}

impl Network {
    pub(super) fn new(settings: &Settings, tensors: &HashMap<String, Tensor>) -> Result<Self> {
        let words = "embeddings.word_embeddings.weight";
        let prefix = tensors.keys().find_map(|name| name.strip_suffix(words)).unwrap_or_default().to_owned();
        let weights = Weights { tensors, prefix };
        let epsilon = settings.norm_epsilon;
        let layer = |number: usize| {
            let at = |name: &str| format!("encoder.layer.{number}.{name}");
            let one = |name: &str| weights.linear(&[at(name)]);
            let attention = ["query", "key", "value"].map(|name| at(&format!("attention.self.{name}")));
            Ok(Layer {
                attention: weights.linear(&attention)?,
                attended: one("attention.output.dense")?,
                attended_norm: weights.norm(&at("attention.output.LayerNorm"), epsilon)?,
                widened: one("intermediate.dense")?,
                narrowed: one("output.dense")?,
                norm: weights.norm(&at("output.LayerNorm"), epsilon)?,
            })
        };
        let network = Self {
            words: weights.get(words)?,
            positions: weights.get("embeddings.position_embeddings.weight")?,
            // Every token is of the first of the two texts that a pair would have.
            kind: weights.get("embeddings.token_type_embeddings.weight")?.get(0)?,
            norm: weights.norm("embeddings.LayerNorm", epsilon)?,
            layers: (0..settings.layers).map(layer).collect::<Result<_>>()?,
            heads: settings.heads,
            activation: settings.activation,
            first_position: settings.first_position,
            pooling: settings.pooling,
        };
        network.check(settings)?;
        Ok(network)
    }

    /// Whether the tensors fit together: a text goes through.
    fn check(&self, settings: &Settings) -> Result<()> {
        let made = self.vectors(&[&[0, 0, 0]])?;
        match made.first().map(Vec::len) {
            Some(found) if found == settings.hidden_size => Ok(()),
            found => Err(Error::Msg(format!("a vector of {found:?} dimensions, not {}", settings.hidden_size))),
        }
    }

    /// The vector of each text, given as tokens; those of one length stand together.
    pub(super) fn vectors(&self, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        let tokens: Vec<u32> = texts.iter().flat_map(|text| text.iter().copied()).collect();
        let first = self.first_position as u32;
        let positions: Vec<u32> = texts.iter().flat_map(|text| first..first + text.len() as u32).collect();
        let count = tokens.len();
        let words = self.words.index_select(&Tensor::from_vec(tokens, count, &Device::Cpu)?, 0)?;
        let positions = self.positions.index_select(&Tensor::from_vec(positions, count, &Device::Cpu)?, 0)?;
        let mut rows = self.norm.of(&(words + positions)?.broadcast_add(&self.kind)?)?;
        for layer in &self.layers {
            let attended = layer.attended.of(&self.attend(&layer.attention.of(&rows)?, texts)?)?;
            rows = layer.attended_norm.of(&(rows + attended)?)?;
            let widened = match self.activation {
                Activation::Gelu => layer.widened.gelu_of(&rows)?,
                Activation::GeluTanh => layer.widened.of(&rows)?.gelu()?,
                Activation::Relu => layer.widened.of(&rows)?.relu()?,
            };
            rows = layer.norm.of(&(rows + layer.narrowed.of(&widened)?)?)?;
        }
        self.pool(&rows, texts)
    }

    /// Attention of each text's tokens to each other.
    fn attend(&self, rows: &Tensor, texts: &[&[u32]]) -> Result<Tensor> {
        let hidden = rows.dim(1)? / 3;
        let size = hidden / self.heads;
        let scale = 1.0 / (size as f64).sqrt();
        let (mut at, mut parts) = (0, Vec::new());
        for alike in texts.chunk_by(|a, b| a.len() == b.len()) {
            let (count, length) = (alike.len(), alike[0].len());
            let part = rows.narrow(0, at, count * length)?;
            at += count * length;
            // texts × heads, tokens, size
            let split = |number: usize| {
                let part = part.narrow(1, number * hidden, hidden)?;
                let part = part.reshape((count, length, self.heads, size))?.transpose(1, 2)?;
                part.contiguous()?.reshape((count * self.heads, length, size))
            };
            let (query, key, value) = ((split(0)? * scale)?, split(1)?, split(2)?);
            let weights = softmax_last_dim(&query.matmul(&key.t()?)?)?;
            let mixed = weights.matmul(&value)?.reshape((count, self.heads, length, size))?;
            parts.push(mixed.transpose(1, 2)?.reshape((count * length, hidden))?);
        }
        if parts.len() == 1 { Ok(parts.remove(0)) } else { Tensor::cat(&parts, 0) }
    }

    fn pool(&self, rows: &Tensor, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        let mut at = 0;
        let mut vectors = Vec::with_capacity(texts.len());
        for text in texts {
            let own = rows.narrow(0, at, text.len())?;
            at += text.len();
            let vector = match self.pooling {
                Pooling::First => own.get(0)?,
                Pooling::Mean => own.mean(0)?,
                Pooling::Max => own.max(0)?,
            };
            vectors.push(vector.to_vec1::<f32>()?);
        }
        Ok(vectors)
    }
}
