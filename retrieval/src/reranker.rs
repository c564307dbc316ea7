//! A model that reads memories together with the query, which is slower than everything before it and knows more.

use std::fmt;

use crate::memory::Memory;

/// Reads the best candidates of a query.
pub trait Reranker: fmt::Debug + Sync {
    /// Reads a memory. `None` ends the reading: the other candidates keep their scores.
    fn read(&self, memory: &Memory) -> Option<Judgement>;
}

/// What the score of a memory was made from that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadScore {
    /// The log-odds of the score before.
    pub before: f64,
    /// The log-odds of the reader.
    pub reader: f64,
    /// Whether only parts of the memory were read.
    pub is_in_parts: bool,
}

/// What the reading of a memory says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The log-odds that the memory answers the query, as far as its text says.
    pub log_odds: f64,
    /// Whether only parts of the memory were read, because it is long.
    pub is_in_parts: bool,
    /// Whether the memory has exactly what the query asks for, such as a number or a name. The reading does not lower its
    /// score.
    pub is_exact: bool,
}
