//! What is recorded: a request with its response, and what a retrieval found.

use std::time::Duration;

/// A request and how it was answered.
#[derive(Clone, Copy, Debug)]
pub struct AnsweredRequest {
    /// The method.
    pub method: &'static str,
    /// The route in the route table.
    pub route: &'static str,
    /// The status of the response.
    pub status: u16,
    /// Time from the end of the request to its response.
    pub took: Duration,
}

/// What a retrieval found.
#[derive(Clone, Copy, Debug)]
pub struct RetrievalQuality {
    /// Score of the best hit; `None` without a hit.
    pub top_score: Option<f32>,
    /// Whether a hit is admitted.
    pub is_admitted: bool,
}
