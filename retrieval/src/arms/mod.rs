//! The arms: the ways in which a query reaches a memory.
//!
//! [`lexical`] by its words, [`cue`] by the nearness of its cues' vectors, and [`graph`] by a relation to what the other
//! two found. Each sees the filter's bitmap, so that a filter never leaves an arm with too few results. Where the query
//! names a [`time`], both look among the memories of that time once more. [`soft`] finds nothing itself: it compares words
//! by their vectors in what was found.
//!
//! The lexical and the cue arm keep the [`best`] of what they score. The cue arm compares a [`row`] a cue; which of them,
//! a [`scan`] of their [`sketch`]es tells, of which it keeps the [`nearest`].

pub(crate) mod best;
pub(crate) mod cue;
pub(crate) mod graph;
pub(crate) mod lexical;
mod nearest;
mod row;
mod scan;
pub(crate) mod sketch;
pub(crate) mod soft;
pub(crate) mod time;
