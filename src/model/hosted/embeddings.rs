//! `POST /embeddings`.
//!
//! A request asks for `dimensions: 1024`. A server or model that does not support the field refuses it with 400 or 422;
//! this request and all later ones are then sent without it. A shorter vector is padded with zeros, which changes no
//! cosine; a longer one is an error.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use serde_json::{Value, json};

use super::endpoint::Endpoint;
use crate::model::deadline::Deadline;
use crate::model::embedder::Embedder;
use crate::model::embedding::{DIMENSIONS, normalise};
use crate::model::error::ModelError;
use crate::outgoing::CallError;

/// Characters of a text that are sent. Models cut or refuse longer texts.
const TEXT_CHARS_MAX: usize = 8000;

/// An embedding model behind an endpoint.
pub struct HostedEmbedder {
    endpoint: Arc<Endpoint>,
    model: String,
    identity: String,
    /// Whether the server accepts `dimensions`; true until it refuses the field.
    accepts_dimensions: AtomicBool,
}

#[derive(Deserialize)]
struct EmbeddingResponse {
    data: Vec<EmbeddingItem>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl HostedEmbedder {
    /// Returns a client of the model of this name at an endpoint.
    pub fn new(endpoint: Arc<Endpoint>, model: &str) -> Self {
        let identity = format!("{}{}#{model}", Self::IDENTITY, endpoint.url());
        Self { endpoint, model: model.to_owned(), identity, accepts_dimensions: AtomicBool::new(true) }
    }

    /// Prefix of the identity of every hosted model.
    pub const IDENTITY: &str = "hosted:";

    /// Returns the URL and the model's name in an identity; `None` if it is not the identity of a hosted model.
    pub fn read_identity(identity: &str) -> Option<(&str, &str)> {
        identity.strip_prefix(Self::IDENTITY)?.split_once('#')
    }

    /// Returns the endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the name of the model.
    pub fn name(&self) -> &str {
        &self.model
    }

    fn ask(&self, texts: &[&str], deadline: Deadline) -> Result<Value, CallError> {
        let mut body = json!({"model": self.model, "input": texts, "encoding_format": "float"});
        if !self.accepts_dimensions.load(Ordering::Relaxed) {
            return self.endpoint.ask("/embeddings", &body, deadline);
        }
        body["dimensions"] = json!(DIMENSIONS);
        let response = self.endpoint.ask("/embeddings", &body, deadline);
        let Err(CallError::Refused { status: 400 | 422, .. }) = response else { return response };
        if let Some(fields) = body.as_object_mut() {
            fields.remove("dimensions");
        }
        let response = self.endpoint.ask("/embeddings", &body, deadline);
        if response.is_ok() {
            self.accepts_dimensions.store(false, Ordering::Relaxed);
        }
        response
    }
}

impl Embedder for HostedEmbedder {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn filled_dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn embed(&self, texts: &[&str], deadline: Deadline) -> Result<Vec<Vec<f32>>, ModelError> {
        // Most servers refuse an empty input. A text without a word keeps its vector of zeros.
        let mut inputs = Vec::with_capacity(texts.len());
        let mut positions = Vec::with_capacity(texts.len());
        for (position, text) in texts.iter().enumerate() {
            let text = shortened(text);
            if !text.trim().is_empty() {
                inputs.push(text);
                positions.push(position);
            }
        }
        let mut vectors = vec![vec![0.0; DIMENSIONS]; texts.len()];
        if inputs.is_empty() {
            return Ok(vectors);
        }
        let embedded = read_vectors(&self.ask(&inputs, deadline)?, inputs.len())?;
        for (position, vector) in positions.into_iter().zip(embedded) {
            vectors[position] = vector;
        }
        Ok(vectors)
    }
}

/// Returns the first [`TEXT_CHARS_MAX`] characters of a text.
fn shortened(text: &str) -> &str {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Returns the vectors of a response in the order of the texts, each of unit length and padded with zeros.
fn read_vectors(response: &Value, texts: usize) -> Result<Vec<Vec<f32>>, ModelError> {
    let response = EmbeddingResponse::deserialize(response).map_err(|error| ModelError::Unusable(error.to_string()))?;
    if response.data.len() != texts {
        return Err(ModelError::Unusable(format!("{} vectors for {texts} texts", response.data.len())));
    }
    let mut vectors: Vec<Vec<f32>> = vec![Vec::new(); texts];
    for (position, item) in response.data.into_iter().enumerate() {
        let mut vector = item.embedding;
        match vector.len() {
            0 => return Err(ModelError::Unusable("an empty vector".into())),
            found if found > DIMENSIONS => return Err(ModelError::TooLong { found }),
            _ => {}
        }
        if !normalise(&mut vector) {
            return Err(ModelError::Unusable("a vector with a number that is not finite".into()));
        }
        vector.resize(DIMENSIONS, 0.0);
        match vectors.get_mut(item.index.unwrap_or(position)) {
            Some(place) if place.is_empty() => *place = vector,
            _ => return Err(ModelError::Unusable("a wrong or repeated index of a vector".into())),
        }
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(answer: &Value, texts: usize) -> String {
        read_vectors(answer, texts).expect_err("refused").to_string()
    }

    #[test]
    fn vectors_come_in_the_order_of_their_index_at_unit_length() {
        let answer = json!({"data": [{"index": 1, "embedding": [0.0, 2.0]}, {"index": 0, "embedding": [3.0, 4.0]}]});
        let read = read_vectors(&answer, 2).expect("good");
        assert_eq!((read[0][..3].to_vec(), read[1][..3].to_vec()), (vec![0.6, 0.8, 0.0], vec![0.0, 1.0, 0.0]));
        assert_eq!(read[0].len(), DIMENSIONS);
    }

    #[test]
    fn each_unusable_response_is_refused_with_its_reason() {
        let one = |vector: Value| json!({"data": [{"index": 0, "embedding": vector}]});
        assert!(refused(&json!({"data": []}), 1).contains("0 vectors for 1"));
        assert!(refused(&one(json!([])), 1).contains("empty"));
        assert!(refused(&one(json!(vec![0.1; 1536])), 1).contains("1536 dimensions"));
        assert!(refused(&one(json!(["x"])), 1).contains("cannot be used"));
        // A number that JSON cannot represent arrives as null, or as one too large for a float.
        assert!(refused(&one(json!([null, 1.0])), 1).contains("cannot be used"));
        assert!(refused(&one(json!([1e39, 1.0])), 1).contains("not finite"));
        let twice = json!({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]});
        assert!(refused(&twice, 2).contains("repeated index"));
    }

    #[test]
    fn an_identity_holds_the_url_and_the_name() {
        assert_eq!(HostedEmbedder::read_identity("hosted:http://x/v1#a:b#c"), Some(("http://x/v1", "a:b#c")));
        assert_eq!(HostedEmbedder::read_identity("static-table:256:0"), None);
    }
}
