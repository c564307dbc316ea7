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
    /// The encoder, and a reader that reads the best candidates of a query together with it: some tens of milliseconds for a
    /// query.
    Reader,
}

impl BuiltInModel {
    /// The model of a new data directory.
    pub const DEFAULT: Self = Self::Reader;

    /// Returns the model with a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "table" => Some(Self::Table),
            "encoder" => Some(Self::Encoder),
            "reader" => Some(Self::Reader),
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
        None => Err(Refusal::new(text, "table, encoder or reader")),
    }
}
