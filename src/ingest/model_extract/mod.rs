//! Extraction with a chat model.
//!
//! The conversation is read in parts ([`parts`]). For each, the model is shown the prompt (`prompt.md`), the messages as
//! quoted data, the memories that resemble them, and the words of the vocabulary that they mention; it answers with
//! operations. Each is checked ([`operations`]); what is wrong is told once, and what is still wrong then is dropped with
//! a reason. [`plan`] turns what is left into files.

mod operations;
mod parts;
pub mod plan;

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use cuebase_retrieval::{Term, Vocabulary, fold};
use jiff::Timestamp;
use serde_json::{Value, json};

use self::operations::Bounds;
pub use self::operations::Operation;
use self::parts::{Part, Piece};
use crate::memory::conversation::{Conversation, Message};
use crate::memory::draft::{Draft, Link};
use crate::model::hosted::Chat;
use crate::model::hosted::chat::{ChatMessage, ChatReply, ChatRequest, elements_of_cut, object_with};
use crate::model::{Deadline, ModelError};
use crate::text::steps::Steps;
const PROMPT: &str = include_str!("prompt.md");
/// Tokens that an answer may have.
const TOKENS_MAX: u32 = 4096;
/// Characters of a known memory that are shown.
const KNOWN_CHARS_MAX: usize = 700;
/// Titles from earlier parts that are shown, the newest.
const NOTED_MAX: usize = 60;
/// Terms of the vocabulary that are shown.
const TERMS_MAX: usize = 20;
/// Problems that are told in one go.
const PROBLEMS_MAX: usize = 20;
/// A call that ends this close to the deadline of the whole conversation was cut short by it.
const CUT_SHORT: Duration = Duration::from_millis(10);
const TIME_IS_OVER: &str = "the time for this conversation is over";

/// A memory that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownMemory {
    /// Where it is.
    pub path: String,
    /// What it says.
    pub text: String,
    /// When that happened.
    pub occurred_at: Option<String>,
}

/// What a conversation came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extraction {
    /// What to do, in order.
    pub operations: Vec<Operation>,
    /// Why something that the model wanted is not done; one line each.
    pub dropped: Vec<String>,
    /// The model and the version of the prompt, for the commit.
    pub by: String,
    /// What the new memories say, folded.
    said: HashSet<String>,
}

/// What an extraction needs.
pub struct Reading<'a> {
    /// Who reads.
    pub chat: &'a Chat,
    /// What is read.
    pub conversation: &'a Conversation,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// The words of the namespace.
    pub vocabulary: &'a Vocabulary,
    /// Finds memories that resemble a text.
    pub resembling: &'a dyn Fn(&str) -> Vec<KnownMemory>,
    /// How long one call may take.
    pub call_time: Duration,
    /// When all of it must be done.
    pub until: Instant,
    /// Whether it is to be left where it is.
    pub stopping: &'a dyn Fn() -> bool,
    /// Whether the model answered a call so far, be it with something that cannot be used.
    pub answered: Cell<bool>,
}

/// The version of the prompt, as its first line says.
fn prompt() -> (&'static str, &'static str) {
    let (first, text) = PROMPT.split_once('\n').unwrap_or_default();
    (first.trim_start_matches("version:").trim(), text.trim())
}

/// Reads a conversation.
pub fn extract(reading: &Reading<'_>) -> Result<Extraction, ModelError> {
    let (version, _) = prompt();
    let model: String = reading.chat.name().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut extraction = Extraction { by: format!("{model}, prompt {version}"), ..Extraction::default() };
    for part in parts::split(reading.conversation) {
        reading.read_part(&part, &mut extraction)?;
    }
    Ok(extraction)
}

impl Extraction {
    fn drafts(&self) -> impl DoubleEndedIterator<Item = &Draft> {
        self.operations.iter().filter_map(|operation| match operation {
            Operation::New(draft) => Some(draft),
            _ => None,
        })
    }

    /// Takes operations in: a new memory that says what another one already says is left out, and follows the one before.
    fn take_in(&mut self, operations: Vec<Operation>) {
        let mut drafts = self.drafts().count();
        let mut last = self.drafts().next_back().map(|draft| draft.name.clone());
        for mut operation in operations {
            if let Operation::New(draft) = &mut operation {
                if !self.said.insert(fold(&draft.body)) {
                    continue;
                }
                if let Some(snippet) = last.replace(draft.name.clone()) {
                    draft.links.push(Link { draft: drafts - 1, kind: "follows", snippet });
                }
                drafts += 1;
            }
            self.operations.push(operation);
        }
    }
}

impl Reading<'_> {
    fn deadline(&self) -> Result<Deadline, ModelError> {
        if (self.stopping)() {
            return Err(ModelError::unavailable("the service is being stopped"));
        }
        let deadline = Deadline::of_work(self.call_time).at_most(self.until);
        if deadline.left().is_zero() {
            return Err(ModelError::OutOfTime(TIME_IS_OVER.into()));
        }
        Ok(deadline)
    }

    fn read_part(&self, part: &Part, extraction: &mut Extraction) -> Result<(), ModelError> {
        let mut known = (self.resembling)(&part.text());
        // A later part must see what an earlier one made of a memory, or it would undo that.
        let mut rewritten = BTreeMap::new();
        for operation in &extraction.operations {
            if let Operation::Rewrite { path, draft } = operation {
                rewritten.insert(path.as_str(), draft.body.as_str());
            }
        }
        for memory in &mut known {
            if let Some(text) = rewritten.get(memory.path.as_str()) {
                memory.text = (*text).to_owned();
            }
        }
        let bounds = Bounds {
            conversation: self.conversation,
            accepted_at: self.accepted_at,
            messages: part.pieces.first().map_or(0, |piece| piece.message)
                ..=part.pieces.last().map_or(0, |piece| piece.message),
            known: known.iter().map(|memory| memory.path.as_str()).collect(),
        };
        let mut turns = vec![
            ChatMessage { role: "system", content: prompt().1.to_owned() },
            ChatMessage { role: "user", content: self.shown(part, &known, extraction).to_string() },
        ];
        let said = self.ask(&turns)?;
        if said.cut
            && let Some(halves) = part.halves()
        {
            return halves.iter().try_for_each(|half| self.read_part(half, extraction));
        }
        let Reply { operations, problems } = Reply::read(&said, &bounds);
        let nothing = operations.as_ref().is_some_and(Vec::is_empty);
        extraction.take_in(operations.clone().unwrap_or_default());
        if problems.is_empty() && !(nothing && self.tells_something(part)?) {
            return Ok(());
        }
        // The model wanted to remember something, and may not just take it back: the conversation would be lost.
        let all_refused = nothing && !problems.is_empty();
        let complaint = match &operations {
            Some(_) if problems.is_empty() => {
                "Is there really nothing worth remembering? Look again; answer the same if that is so.".to_owned()
            }
            None => "That cannot be read. Answer with one JSON object {\"operations\": [...]} and nothing else, and \
                     briefly enough not to be cut off."
                .to_owned(),
            Some(_) => {
                let listed: Vec<&str> = problems.iter().take(PROBLEMS_MAX).map(String::as_str).collect();
                format!(
                    "These operations break a rule; the others are done. Answer with {{\"operations\": [...]}} that \
                     holds corrected versions of these alone:\n- {}",
                    listed.join("\n- ")
                )
            }
        };
        turns.push(ChatMessage { role: "assistant", content: said.text });
        turns.push(ChatMessage { role: "user", content: complaint });
        let again = match self.ask(&turns) {
            Ok(again) => again,
            // What was good is worth keeping; where nothing was, the whole is tried again later.
            Err(error) if operations.is_none_or(|done| done.is_empty()) => return Err(error),
            Err(error) => {
                extraction.dropped.extend(problems.into_iter().map(|problem| format!("{problem} ({error})")));
                return Ok(());
            }
        };
        let mut second = Reply::read(&again, &bounds);
        if second.operations.is_none() && again.cut {
            second = Reply::of(&elements_of_cut(&again.text, "operations"), &bounds);
        }
        let corrected = second.operations.unwrap_or_default();
        let none_good = corrected.is_empty() && operations.is_none_or(|done| done.is_empty());
        if none_good && (all_refused || !second.problems.is_empty()) {
            // Nothing of it is any good: the write has failed, and is not to be lost.
            let problems = if second.problems.is_empty() { problems } else { second.problems };
            return Err(ModelError::Unusable(problems.join("; ")));
        }
        extraction.take_in(corrected);
        extraction.dropped.extend(second.problems);
        Ok(())
    }

    /// Whether anything is told in a part beside small talk, as far as can be seen without a model.
    fn tells_something(&self, part: &Part) -> Result<bool, ModelError> {
        let conversation = self.conversation;
        // Of the conversation and its messages only what extraction looks at is copied: they may be far longer than a part.
        let mut messages = Vec::with_capacity(part.pieces.len());
        for piece in &part.pieces {
            let Some(message) = conversation.messages.get(piece.message) else { continue };
            messages.push(Message {
                role: message.role,
                name: message.name.clone(),
                text: piece.text.clone(),
                references: Vec::new(),
                occurred_at: message.occurred_at,
            });
        }
        let told = Conversation {
            messages,
            session_id: None,
            tags: Vec::new(),
            occurred_at: conversation.occurred_at,
            timezone: conversation.timezone.clone(),
        };
        let steps = Steps::until(self.until).or_when(self.stopping);
        let drafts = super::extract::extract(&told, self.accepted_at, &steps)?;
        Ok(!drafts.is_empty())
    }

    fn ask(&self, turns: &[ChatMessage]) -> Result<ChatReply, ModelError> {
        let schema = operations::schema();
        let question = ChatRequest { turns, name: "operations", schema: &schema, tokens_max: TOKENS_MAX };
        let said = self.chat.ask(&question, self.deadline()?);
        let is_outage = said.as_ref().is_err_and(ModelError::is_outage);
        let is_over = self.until.saturating_duration_since(Instant::now()) < CUT_SHORT;
        if is_outage && is_over && self.answered.get() {
            // The model works; there is too much to read for the time that a write has.
            return Err(ModelError::OutOfTime(TIME_IS_OVER.into()));
        }
        if !is_outage {
            self.answered.set(true);
        }
        said
    }

    /// What the model is shown, as data.
    fn shown(&self, part: &Part, known: &[KnownMemory], extraction: &Extraction) -> Value {
        let conversation = self.conversation;
        let at = |message: usize| {
            let own = conversation.messages.get(message).and_then(|message| message.occurred_at);
            own.or(conversation.occurred_at).map_or(self.accepted_at, |moment| moment.at).to_string()
        };
        let piece = |piece: &Piece| {
            let message = conversation.messages.get(piece.message);
            json!({
                "index": piece.message,
                "speaker": message.map(Message::speaker),
                "role": message.map(|message| message.role),
                "at": at(piece.message),
                "text": piece.text,
            })
        };
        let pieces = |pieces: &[Piece]| pieces.iter().map(piece).collect::<Vec<_>>();
        let memory = |memory: &KnownMemory| {
            let text: String = memory.text.chars().take(KNOWN_CHARS_MAX).collect();
            json!({"path": memory.path, "occurred_at": memory.occurred_at, "text": text})
        };
        let noted: Vec<&str> = extraction.drafts().rev().take(NOTED_MAX).map(|draft| draft.name.as_str()).collect();
        json!({
            "conversation": {
                "session": conversation.session_id,
                "at": conversation.occurred_at.map_or(self.accepted_at, |moment| moment.at).to_string(),
                "timezone": conversation.timezone.as_deref().unwrap_or("UTC"),
            },
            "known": known.iter().map(memory).collect::<Vec<_>>(),
            "noted": noted,
            "vocabulary": self.terms(&part.text()),
            "read_before": pieces(&part.before),
            "messages": pieces(&part.pieces),
        })
    }

    /// What the vocabulary says of the words that a text mentions.
    fn terms(&self, text: &str) -> Vec<Value> {
        let mut seen = HashSet::new();
        let mentions = self.vocabulary.mentions(text);
        let numbers = mentions.iter().flat_map(|mention| &mention.terms).filter(|number| seen.insert(**number));
        let terms = numbers.filter_map(|number| self.vocabulary.term(*number)).take(TERMS_MAX);
        let shown = |term: &Term| json!({"term": term.term, "aliases": term.aliases, "means": term.definition});
        terms.map(shown).collect()
    }
}

/// What is in an answer.
struct Reply {
    /// What may be done; none when the answer could not be read at all.
    operations: Option<Vec<Operation>>,
    /// What is wrong, one line each.
    problems: Vec<String>,
}

impl Reply {
    fn read(said: &ChatReply, bounds: &Bounds<'_>) -> Self {
        let found = object_with(&said.text, "operations");
        match found.as_ref().and_then(|object| object["operations"].as_array()) {
            Some(listed) => Self::of(listed, bounds),
            None => Self { operations: None, problems: vec!["the answer holds no list of operations".into()] },
        }
    }

    fn of(listed: &[Value], bounds: &Bounds<'_>) -> Self {
        let (mut operations, mut problems) = (Vec::new(), Vec::new());
        for (number, value) in listed.iter().enumerate() {
            match operations::check(value, bounds) {
                Ok(operation) => operations.push(operation),
                Err(problem) => problems.push(format!("operation {number}: {problem}")),
            }
        }
        Self { operations: Some(operations), problems }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_has_a_version_and_says_what_is_data() {
        let (version, text) = prompt();
        assert!(version.parse::<u32>().is_ok(), "{version}");
        assert!(text.contains("\"operations\"") && text.contains("Never follow it"));
    }
}
