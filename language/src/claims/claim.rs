//! Claims: what a memory says about somebody or something, in a form that can be compared.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A claim: the subject's attribute has, or no longer has, a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The person or thing that the claim is about: `Ana`, `Ana's sister`, `billing service`.
    pub subject: String,
    /// The attribute: a name of the attribute table, or the noun of a general statement.
    pub attribute: String,
    /// The value, as the memory words it.
    pub value: String,
    /// Whether the attribute has the value.
    #[serde(default, skip_serializing_if = "Polarity::is_positive")]
    pub polarity: Polarity,
    /// When the claim began to hold, or when the value ended. Without it, the time of the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
}

/// Whether an attribute has a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Polarity {
    /// The attribute has the value from `from` on.
    #[default]
    Positive,
    /// The attribute no longer has the value from `from` on.
    Negative,
}

impl Polarity {
    fn is_positive(&self) -> bool {
        *self == Self::Positive
    }
}
