//! What a question asks about claims.

use crate::dates::Millis;

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
    /// The time of the search: the present, or the time as of which the question is asked.
    #[default]
    Present,
    /// A time that the query names, from the first to the last millisecond.
    Named(Millis, Millis),
    /// Before the present value: "used to", "before", "former".
    Former,
}
