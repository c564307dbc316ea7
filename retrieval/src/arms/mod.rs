//! The arms: the independent ways in which a query finds memories.
//!
//! [`lexical`] finds memories by their words, [`cue`] by the cosine of their cues' vectors, and [`graph`] by a relation
//! to a hit of the other two. Every arm applies the filter's bitmap itself, so a filter never leaves an arm with too
//! few results. If the query names a [`time`], the lexical and the cue arm also search the memories of that time
//! separately. [`soft`] finds nothing by itself: it compares the words of what was found by their vectors.

mod bm25;
pub(crate) mod cue;
pub(crate) mod graph;
pub(crate) mod lexical;
pub(crate) mod soft;
pub(crate) mod time;
