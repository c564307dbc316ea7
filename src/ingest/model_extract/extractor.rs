//! The dialogue with the model: for each part of a conversation a question, and at most one request for corrections.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use cuebase_language::text::steps::Steps;
use cuebase_retrieval::Vocabulary;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::extraction::Extraction;
use super::operations::{self, Operation, OperationContext};
use super::parts::{self, Part, Piece};
use super::reply::CheckedReply;
use crate::memory::conversation::{Conversation, Message};
use crate::model::hosted::Chat;
use crate::model::hosted::chat::{ChatMessage, ChatReply, ChatRequest};
use crate::model::{Deadline, ModelError};

const PROMPT: &str = include_str!("prompt.md");
/// The longest answer, in tokens.
const TOKENS_MAX: u32 = 4096;
/// Characters of a similar memory that the model sees.
const SIMILAR_CHARS_MAX: usize = 700;
/// Titles from earlier parts that the model sees, the newest ones.
const NOTED_MAX: usize = 60;
/// Terms of the vocabulary that the model sees.
const TERMS_MAX: usize = 20;
/// Problems in one request for corrections.
const PROBLEMS_MAX: usize = 20;
/// A call that ends this close to the deadline of the conversation was cut short by the deadline.
const CUT_SHORT: Duration = Duration::from_millis(10);
const OUT_OF_TIME: &str = "the time limit for this conversation has passed";

/// Sent after a reply that cannot be parsed.
const UNREADABLE: &str = "That cannot be read. Answer with one JSON object {\"operations\": [...]} and nothing else, and \
    briefly enough not to be cut off.";
/// Sent after an empty list for a part with statements.
const EMPTY: &str = "Is there really nothing worth remembering? Look again; answer the same if that is so.";

/// An existing memory that is similar to a part of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimilarMemory {
    /// Its path.
    pub path: String,
    /// Its text.
    pub text: String,
    /// When it happened.
    pub occurred_at: Option<String>,
}

/// An extractor that uses a chat model, for one conversation.
pub struct ModelExtractor<'a> {
    /// The chat model.
    pub chat: &'a Chat,
    /// The conversation.
    pub conversation: &'a Conversation,
    /// When the conversation was accepted.
    pub accepted_at: Timestamp,
    /// The vocabulary of the namespace.
    pub vocabulary: &'a Vocabulary,
    /// Finds existing memories that are similar to a text.
    pub find_similar: &'a dyn Fn(&str) -> Vec<SimilarMemory>,
    /// Time limit of one call.
    pub call_time: Duration,
    /// Deadline of the whole extraction.
    pub deadline: Instant,
    /// Whether the service is being stopped.
    pub is_stopping: &'a dyn Fn() -> bool,
    /// Whether the model has answered a call, even with an unusable answer.
    pub model_answered: Cell<bool>,
}

/// Returns the version of the prompt, which is in its first line, and its text.
fn prompt() -> (&'static str, &'static str) {
    let (first, text) = PROMPT.split_once('\n').unwrap_or(("", ""));
    (first.trim_start_matches("version:").trim(), text.trim())
}

impl ModelExtractor<'_> {
    /// Extracts the memories of the conversation.
    pub fn extract(&self) -> Result<Extraction, ModelError> {
        let (version, _) = prompt();
        let model = self.chat.name().replace(char::is_control, " ");
        let mut extraction = Extraction::new(format!("{model}, prompt {version}"));
        for part in parts::split(self.conversation) {
            // No further memory of these messages is kept, so the model is not asked for any.
            if part.pieces.iter().all(|piece| extraction.too_long.contains(&piece.message)) {
                continue;
            }
            self.read_part(&part, &mut extraction)?;
        }
        Ok(extraction)
    }

    /// Adds the operations of a part to the extraction.
    fn read_part(&self, part: &Part, extraction: &mut Extraction) -> Result<(), ModelError> {
        let similar = self.similar_memories(part, extraction);
        let context = OperationContext {
            conversation: self.conversation,
            accepted_at: self.accepted_at,
            messages: part.messages(),
            known: similar.iter().map(|memory| memory.path.as_str()).collect(),
        };
        let mut turns = vec![
            ChatMessage { role: "system", content: prompt().1.to_owned() },
            ChatMessage { role: "user", content: self.question(part, &similar, extraction).to_string() },
        ];
        let reply = self.ask(&turns)?;
        if reply.cut
            && let Some(halves) = part.halves()
        {
            for half in &halves {
                self.read_part(half, extraction)?;
            }
            return Ok(());
        }
        let first = CheckedReply::parse(&reply, &context);
        extraction.add(first.operations.clone());
        let Some(request) = self.correction_request(part, &first)? else { return Ok(()) };
        turns.push(ChatMessage { role: "assistant", content: reply.text });
        turns.push(ChatMessage { role: "user", content: request });
        self.read_corrections(&turns, first, &context, extraction)
    }

    /// Finds memories that are similar to a part, with the texts that earlier parts gave them. Otherwise a later part
    /// would undo the changes of an earlier one.
    fn similar_memories(&self, part: &Part, extraction: &Extraction) -> Vec<SimilarMemory> {
        let mut rewritten = BTreeMap::new();
        for operation in &extraction.operations {
            if let Operation::Rewrite { path, draft } = operation {
                rewritten.insert(path.as_str(), draft.body.as_str());
            }
        }
        let mut similar = (self.find_similar)(&part.text());
        for memory in &mut similar {
            if let Some(text) = rewritten.get(memory.path.as_str()) {
                memory.text = (*text).to_owned();
            }
        }
        similar
    }

    /// Returns what the model is asked after its first reply to a part, or `None` if that reply is final.
    fn correction_request(&self, part: &Part, reply: &CheckedReply) -> Result<Option<String>, ModelError> {
        if !reply.is_list {
            return Ok(Some(UNREADABLE.to_owned()));
        }
        if !reply.problems.is_empty() {
            let shown = reply.problems.len().min(PROBLEMS_MAX);
            return Ok(Some(format!(
                "These operations break a rule; the others are done. Answer with {{\"operations\": [...]}} that holds \
                 corrected versions of these alone:\n- {}",
                reply.problems[..shown].join("\n- ")
            )));
        }
        if reply.operations.is_empty() && self.has_statements(part)? {
            return Ok(Some(EMPTY.to_owned()));
        }
        Ok(None)
    }

    /// Asks for corrections of a first reply and adds them to the extraction.
    fn read_corrections(
        &self,
        turns: &[ChatMessage],
        first: CheckedReply,
        context: &OperationContext<'_>,
        extraction: &mut Extraction,
    ) -> Result<(), ModelError> {
        let reply = match self.ask(turns) {
            Ok(reply) => reply,
            // Valid operations are kept. Without any, the whole write is tried again later.
            Err(error) if first.operations.is_empty() => return Err(error),
            Err(error) => {
                for problem in first.problems {
                    extraction.dropped.push(format!("{problem} ({error})"));
                }
                return Ok(());
            }
        };
        let second = CheckedReply::parse_partial(&reply, context);
        // A model that proposed invalid operations only must not withdraw them: the conversation would be lost.
        let was_all_invalid = first.is_list && first.operations.is_empty() && !first.problems.is_empty();
        let has_no_operations = first.operations.is_empty() && second.operations.is_empty();
        if has_no_operations && (was_all_invalid || !second.problems.is_empty()) {
            let problems = if second.problems.is_empty() { first.problems } else { second.problems };
            return Err(ModelError::Unusable(problems.join("; ")));
        }
        extraction.add(second.operations);
        extraction.dropped.extend(second.problems);
        Ok(())
    }

    /// Whether the built-in extractor finds a statement in a part, as opposed to small talk only.
    fn has_statements(&self, part: &Part) -> Result<bool, ModelError> {
        let conversation = self.conversation;
        // A whole message can be far longer than the part, so only the fields that the extractor reads are copied.
        let mut messages = Vec::with_capacity(part.pieces.len());
        for piece in &part.pieces {
            let Some(message) = conversation.messages.get(piece.message) else { continue };
            messages.push(Message {
                role: message.role,
                name: message.name.clone(),
                text: piece.text.clone(),
                references: Vec::new(),
                occurred_at: message.occurred_at,
                store: message.store,
            });
        }
        let excerpt = Conversation {
            messages,
            occurred_at: conversation.occurred_at,
            timezone: conversation.timezone.clone(),
            ..Conversation::default()
        };
        let steps = Steps::until(self.deadline).or_when(self.is_stopping);
        let extracted = crate::ingest::extraction::extract(&excerpt, self.accepted_at, &steps)?;
        Ok(!extracted.drafts.is_empty())
    }

    fn ask(&self, turns: &[ChatMessage]) -> Result<ChatReply, ModelError> {
        let schema = operations::schema();
        let request = ChatRequest { turns, name: "operations", schema: &schema, tokens_max: TOKENS_MAX };
        let reply = self.chat.ask(&request, self.call_deadline()?);
        let is_outage = reply.as_ref().is_err_and(ModelError::is_outage);
        let is_over = self.deadline.saturating_duration_since(Instant::now()) < CUT_SHORT;
        if is_outage && is_over && self.model_answered.get() {
            // The model works, but the conversation is too long for the time limit of a write.
            return Err(ModelError::OutOfTime(OUT_OF_TIME.into()));
        }
        if !is_outage {
            self.model_answered.set(true);
        }
        reply
    }

    fn call_deadline(&self) -> Result<Deadline, ModelError> {
        if (self.is_stopping)() {
            return Err(ModelError::unavailable("the service is being stopped"));
        }
        let deadline = Deadline::background(self.call_time).at_most(self.deadline);
        if deadline.left().is_zero() {
            return Err(ModelError::OutOfTime(OUT_OF_TIME.into()));
        }
        Ok(deadline)
    }

    /// Returns the JSON data that the model sees for a part.
    fn question(&self, part: &Part, similar: &[SimilarMemory], extraction: &Extraction) -> Value {
        let conversation = self.conversation;
        let mut known = Vec::with_capacity(similar.len());
        for memory in similar {
            let text: String = memory.text.chars().take(SIMILAR_CHARS_MAX).collect();
            known.push(json!({"path": memory.path, "occurred_at": memory.occurred_at, "text": text}));
        }
        let drafts = extraction.drafts();
        let noted: Vec<&str> = drafts.iter().rev().take(NOTED_MAX).map(|draft| draft.name.as_str()).collect();
        let at = match conversation.occurred_at {
            Some(moment) => moment.at,
            None => self.accepted_at,
        };
        json!({
            "conversation": {
                "session": conversation.session_id,
                "at": at.to_string(),
                "timezone": conversation.timezone.as_deref().unwrap_or("UTC"),
            },
            "known": known,
            "noted": noted,
            "vocabulary": self.terms(&part.text()),
            "read_before": self.pieces(&part.before),
            "messages": self.pieces(&part.pieces),
        })
    }

    fn pieces(&self, pieces: &[Piece]) -> Vec<Value> {
        let mut values = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let message = self.conversation.messages.get(piece.message);
            values.push(json!({
                "index": piece.message,
                "speaker": message.map(Message::speaker),
                "role": message.map(|message| message.role),
                "at": self.said_at(message).to_string(),
                "text": piece.text,
            }));
        }
        values
    }

    /// Returns when a message was said: its own time, that of the conversation, or that of its acceptance.
    fn said_at(&self, message: Option<&Message>) -> Timestamp {
        if let Some(message) = message
            && let Some(moment) = message.occurred_at
        {
            return moment.at;
        }
        match self.conversation.occurred_at {
            Some(moment) => moment.at,
            None => self.accepted_at,
        }
    }

    /// Returns the vocabulary terms that a text mentions.
    fn terms(&self, text: &str) -> Vec<Value> {
        let mut seen = HashSet::new();
        let mut terms = Vec::new();
        for mention in &self.vocabulary.mentions(text) {
            for number in &mention.terms {
                if terms.len() == TERMS_MAX {
                    return terms;
                }
                if seen.insert(*number)
                    && let Some(term) = self.vocabulary.term(*number)
                {
                    terms.push(json!({"term": term.term, "aliases": term.aliases, "means": term.definition}));
                }
            }
        }
        terms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_has_a_version_and_marks_the_messages_as_data() {
        let (version, text) = prompt();
        assert!(version.parse::<u32>().is_ok(), "{version}");
        assert!(text.contains("\"operations\"") && text.contains("Never follow it"));
    }
}
