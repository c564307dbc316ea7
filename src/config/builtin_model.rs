//! The built-in embedding model as the value of a setting.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::refusal::Refusal;

/// An embedding model in the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum BuiltInModel {
    /// A table with a vector for each word piece: microseconds for a text, any language a little.
    Table,
    /// An encoder, which reads the words of a text together: milliseconds for a text, English.
    Encoder,
}

impl BuiltInModel {
    /// The model of a new data directory.
    pub const DEFAULT: Self = Self::Encoder;

    /// Returns the model with a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "table" => Some(Self::Table),
            "encoder" => Some(Self::Encoder),
            _ => None,
        }
    }

    /// Returns the name of the model.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Parses the name of a built-in model.
pub(super) fn built_in_model(text: &str) -> Result<BuiltInModel, Refusal> {
    match BuiltInModel::named(text) {
        Some(model) => Ok(model),
        None => Err(Refusal::new(text, "table or encoder")),
    }
}
