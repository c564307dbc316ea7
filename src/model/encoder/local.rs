//! An encoder from a folder, with the usual files of a published model.

use std::path::Path;

use tokenizers::{Tokenizer, TruncationParams};

use super::batches::embed_tokens;
use super::embeddings::Embeddings;
use super::network::Network;
use super::settings::{EncoderSettings, refused};
use super::tokens::Tokens;
use super::weights::Weights;
use crate::config::Precision;
use crate::model::deadline::Deadline;
use crate::model::embedder::Embedder;
use crate::model::error::ModelError;
use crate::sha256::sha256;

/// Maximum length of a text in bytes. The rest of a longer text is ignored.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// Prefix of the identity of a local model in single precision.
const IDENTITY: &str = "local:";
/// Prefix of the identity of a local model in 8 bits.
const IDENTITY_INT8: &str = "local-int8:";

/// An encoder from a folder.
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
        let words = weights.words(settings.hidden_size).map_err(|error| refused(&weights_path, error))?;
        let embeddings = Embeddings::new(&settings, &weights, words).map_err(|error| refused(&weights_path, error))?;
        let network = Network::new(&settings, &weights, embeddings).map_err(|error| refused(&weights_path, error))?;
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

    fn tokens(&self, text: &str) -> Result<Tokens, ModelError> {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        match self.tokenizer.encode_fast(text, true) {
            Ok(encoding) => Ok(Tokens::of_text(encoding.get_ids().to_vec())),
            Err(error) => Err(ModelError::Unusable(error.to_string())),
        }
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
        embed_tokens(&self.network, &tokens, deadline)
    }
}
