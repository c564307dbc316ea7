//! The built-in embedding model as the value of a setting.

use super::refusal::Refusal;

/// An embedding model in the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInModel {
    /// A table with a vector for each word piece: microseconds for a text, any language a little.
    Table,
    /// An encoder, which reads the words of a text together: milliseconds for a text, English.
    Encoder,
}

/// Parses the name of a built-in model.
pub(super) fn built_in_model(text: &str) -> Result<BuiltInModel, Refusal> {
    match text {
        "table" => Ok(BuiltInModel::Table),
        "encoder" => Ok(BuiltInModel::Encoder),
        other => Err(Refusal::new(other, "table or encoder")),
    }
}
