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

/// The claims that a query asks for: those of any of the subjects about any of the attributes. Names are folded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedClaims {
    /// Names that the query contains.
    pub subjects: Vec<String>,
    /// Attributes that the query may be about.
    pub attributes: Vec<String>,
    /// The time for which the query asks.
    pub period: AskedPeriod,
    /// What the query asks for.
    pub kind: AskedKind,
}

impl AskedClaims {
    /// Asks for no claims.
    pub const NONE: &'static Self =
        &Self { subjects: Vec::new(), attributes: Vec::new(), period: AskedPeriod::Present, kind: AskedKind::Anything };
}

/// What a query asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskedKind {
    /// Anything: of several memories that answer equally well, none is better for its time.
    #[default]
    Anything,
    /// How something is, or was at a time: the latest of several answers up to then is the best.
    State,
    /// Whether something still is so: a memory that says that it ended answers as well.
    Continuation,
}

/// The time for which a query asks about claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskedPeriod {
    /// The time of the search: the present, or [`Query::as_of`](crate::Query::as_of).
    #[default]
    Present,
    /// A time that the query names, from the first to the last millisecond.
    Named(Millis, Millis),
    /// Before the present value: "used to", "before", "former".
    Former,
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
