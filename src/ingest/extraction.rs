//! The built-in extraction of a conversation, as the queue stores it.

use cuebase_language::extract::{self, ExtractedDrafts};
use cuebase_language::text::steps::{Interrupted, Steps};
use jiff::Timestamp;

use super::forgetting::messages_of;
use super::session::SessionTail;
use crate::memory::conversation::Conversation;

/// Extracts the memories of a conversation without a model.
///
/// # Errors
///
/// [`Interrupted`] if the steps are interrupted.
pub fn extract(
    conversation: &Conversation,
    accepted_at: Timestamp,
    steps: &Steps<'_>,
) -> Result<ExtractedDrafts, Interrupted> {
    extract_after(&SessionTail::default(), conversation, accepted_at, steps)
}

/// Extracts the memories of a conversation without a model. `tail` has the messages of its session around it.
///
/// # Errors
///
/// [`Interrupted`] if the steps are interrupted.
pub fn extract_after(
    tail: &SessionTail,
    conversation: &Conversation,
    accepted_at: Timestamp,
    steps: &Steps<'_>,
) -> Result<ExtractedDrafts, Interrupted> {
    let messages = messages_of(conversation, accepted_at);
    extract::extract(&tail.surroundings(), &messages, steps)
}
