//! A BERT-family encoder from a folder, run in the server process.
//!
//! The folder has the usual files of a published model: `config.json`, `tokenizer.json`, `model.safetensors`, and
//! optionally `modules.json`, `1_Pooling/config.json` and `sentence_bert_config.json`, which define how the vectors of
//! tokens are pooled. [`settings`] and [`weights`] read these files and [`network`] computes the vectors. A [`linear`]
//! layer is [`quantised`] or of [`single_precision`], and [`product`] holds the innermost loop of the former. The other
//! parts are [`attention`], [`activation`] and [`norm`]. None of them starts threads: batches of texts are processed in
//! parallel already, and for a short text the threads take longer than the arithmetic.

mod activation;
mod attention;
mod linear;
mod network;
mod norm;
mod product;
mod quantised;
mod settings;
mod single_precision;
mod weights;

use std::path::Path;

use rayon::prelude::*;
use tokenizers::{Tokenizer, TruncationParams};

use self::network::Network;
use self::settings::{EncoderSettings, refused};
use self::weights::Weights;
use super::deadline::Deadline;
use super::embedder::Embedder;
use super::embedding::normalise;
use super::error::ModelError;
use crate::config::Precision;
use crate::sha256::sha256;

/// Maximum number of tokens in a batch: enough to use the multiplications well, few enough for the processor's cache.
const BATCH_TOKENS_MAX: usize = 512;
/// Maximum length of a text in bytes. The rest of a longer text is ignored.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// Prefix of the identity of a local model in single precision.
const IDENTITY: &str = "local:";
/// Prefix of the identity of a local model in 8 bits.
const IDENTITY_INT8: &str = "local-int8:";

/// A loaded encoder.
pub struct LocalEncoder {
    identity: String,
    tokenizer: Tokenizer,
    network: Network,
    settings: EncoderSettings,
}

impl LocalEncoder {
    /// Loads the model in a folder. Its linear layers get a precision, whatever that of the file is.
    ///
    /// # Errors
    ///
    /// [`ModelError::Unknown`] with the path of the file that is missing or not supported.
    pub fn load(folder: &Path, precision: Precision) -> Result<Self, ModelError> {
        let settings = EncoderSettings::read(folder)?;
        let tokenizer_path = folder.join("tokenizer.json");
        let mut tokenizer = Tokenizer::from_file(&tokenizer_path).map_err(|error| refused(&tokenizer_path, error))?;
        tokenizer.with_padding(None);
        let truncation = TruncationParams { max_length: settings.tokens_max, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| refused(&tokenizer_path, error))?;
        let weights_path = folder.join("model.safetensors");
        let bytes = std::fs::read(&weights_path).map_err(|error| refused(&weights_path, error))?;
        let weights = Weights::read(&bytes, precision).map_err(|error| refused(&weights_path, error))?;
        let network = Network::new(&settings, &weights).map_err(|error| refused(&weights_path, error))?;
        // The hash makes other weights or another pooling another model, whatever the folder is called.
        let hash = sha256(&[&bytes, settings.text().as_bytes()]);
        let name = data_encoding::HEXLOWER.encode(&hash[..8]);
        let prefix = match precision {
            Precision::Int8 => IDENTITY_INT8,
            Precision::Float32 => IDENTITY,
        };
        let identity = format!("{prefix}{}:{name}", settings.hidden_size);
        Ok(Self { identity, tokenizer, network, settings })
    }

    /// Returns the precision of the local model with an identity; `None` if it is not that of a local model.
    pub fn precision_of(identity: &str) -> Option<Precision> {
        if identity.starts_with(IDENTITY_INT8) {
            Some(Precision::Int8)
        } else if identity.starts_with(IDENTITY) {
            Some(Precision::Float32)
        } else {
            None
        }
    }

    fn tokens(&self, text: &str) -> Result<Vec<u32>, ModelError> {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        match self.tokenizer.encode_fast(text, true) {
            Ok(encoding) => Ok(encoding.get_ids().to_vec()),
            Err(error) => Err(ModelError::Unusable(error.to_string())),
        }
    }

    /// Embeds the texts of one batch.
    fn embed_batch(
        &self,
        batch: &[usize],
        tokens: &[Vec<u32>],
        deadline: Deadline,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        if deadline.left().is_zero() {
            return Err(ModelError::unavailable("the deadline has passed"));
        }
        let texts: Vec<&[u32]> = batch.iter().map(|position| tokens[*position].as_slice()).collect();
        self.network.vectors(&texts).map_err(|error| ModelError::Unusable(error.to_string()))
    }
}

impl Embedder for LocalEncoder {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn filled_dimensions(&self) -> usize {
        self.settings.hidden_size
    }

    fn embed(&self, texts: &[&str], deadline: Deadline) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut tokens = Vec::with_capacity(texts.len());
        for text in texts {
            tokens.push(self.tokens(text)?);
        }
        let batches = batches_of(&tokens);
        let embedded = batches.par_iter().map(|batch| self.embed_batch(batch, &tokens, deadline));
        let embedded = embedded.collect::<Result<Vec<_>, _>>()?;
        let mut vectors = vec![Vec::new(); texts.len()];
        for (position, mut vector) in batches.into_iter().flatten().zip(embedded.into_iter().flatten()) {
            if !normalise(&mut vector) {
                return Err(ModelError::Unusable("a vector with a number that is not finite".into()));
            }
            vectors[position] = vector;
        }
        Ok(vectors)
    }
}

/// Returns the positions of the texts in batches, the shortest first.
fn batches_of(tokens: &[Vec<u32>]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    order.sort_by_key(|position| tokens[*position].len());
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut batch_tokens = 0;
    for position in order {
        let length = tokens[position].len();
        match batches.last_mut() {
            Some(batch) if batch_tokens + length <= BATCH_TOKENS_MAX => batch.push(position),
            _ => {
                batches.push(vec![position]);
                batch_tokens = 0;
            }
        }
        batch_tokens += length;
    }
    batches
}
