//! The arms: the ways in which a query reaches a memory.
//!
//! [`lexical`] by its words, [`cue`] by the nearness of its cues' vectors, with [`sketch`] for a first look and
//! [`nearest`] to choose by it, and [`graph`] by a relation to what the other two found. Each sees the filter's bitmap,
//! so that a filter never leaves an arm with too few results. [`soft`] finds nothing itself: it compares words by their
//! vectors in what was found.

pub(crate) mod cue;
pub(crate) mod graph;
pub(crate) mod lexical;
mod nearest;
pub(crate) mod sketch;
pub(crate) mod soft;
