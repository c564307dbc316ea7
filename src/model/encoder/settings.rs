//! What a model's files say about it.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::model::{DIMENSIONS, ModelError};

/// Where a model that says nothing of it cuts a text, in tokens.
const TOKENS_MAX_DEFAULT: usize = 512;

/// Everything about a model but its weights.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) hidden_size: usize,
    pub(super) norm_epsilon: f64,
    pub(super) activation: Activation,
    /// The position of the first token.
    pub(super) first_position: usize,
    /// A text is cut after so many tokens.
    pub(super) tokens_max: usize,
    pub(super) pooling: Pooling,
}

/// How the tokens' vectors become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    /// The first token's.
    First,
    /// Their mean.
    Mean,
    /// The greatest value in each dimension.
    Max,
}

/// The function between the two halves of a layer's second part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activation {
    /// x Φ(x).
    Gelu,
    /// The same, by its approximation with tanh.
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
    #[serde(default = "usual_epsilon")]
    layer_norm_eps: f64,
    #[serde(default = "usual_activation")]
    hidden_act: String,
    #[serde(default)]
    max_position_embeddings: Option<usize>,
    #[serde(default)]
    pad_token_id: Option<usize>,
    #[serde(default)]
    position_embedding_type: Option<String>,
}

fn usual_epsilon() -> f64 {
    1e-12
}

fn usual_activation() -> String {
    "gelu".into()
}

#[derive(Deserialize)]
struct Module {
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

impl Settings {
    pub(super) fn read(folder: &Path) -> Result<Self, ModelError> {
        let refused =
            |file: &str, what: String| ModelError::Unknown(format!("{}: {what}", folder.join(file).display()));
        let config: ConfigFile = read(folder, "config.json")?.ok_or_else(|| {
            refused("config.json", "there is no such file: model.local names a model's folder".into())
        })?;
        let robust = match config.model_type.as_str() {
            "bert" => false,
            "roberta" | "xlm-roberta" | "camembert" => true,
            other => {
                let known = "bert, roberta, xlm-roberta, camembert";
                return Err(refused("config.json", format!("model_type {other:?} is none of {known}")));
            }
        };
        if config.position_embedding_type.as_deref().is_some_and(|kind| kind != "absolute") {
            return Err(refused("config.json", "position_embedding_type must be absolute".into()));
        }
        let activation = match config.hidden_act.as_str() {
            "gelu" => Activation::Gelu,
            "gelu_new" | "gelu_pytorch_tanh" => Activation::GeluTanh,
            "relu" => Activation::Relu,
            other => return Err(refused("config.json", format!("hidden_act {other:?} is not known"))),
        };
        let (heads, hidden_size) = (config.num_attention_heads, config.hidden_size);
        if heads == 0 || hidden_size == 0 || !hidden_size.is_multiple_of(heads) {
            return Err(refused("config.json", "hidden_size must be a multiple of num_attention_heads".into()));
        }
        if hidden_size > DIMENSIONS {
            return Err(refused("config.json", format!("hidden_size {hidden_size} is above {DIMENSIONS}")));
        }
        // These count positions from the one after the padding's.
        let first_position = if robust { config.pad_token_id.unwrap_or(1) + 1 } else { 0 };
        let positions = config.max_position_embeddings.unwrap_or(TOKENS_MAX_DEFAULT).saturating_sub(first_position);
        let length: Option<LengthFile> = read(folder, "sentence_bert_config.json")?;
        let tokens_max = length.and_then(|file| file.max_seq_length).unwrap_or(positions).min(positions);
        if tokens_max < 3 {
            return Err(refused("config.json", "there is room for fewer than three tokens".into()));
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

    /// A text that changes with whatever changes the vectors.
    pub(super) fn text(&self) -> String {
        format!("{self:?}")
    }
}

/// The pooling that the files ask for; the mean where they are silent.
fn pooling(folder: &Path) -> Result<Pooling, ModelError> {
    let modules: Vec<Module> = read(folder, "modules.json")?.unwrap_or_default();
    let mut file = "1_Pooling/config.json".to_owned();
    for module in &modules {
        match module.kind.rsplit('.').next().unwrap_or_default() {
            // Every vector is brought to unit length, whether the files ask for it or not.
            "Transformer" | "Normalize" => {}
            "Pooling" => file = format!("{}/config.json", module.path),
            other => {
                let what =
                    format!("{}: a module of type {other:?} is not known", folder.join("modules.json").display());
                return Err(ModelError::Unknown(what));
            }
        }
    }
    let Some(modes) = read::<PoolingFile>(folder, &file)? else { return Ok(Pooling::Mean) };
    match (modes.pooling_mode_cls_token, modes.pooling_mode_mean_tokens, modes.pooling_mode_max_tokens) {
        (true, false, false) => Ok(Pooling::First),
        (false, true, false) => Ok(Pooling::Mean),
        (false, false, true) => Ok(Pooling::Max),
        _ => {
            let what = "exactly one of cls, mean and max pooling is taken";
            Err(ModelError::Unknown(format!("{}: {what}", folder.join(file).display())))
        }
    }
}

/// A JSON file of the folder; none where there is no such file.
fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Option<T>, ModelError> {
    let path = folder.join(name);
    let refused = |error: &dyn std::fmt::Display| ModelError::Unknown(format!("{}: {error}", path.display()));
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| refused(&error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(refused(&error)),
    }
}
