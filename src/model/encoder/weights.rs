//! The tensors of a weights file in the safetensors format, as layers, matrices and vectors.
//!
//! Published models have floating-point numbers. The matrices of the built-in encoder have 8-bit integers. The tensor
//! `NAME.scale` has the scale of each row of the matrix `NAME`: a number is its integer times the scale.

use half::{bf16, f16};
use ndarray::Array2;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use super::linear::Linear;
use super::norm::LayerNorm;
use super::quantised::{QuantisedLinear, QuantisedWeights};
use super::words::Words;
use crate::config::Precision;

/// The last part of the name of the vectors of tokens. What comes before it is the prefix of every name.
const WORDS: &str = "embeddings.word_embeddings.weight";

/// Why the tensors of a file are not those of a network.
#[derive(Debug, thiserror::Error)]
pub(super) enum WeightsError {
    /// The file is not in the safetensors format.
    #[error(transparent)]
    Format(#[from] safetensors::SafeTensorError),
    /// A tensor of the network is missing.
    #[error("tensor {0} is missing")]
    Missing(String),
    /// A tensor has numbers of another type.
    #[error("tensor {name} has numbers of the type {found:?}, which is not supported here")]
    NumberType { name: String, found: Dtype },
    /// A tensor has another shape.
    #[error("tensor {name} has the shape {found:?}, expected {expected:?}")]
    Shape { name: String, found: Vec<usize>, expected: Vec<usize> },
}

/// The tensors of a network by name.
pub(super) struct Weights<'a> {
    tensors: SafeTensors<'a>,
    /// Prefix of every name: empty, or the name of the model family.
    prefix: String,
    /// The precision of linear layers.
    precision: Precision,
}

impl<'a> Weights<'a> {
    /// Reads the head of a file.
    pub(super) fn read(file: &'a [u8], precision: Precision) -> Result<Self, WeightsError> {
        let tensors = SafeTensors::deserialize(file)?;
        let mut prefix = String::new();
        for name in tensors.names() {
            if let Some(before) = name.strip_suffix(WORDS) {
                prefix = before.to_owned();
            }
        }
        Ok(Self { tensors, prefix, precision })
    }

    /// Returns the vectors of tokens in single precision, `width` numbers each.
    pub(super) fn words(&self, width: usize) -> Result<Words, WeightsError> {
        Ok(Words::SinglePrecision(self.table(WORDS, width)?))
    }

    /// Returns a matrix of any number of rows, `width` numbers each.
    pub(super) fn table(&self, name: &str, width: usize) -> Result<Array2<f32>, WeightsError> {
        let (name, tensor) = self.tensor(name)?;
        let rows = tensor.shape().first().copied().unwrap_or(0);
        numbers(name, &tensor, [rows, width])
    }

    /// Returns a matrix of a shape in single precision.
    pub(super) fn numbers(&self, name: &str, shape: [usize; 2]) -> Result<Array2<f32>, WeightsError> {
        let (name, tensor) = self.tensor(name)?;
        numbers(name, &tensor, shape)
    }

    /// Returns the linear layers of these names as one layer. Each maps `inputs` numbers to `outputs`.
    pub(super) fn linear(&self, names: &[String], inputs: usize, outputs: usize) -> Result<Linear, WeightsError> {
        let mut bias = Vec::with_capacity(names.len() * outputs);
        for name in names {
            bias.extend(self.vector(&format!("{name}.bias"), outputs)?);
        }
        if self.are_quantised(names)? {
            let mut weights = QuantisedWeights { values: Vec::new(), scales: Vec::new() };
            for name in names {
                let (values, scales) = self.quantised(&format!("{name}.weight"), [outputs, inputs])?;
                weights.values.extend_from_slice(values);
                weights.scales.extend(scales);
            }
            return Ok(Linear::Quantised(QuantisedLinear::new(inputs, weights, bias)));
        }
        let mut weights = Vec::with_capacity(names.len() * inputs * outputs);
        for name in names {
            let (weight_name, weight) = self.tensor(&format!("{name}.weight"))?;
            weights.extend(numbers(weight_name, &weight, [outputs, inputs])?);
        }
        Ok(Linear::new(inputs, weights, bias, self.precision))
    }

    /// Whether the file has the weights of linear layers as integers.
    fn are_quantised(&self, names: &[String]) -> Result<bool, WeightsError> {
        let Some(first) = names.first() else { return Ok(false) };
        let (_, weight) = self.tensor(&format!("{first}.weight"))?;
        Ok(weight.dtype() == Dtype::I8)
    }

    /// Returns a matrix of integers, row by row, and the scale of each row.
    fn quantised(&self, name: &str, shape: [usize; 2]) -> Result<(&'a [i8], Vec<f32>), WeightsError> {
        let (full_name, tensor) = self.tensor(name)?;
        if tensor.shape() != shape {
            let (found, expected) = (tensor.shape().to_vec(), shape.to_vec());
            return Err(WeightsError::Shape { name: full_name, found, expected });
        }
        if tensor.dtype() != Dtype::I8 {
            return Err(WeightsError::NumberType { name: full_name, found: tensor.dtype() });
        }
        Ok((bytemuck::cast_slice(tensor.data()), self.vector(&format!("{name}.scale"), shape[0])?))
    }

    /// Returns a layer normalisation of rows of `width` numbers.
    pub(super) fn norm(&self, name: &str, width: usize, epsilon: f64) -> Result<LayerNorm, WeightsError> {
        // Old files use the names gamma and beta.
        let weight = self.vector_of_either([&format!("{name}.weight"), &format!("{name}.gamma")], width)?;
        let bias = self.vector_of_either([&format!("{name}.bias"), &format!("{name}.beta")], width)?;
        Ok(LayerNorm::new(weight, bias, epsilon))
    }

    /// Returns how many numbers the first dimension of a tensor has.
    pub(super) fn rows_of(&self, name: &str) -> Result<usize, WeightsError> {
        let (_, tensor) = self.tensor(name)?;
        Ok(tensor.shape().first().copied().unwrap_or(0))
    }

    fn vector_of_either(&self, names: [&str; 2], length: usize) -> Result<Vec<f32>, WeightsError> {
        match self.vector(names[0], length) {
            Err(WeightsError::Missing(name)) => match self.vector(names[1], length) {
                Err(WeightsError::Missing(_)) => Err(WeightsError::Missing(name)),
                found => found,
            },
            found => found,
        }
    }

    /// Returns a tensor of one dimension in single precision.
    pub(super) fn vector(&self, name: &str, length: usize) -> Result<Vec<f32>, WeightsError> {
        let (name, tensor) = self.tensor(name)?;
        if tensor.shape() != [length] {
            return Err(WeightsError::Shape { name, found: tensor.shape().to_vec(), expected: vec![length] });
        }
        single_precision(name, &tensor)
    }

    /// Returns a tensor with its full name.
    fn tensor(&self, name: &str) -> Result<(String, TensorView<'a>), WeightsError> {
        let name = format!("{}{name}", self.prefix);
        match self.tensors.tensor(&name) {
            Ok(tensor) => Ok((name, tensor)),
            Err(_) => Err(WeightsError::Missing(name)),
        }
    }
}

impl Weights<'static> {
    /// Returns the vectors of tokens in 8 bits, `width` integers each, of a file in the binary.
    pub(super) fn quantised_words(&self, width: usize) -> Result<Words, WeightsError> {
        let tokens = self.rows_of(WORDS)?;
        let (values, scales) = self.quantised(WORDS, [tokens, width])?;
        Ok(Words::Quantised { values, scales, dimensions: width })
    }
}

/// Returns the numbers of a matrix of a shape.
fn numbers(name: String, tensor: &TensorView<'_>, shape: [usize; 2]) -> Result<Array2<f32>, WeightsError> {
    let (found, expected) = (tensor.shape().to_vec(), shape.to_vec());
    if found != expected {
        return Err(WeightsError::Shape { name, found, expected });
    }
    let numbers = single_precision(name.clone(), tensor)?;
    Array2::from_shape_vec(shape, numbers).map_err(|_| WeightsError::Shape { name, found, expected })
}

/// Returns the numbers of a tensor, converted to single precision.
fn single_precision(name: String, tensor: &TensorView<'_>) -> Result<Vec<f32>, WeightsError> {
    let mut numbers = Vec::with_capacity(tensor.shape().iter().product());
    match tensor.dtype() {
        Dtype::F32 => {
            let (words, _) = tensor.data().as_chunks::<4>();
            numbers.extend(words.iter().map(|bytes| f32::from_le_bytes(*bytes)));
        }
        Dtype::F16 => {
            let (words, _) = tensor.data().as_chunks::<2>();
            numbers.extend(words.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32()));
        }
        Dtype::BF16 => {
            let (words, _) = tensor.data().as_chunks::<2>();
            numbers.extend(words.iter().map(|bytes| bf16::from_le_bytes(*bytes).to_f32()));
        }
        found => return Err(WeightsError::NumberType { name, found }),
    }
    Ok(numbers)
}
