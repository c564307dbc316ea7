//! A BERT-family encoder from a folder, run in process.
//!
//! The folder is what such models are published as: `config.json`, `tokenizer.json`, `model.safetensors`, and, where
//! there are any, `modules.json`, `1_Pooling/config.json` and `sentence_bert_config.json`, which say how the vectors of
//! tokens become one. [`settings`] reads them, [`network`] is the arithmetic, [`linear`] and [`activation`] what of it
//! needs care to be fast.

mod activation;
mod linear;
mod network;
mod settings;

use std::path::Path;

use aws_lc_rs::digest;
use candle_core::Device;
use rayon::prelude::*;
use tokenizers::{Tokenizer, TruncationParams};

use self::network::Network;
use self::settings::Settings;
use super::{Deadline, Embedder, ModelError, normalise};

/// Tokens that go through the network together: enough to keep the multiplications busy, few enough for the cache.
const TOKENS_AT_ONCE: usize = 512;
/// Bytes of a text that are looked at.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// What the identity of every local model begins with.
const IDENTITY: &str = "local:";

/// An encoder, loaded.
pub struct LocalEncoder {
    identity: String,
    tokenizer: Tokenizer,
    network: Network,
    settings: Settings,
}

impl LocalEncoder {
    /// Loads the model in a folder. Says which file is missing or of a kind that is not known.
    pub fn load(folder: &Path) -> Result<Self, ModelError> {
        let unknown = |file: &str, error: &dyn std::fmt::Display| {
            ModelError::Unknown(format!("{}: {error}", folder.join(file).display()))
        };
        let settings = Settings::read(folder)?;
        let mut tokenizer =
            Tokenizer::from_file(folder.join("tokenizer.json")).map_err(|error| unknown("tokenizer.json", &error))?;
        tokenizer.with_padding(None);
        let truncation = TruncationParams { max_length: settings.tokens_max, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| unknown("tokenizer.json", &error))?;
        let weights = "model.safetensors";
        let bytes = std::fs::read(folder.join(weights)).map_err(|error| unknown(weights, &error))?;
        let tensors = candle_core::safetensors::load_buffer(&bytes, &Device::Cpu);
        let tensors = tensors.map_err(|error| unknown(weights, &error))?;
        let network = Network::new(&settings, &tensors).map_err(|error| unknown(weights, &error))?;
        // Other weights or another way to pool are another model, whatever the folder is called.
        let mut hash = digest::Context::new(&digest::SHA256);
        hash.update(&bytes);
        hash.update(settings.text().as_bytes());
        let hash = hash.finish();
        let name = data_encoding::HEXLOWER.encode(&hash.as_ref()[..8]);
        let identity = format!("{IDENTITY}{}:{name}", settings.hidden_size);
        Ok(Self { identity, tokenizer, network, settings })
    }

    /// Whether an identity is a local model's.
    pub fn is_identity(identity: &str) -> bool {
        identity.starts_with(IDENTITY)
    }

    fn tokens(&self, text: &str) -> Result<Vec<u32>, ModelError> {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        let encoding = self.tokenizer.encode_fast(text, true);
        Ok(encoding.map_err(|error| ModelError::Unusable(error.to_string()))?.get_ids().to_vec())
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
        let tokens = texts.iter().map(|text| self.tokens(text)).collect::<Result<Vec<_>, _>>()?;
        // Texts of one length lie together: they go through attention as one.
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|place| tokens[*place].len());
        let mut batches: Vec<Vec<usize>> = Vec::new();
        let mut held = 0;
        for place in order {
            let length = tokens[place].len();
            match batches.last_mut() {
                Some(batch) if held + length <= TOKENS_AT_ONCE => batch.push(place),
                _ => {
                    batches.push(vec![place]);
                    held = 0;
                }
            }
            held += length;
        }
        let made = batches.par_iter().map(|batch| {
            if deadline.left().is_zero() {
                return Err(ModelError::unavailable("no time is left"));
            }
            let tokens: Vec<&[u32]> = batch.iter().map(|place| tokens[*place].as_slice()).collect();
            self.network.vectors(&tokens).map_err(|error| ModelError::Unusable(error.to_string()))
        });
        let made = made.collect::<Result<Vec<_>, _>>()?;
        let mut vectors = vec![Vec::new(); texts.len()];
        for (place, mut vector) in batches.into_iter().flatten().zip(made.into_iter().flatten()) {
            if !normalise(&mut vector) {
                return Err(ModelError::Unusable("a vector with a number that is not finite".into()));
            }
            vectors[place] = vector;
        }
        Ok(vectors)
    }
}
