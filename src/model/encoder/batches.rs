//! Texts in batches: the shortest first, so that those of a batch have about the same length.
//!
//! Batches of a call that a user waits for are computed in parallel. Background work takes one processor, and leaves the
//! others to such calls.

use rayon::prelude::*;

use super::network::Network;
use super::tokens::Tokens;
use crate::model::deadline::Deadline;
use crate::model::embedding::normalise;
use crate::model::error::ModelError;

/// Maximum number of tokens in a batch: enough to use the multiplications well, few enough for the processor's cache.
const BATCH_TOKENS_MAX: usize = 256;

/// Returns a vector of unit length for each text, which is given as tokens.
///
/// # Errors
///
/// [`ModelError::Unavailable`] after the deadline, and [`ModelError::Unusable`] if the weights have no vector for a token.
pub(super) fn embed_tokens(
    network: &Network,
    texts: &[Tokens],
    deadline: Deadline,
) -> Result<Vec<Vec<f32>>, ModelError> {
    let batches = batches_of(texts);
    let embedded: Result<Vec<_>, _> = if deadline.urgent {
        batches.par_iter().map(|batch| embed_batch(network, batch, texts, deadline)).collect()
    } else {
        batches.iter().map(|batch| embed_batch(network, batch, texts, deadline)).collect()
    };
    let mut vectors = vec![Vec::new(); texts.len()];
    for (position, mut vector) in batches.into_iter().flatten().zip(embedded?.into_iter().flatten()) {
        if !normalise(&mut vector) {
            return Err(ModelError::Unusable("a vector with a number that is not finite".into()));
        }
        vectors[position] = vector;
    }
    Ok(vectors)
}

/// Computes the vectors of one batch.
fn embed_batch(
    network: &Network,
    batch: &[usize],
    texts: &[Tokens],
    deadline: Deadline,
) -> Result<Vec<Vec<f32>>, ModelError> {
    if deadline.left().is_zero() {
        return Err(ModelError::unavailable("the deadline has passed"));
    }
    let texts: Vec<&Tokens> = batch.iter().map(|position| &texts[*position]).collect();
    network.vectors(&texts).map_err(|error| ModelError::Unusable(error.to_string()))
}

/// Returns the positions of the texts in batches, the shortest first.
fn batches_of(texts: &[Tokens]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|position| texts[*position].ids().len());
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut batch_tokens = 0;
    for position in order {
        let length = texts[position].ids().len();
        match batches.last_mut() {
            Some(batch) if batch_tokens + length <= BATCH_TOKENS_MAX => batch.push(position),
            _ => {
                batches.push(vec![position]);
                batch_tokens = 0;
            }
        }
        batch_tokens += length;
    }
    batches
}
