//! The arms: three ways in which a query reaches a memory.
//!
//! [`lexical`] by its words, [`cue`] by the nearness of its cues' vectors, [`graph`] by a relation to what the other two
//! found. Each sees the filter's bitmap, so that a filter never leaves an arm with too few results.

pub(crate) mod cue;
pub(crate) mod graph;
pub(crate) mod lexical;
