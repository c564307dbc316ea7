//! What a search returns.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::explanation::Explanation;
use crate::index::ValidityState;
use crate::memory::Memory;
use crate::ranking::features::Features;
use crate::reranker::ReadScore;

/// The arms that found a hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arms {
    /// The hit contains terms of the query.
    pub lexical: bool,
    /// One of the hit's cues is near the query's vector.
    pub cue: bool,
    /// The hit is related to one of the best hits.
    pub graph: bool,
}

/// A memory that a query found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The memory.
    pub memory: Memory,
    /// The probability that the memory answers the query.
    pub score: f32,
    /// The arms that found the memory.
    pub arms: Arms,
    /// For a hit of the graph arm alone: the path of the hit that it was reached from.
    pub via: Option<String>,
    /// When the memory holds.
    pub validity: ValidityState,
    /// Paths of memories that say the same and are not hits of their own.
    pub also: Vec<String>,
    /// The features that the score was computed from.
    pub features: Features,
    /// What it was computed from further, if the memory was read.
    pub read: Option<ReadScore>,
    /// What the score was made from, if the query asks for it.
    pub explanation: Option<Box<Explanation>>,
}

/// The hits of a query, and the time that each part of the search took.
#[derive(Clone, Debug, Default)]
pub struct SearchResults {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// Time in the cue arm.
    pub vector_time: Duration,
    /// Time in the lexical arm.
    pub lexical_time: Duration,
    /// Time in expansion, features, ranking and reading.
    pub graph_time: Duration,
    /// Time of the whole search; less than the sum of the parts if the arms ran side by side.
    pub total_time: Duration,
}
