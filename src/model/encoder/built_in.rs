//! The encoder in the binary: all-MiniLM-L6-v2 in 8 bits.
//!
//! `model/encoder/make_encoder.py` makes the file: the tensors of the published model in the safetensors format. The
//! matrices have 8-bit integers and a scale for each row. The word pieces are those of the built-in table, which was made
//! from the same model.

use std::sync::OnceLock;

use cuebase_retrieval::ENCODER_IDENTITY;
use safetensors::SafeTensors;

use super::batches::embed_tokens;
use super::embeddings::Embeddings;
use super::network::Network;
use super::settings::{Activation, EncoderSettings, Pooling};
use super::tokens::Tokens;
use super::weights::{Weights, WeightsError};
use crate::config::Precision;
use crate::model::deadline::Deadline;
use crate::model::embedder::Embedder;
use crate::model::error::ModelError;
use crate::model::static_table::StaticTable;

/// The file in the binary.
pub(super) static ENCODER_FILE: &[u8] = include_bytes!("../../../model/encoder/encoder.safetensors");

/// Maximum number of tokens of a text, with the first and the last; the rest is cut off.
const TOKENS_MAX: usize = 256;
/// Dimensions of a vector.
const HIDDEN_SIZE: usize = 384;
/// The settings of the network.
pub(super) const SETTINGS: EncoderSettings = EncoderSettings {
    layers: 6,
    heads: 12,
    hidden_size: HIDDEN_SIZE,
    norm_epsilon: 1e-12,
    activation: Activation::Gelu,
    first_position: 0,
    tokens_max: TOKENS_MAX,
    pooling: Pooling::Mean,
};

/// Key of the checksum of all tensors in the head of the file.
const CHECKSUM: &str = "sha256";

/// The built-in encoder.
pub struct BuiltInEncoder {
    identity: String,
    table: &'static StaticTable,
    /// Packed at the first use, which takes some milliseconds.
    network: OnceLock<Result<Network, String>>,
}

impl BuiltInEncoder {
    /// Returns the encoder in the binary, opened at the first use.
    pub fn get() -> Result<&'static Self, ModelError> {
        static OPENED: OnceLock<Result<BuiltInEncoder, ModelError>> = OnceLock::new();
        OPENED.get_or_init(Self::open).as_ref().map_err(ModelError::clone)
    }

    /// Packs the network on another thread, so that its first use does not wait.
    pub fn pack_in_background(&'static self) {
        // If no thread can be started, the first use packs it.
        let _ = std::thread::Builder::new().name("encoder".into()).spawn(|| drop(self.network()));
    }

    fn open() -> Result<Self, ModelError> {
        let (_, head) = SafeTensors::read_metadata(ENCODER_FILE).map_err(damaged)?;
        let Some(checksum) = head.metadata().as_ref().and_then(|values| values.get(CHECKSUM)) else {
            return Err(damaged("the file has no checksum"));
        };
        let table = StaticTable::built_in().map_err(damaged)?;
        // The checksum makes another file another model. A test holds that it is that of the tensors.
        let identity = format!("{ENCODER_IDENTITY}{HIDDEN_SIZE}:{}", checksum.get(..16).unwrap_or(checksum));
        Ok(Self { identity, table, network: OnceLock::new() })
    }

    fn network(&self) -> Result<&Network, ModelError> {
        self.network.get_or_init(|| read_network().map_err(|error| error.to_string())).as_ref().map_err(damaged)
    }

    /// Returns the tokens of a text, with the first and the last.
    fn tokens(&self, text: &str) -> Tokens {
        Tokens::text(&self.table.ids(text), TOKENS_MAX - 2)
    }
}

fn read_network() -> Result<Network, WeightsError> {
    let weights = Weights::read(ENCODER_FILE, Precision::Int8)?;
    let words = weights.quantised_words(HIDDEN_SIZE)?;
    let embeddings = Embeddings::new(&SETTINGS, &weights, words)?;
    Network::new(&SETTINGS, &weights, embeddings)
}

/// Returns the error for a file in the binary that cannot be used.
pub(super) fn damaged(problem: impl std::fmt::Display) -> ModelError {
    ModelError::Unknown(format!("built-in model: {problem}"))
}

impl Embedder for BuiltInEncoder {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn filled_dimensions(&self) -> usize {
        HIDDEN_SIZE
    }

    fn is_deferred(&self) -> bool {
        true
    }

    fn embed(&self, texts: &[&str], deadline: Deadline) -> Result<Vec<Vec<f32>>, ModelError> {
        let tokens: Vec<Tokens> = texts.iter().map(|text| self.tokens(text)).collect();
        embed_tokens(self.network()?, &tokens, deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_meaning_are_near() {
        let encoder = BuiltInEncoder::get().expect("opens");
        let texts = ["which firm pays her", "she joined Stripe in May", "the kettle leaks", ""];
        let vectors = encoder.embed(&texts, Deadline::urgent(std::time::Duration::from_secs(60))).expect("vectors");
        let cosine = |a: usize, b: usize| vectors[a].iter().zip(&vectors[b]).map(|(x, y)| x * y).sum::<f32>();
        assert!(cosine(0, 1) > cosine(0, 2) + 0.1, "{} {}", cosine(0, 1), cosine(0, 2));
        assert!((cosine(3, 3) - 1.0).abs() < 1e-3);
    }
}
