//! The settings of an encoder, read from the files of its folder.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::model::embedding::DIMENSIONS;
use crate::model::error::ModelError;

/// Maximum number of tokens of a text, if the model defines none.
const TOKENS_MAX_DEFAULT: usize = 512;

/// The main file of a model.
const CONFIG: &str = "config.json";
/// The file that lists the modules of a model.
const MODULES: &str = "modules.json";
/// Minimum number of tokens of a text: start, one token, end.
const TOKENS_MIN: usize = 3;

/// The settings of an encoder.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EncoderSettings {
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) hidden_size: usize,
    pub(super) norm_epsilon: f64,
    pub(super) activation: Activation,
    /// Position of the first token.
    pub(super) first_position: usize,
    /// Maximum number of tokens of a text; the rest is cut off.
    pub(super) tokens_max: usize,
    pub(super) pooling: Pooling,
}

/// How the vectors of the tokens are pooled to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    /// The vector of the first token.
    First,
    /// The mean.
    Mean,
    /// The maximum of each dimension.
    Max,
}

/// The activation function in the feed-forward part of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activation {
    /// x Φ(x).
    Gelu,
    /// GELU approximated with tanh.
    GeluTanh,
    /// max(x, 0).
    Relu,
}

#[derive(Deserialize)]
struct ConfigFile {
    model_type: String,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    hidden_size: usize,
    #[serde(default = "default_epsilon")]
    layer_norm_eps: f64,
    #[serde(default = "default_activation")]
    hidden_act: String,
    #[serde(default)]
    max_position_embeddings: Option<usize>,
    #[serde(default)]
    pad_token_id: Option<usize>,
    #[serde(default)]
    position_embedding_type: Option<String>,
}

fn default_epsilon() -> f64 {
    1e-12
}

fn default_activation() -> String {
    "gelu".into()
}

#[derive(Deserialize)]
struct ModelModule {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct PoolingFile {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
    #[serde(default)]
    pooling_mode_max_tokens: bool,
}

#[derive(Deserialize)]
struct LengthFile {
    #[serde(default)]
    max_seq_length: Option<usize>,
}

impl EncoderSettings {
    /// Reads the settings of the model in a folder.
    pub(super) fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join(CONFIG);
        let Some(config) = read::<ConfigFile>(folder, CONFIG)? else {
            return Err(refused(&path, "no such file: model.local must be the folder of a model"));
        };
        let first_position = first_position(&config, &path)?;
        if let Some(kind) = &config.position_embedding_type
            && kind != "absolute"
        {
            return Err(refused(&path, "position_embedding_type must be absolute"));
        }
        let activation = activation(&config, &path)?;
        let (heads, hidden_size) = (config.num_attention_heads, config.hidden_size);
        if heads == 0 || hidden_size == 0 || !hidden_size.is_multiple_of(heads) {
            return Err(refused(&path, "hidden_size must be a multiple of num_attention_heads"));
        }
        if hidden_size > DIMENSIONS {
            return Err(refused(&path, format!("hidden_size {hidden_size} is above {DIMENSIONS}")));
        }
        let positions = config.max_position_embeddings.unwrap_or(TOKENS_MAX_DEFAULT).saturating_sub(first_position);
        let mut tokens_max = positions;
        if let Some(file) = read::<LengthFile>(folder, "sentence_bert_config.json")?
            && let Some(length) = file.max_seq_length
        {
            tokens_max = positions.min(length);
        }
        if tokens_max < TOKENS_MIN {
            return Err(refused(&path, format!("a text must have room for {TOKENS_MIN} tokens, not {tokens_max}")));
        }
        Ok(Self {
            layers: config.num_hidden_layers,
            heads,
            hidden_size,
            norm_epsilon: config.layer_norm_eps,
            activation,
            first_position,
            tokens_max,
            pooling: pooling(folder)?,
        })
    }

    /// Returns a text that differs whenever the settings change the vectors.
    pub(super) fn text(&self) -> String {
        // The identity of a model includes a hash of this text, so its form must not change.
        format!("{self:?}").replacen("EncoderSettings", "Settings", 1)
    }
}

/// Returns the position of the first token. The RoBERTa family counts positions from the one after the padding's.
fn first_position(config: &ConfigFile, path: &Path) -> Result<usize, ModelError> {
    match config.model_type.as_str() {
        "bert" => Ok(0),
        "roberta" | "xlm-roberta" | "camembert" => Ok(config.pad_token_id.unwrap_or(1) + 1),
        other => {
            let known = "bert, roberta, xlm-roberta, camembert";
            Err(refused(path, format!("model_type {other:?} is not supported: expected one of {known}")))
        }
    }
}

fn activation(config: &ConfigFile, path: &Path) -> Result<Activation, ModelError> {
    match config.hidden_act.as_str() {
        "gelu" => Ok(Activation::Gelu),
        "gelu_new" | "gelu_pytorch_tanh" => Ok(Activation::GeluTanh),
        "relu" => Ok(Activation::Relu),
        other => {
            let known = "gelu, gelu_new, gelu_pytorch_tanh, relu";
            Err(refused(path, format!("hidden_act {other:?} is not supported: expected one of {known}")))
        }
    }
}

/// Returns the pooling that the files define; the mean if they define none.
fn pooling(folder: &Path) -> Result<Pooling, ModelError> {
    let modules: Vec<ModelModule> = read(folder, MODULES)?.unwrap_or_default();
    let mut file = "1_Pooling/config.json".to_owned();
    for module in &modules {
        match module.kind.rsplit('.').next() {
            // Every vector is scaled to unit length, with or without a module that does so.
            Some("Transformer" | "Normalize") => {}
            Some("Pooling") => file = format!("{}/config.json", module.path),
            other => {
                let kind = other.unwrap_or("");
                return Err(refused(&folder.join(MODULES), format!("a module of type {kind:?} is not supported")));
            }
        }
    }
    let Some(modes) = read::<PoolingFile>(folder, &file)? else { return Ok(Pooling::Mean) };
    match (modes.pooling_mode_cls_token, modes.pooling_mode_mean_tokens, modes.pooling_mode_max_tokens) {
        (true, false, false) => Ok(Pooling::First),
        (false, true, false) => Ok(Pooling::Mean),
        (false, false, true) => Ok(Pooling::Max),
        _ => Err(refused(&folder.join(file), "exactly one of cls, mean and max pooling is required")),
    }
}

/// Reads a JSON file of the folder; `None` if it does not exist.
fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Option<T>, ModelError> {
    let path = folder.join(name);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(&path, error)),
    };
    match serde_json::from_slice(&bytes) {
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(refused(&path, error)),
    }
}

/// Returns the error for a file that is missing or not supported.
pub(super) fn refused(path: &Path, problem: impl std::fmt::Display) -> ModelError {
    ModelError::Unknown(format!("{}: {problem}", path.display()))
}
