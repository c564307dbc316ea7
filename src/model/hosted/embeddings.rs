//! `POST /embeddings`.
//!
//! Vectors are asked for with `dimensions: 1024`. Servers that know no such field, or models that cannot do it, refuse
//! with 400 or 422; they are asked again without it, and not asked for it any more. A vector that comes back shorter is
//! filled up with zeros, which changes no cosine; a longer one is an error.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use serde_json::{Value, json};

use super::Endpoint;
use crate::model::{DIMENSIONS, Deadline, Embedder, ModelError, normalise};
use crate::outgoing::CallError;

/// Characters of a text that are sent: beyond that models cut it anyway, or refuse it.
const TEXT_CHARS_MAX: usize = 8000;

/// An embedding model behind an endpoint.
pub struct HostedEmbedder {
    endpoint: Arc<Endpoint>,
    model: String,
    identity: String,
    /// Whether the server takes `dimensions`; until it refuses it is believed to.
    takes_dimensions: AtomicBool,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Datum>,
}

#[derive(Deserialize)]
struct Datum {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl HostedEmbedder {
    /// A model by its name at an endpoint.
    pub fn new(endpoint: Arc<Endpoint>, model: &str) -> Self {
        let identity = format!("{}{}#{model}", Self::IDENTITY, endpoint.url());
        Self { endpoint, model: model.to_owned(), identity, takes_dimensions: AtomicBool::new(true) }
    }

    /// What the identity of every hosted model begins with.
    pub const IDENTITY: &str = "hosted:";

    /// The URL and the model's name that an identity stands for, where it is a hosted model's.
    pub fn read_identity(identity: &str) -> Option<(&str, &str)> {
        identity.strip_prefix(Self::IDENTITY)?.split_once('#')
    }

    /// Where it is.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.model
    }

    fn ask(&self, texts: &[&str], deadline: Deadline) -> Result<Value, CallError> {
        let mut body = json!({"model": self.model, "input": texts, "encoding_format": "float"});
        if !self.takes_dimensions.load(Ordering::Relaxed) {
            return self.endpoint.ask("/embeddings", &body, deadline);
        }
        body["dimensions"] = json!(DIMENSIONS);
        let asked = self.endpoint.ask("/embeddings", &body, deadline);
        let Err(CallError::Refused { status: 400 | 422, .. }) = asked else { return asked };
        if let Some(fields) = body.as_object_mut() {
            fields.remove("dimensions");
        }
        let plain = self.endpoint.ask("/embeddings", &body, deadline);
        if plain.is_ok() {
            self.takes_dimensions.store(false, Ordering::Relaxed);
        }
        plain
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
        let cut = |text: &&str| text.char_indices().nth(TEXT_CHARS_MAX).map_or(text.len(), |(at, _)| at);
        // An empty input is refused by most; a text without a word has no vector.
        let asked: Vec<(usize, &str)> = texts.iter().map(|text| &text[..cut(text)]).enumerate().collect();
        let asked: Vec<(usize, &str)> = asked.into_iter().filter(|(_, text)| !text.trim().is_empty()).collect();
        let mut vectors = vec![vec![0.0; DIMENSIONS]; texts.len()];
        if asked.is_empty() {
            return Ok(vectors);
        }
        let inputs: Vec<&str> = asked.iter().map(|(_, text)| *text).collect();
        let answer = read(&self.ask(&inputs, deadline)?, inputs.len())?;
        for ((place, _), vector) in asked.into_iter().zip(answer) {
            vectors[place] = vector;
        }
        Ok(vectors)
    }
}

/// The vectors of an answer, in the order of the texts, each of unit length and filled up with zeros.
fn read(answer: &Value, texts: usize) -> Result<Vec<Vec<f32>>, ModelError> {
    let unusable = |what: String| ModelError::Unusable(what);
    let answer = Answer::deserialize(answer).map_err(|error| unusable(error.to_string()))?;
    if answer.data.len() != texts {
        return Err(unusable(format!("{} vectors for {texts} texts", answer.data.len())));
    }
    let mut vectors: Vec<Vec<f32>> = vec![Vec::new(); texts];
    for (place, datum) in answer.data.into_iter().enumerate() {
        let mut vector = datum.embedding;
        match vector.len() {
            0 => return Err(unusable("an empty vector".into())),
            found if found > DIMENSIONS => return Err(ModelError::TooLong { found }),
            _ => {}
        }
        if !normalise(&mut vector) {
            return Err(unusable("a vector with a number that is not finite".into()));
        }
        vector.resize(DIMENSIONS, 0.0);
        let slot = vectors.get_mut(datum.index.unwrap_or(place)).filter(|slot| slot.is_empty());
        *slot.ok_or_else(|| unusable("its vectors are numbered wrongly".into()))? = vector;
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(answer: &Value, texts: usize) -> String {
        read(answer, texts).expect_err("refused").to_string()
    }

    #[test]
    fn vectors_come_in_the_order_of_their_index_at_unit_length() {
        let answer = json!({"data": [{"index": 1, "embedding": [0.0, 2.0]}, {"index": 0, "embedding": [3.0, 4.0]}]});
        let read = read(&answer, 2).expect("good");
        assert_eq!((read[0][..3].to_vec(), read[1][..3].to_vec()), (vec![0.6, 0.8, 0.0], vec![0.0, 1.0, 0.0]));
        assert_eq!(read[0].len(), DIMENSIONS);
    }

    #[test]
    fn nonsense_is_told_apart_and_refused() {
        let one = |vector: Value| json!({"data": [{"index": 0, "embedding": vector}]});
        assert!(refused(&json!({"data": []}), 1).contains("0 vectors for 1"));
        assert!(refused(&one(json!([])), 1).contains("empty"));
        assert!(refused(&one(json!(vec![0.1; 1536])), 1).contains("1536 dimensions"));
        assert!(refused(&one(json!(["x"])), 1).contains("cannot be used"));
        // What JSON has no number for comes as null, or too large for a float.
        assert!(refused(&one(json!([null, 1.0])), 1).contains("cannot be used"));
        assert!(refused(&one(json!([1e39, 1.0])), 1).contains("not finite"));
        let twice = json!({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]});
        assert!(refused(&twice, 2).contains("numbered wrongly"));
    }

    #[test]
    fn an_identity_tells_where_the_model_is() {
        assert_eq!(HostedEmbedder::read_identity("hosted:http://x/v1#a:b#c"), Some(("http://x/v1", "a:b#c")));
        assert_eq!(HostedEmbedder::read_identity("static-table:256:0"), None);
    }
}
