//! The precision of a local encoder as the value of a setting.

use super::refusal::Refusal;

/// The precision in which a local encoder computes its linear layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 8-bit integers with a scale for each output and each row: several times as fast, nearly the same vectors.
    Int8,
    /// 32-bit floating-point numbers.
    Float32,
}

/// Parses the name of a precision.
pub(super) fn precision(text: &str) -> Result<Precision, Refusal> {
    match text {
        "int8" => Ok(Precision::Int8),
        "float32" => Ok(Precision::Float32),
        other => Err(Refusal::new(other, "int8 or float32")),
    }
}
