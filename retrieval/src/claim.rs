//! Claims of memories, and questions about them.

use serde::{Deserialize, Serialize};

use crate::time::Millis;

/// What a memory claims about a subject's attribute. Names are compared as they are, so the caller folds them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The folded name of the person or thing.
    pub subject: String,
    /// The folded name of the attribute.
    pub attribute: String,
    /// The folded words of the value. Of two values, one may have further words: both are then the same value.
    pub value: String,
    /// What the claim says about the value.
    pub kind: ClaimKind,
    /// When the claim began to hold, or when the value ended. Claims of unknown time come before all others.
    pub from: Option<Millis>,
}

/// What a claim says about a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClaimKind {
    /// The attribute has this value and no other. The claim ends earlier ones with another value.
    #[default]
    Only,
    /// The attribute has this value, perhaps among others. The claim ends no other one.
    Another,
    /// The attribute no longer has this value. The claim ends earlier ones with this value.
    Ended,
}

/// What a search does with memories that no longer hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Currency {
    /// They rank behind the memories that superseded them.
    #[default]
    First,
    /// They are not found.
    Only,
    /// They rank like all others.
    Any,
}
