//! Answers to a question from the memories that match it.
//!
//! With a chat model, the model writes the answer and must support it with quotes ([`grounded`]). Without a model, or
//! while it fails, the answer is extractive ([`extractive`]): the best passages of the best hits, word for word.
//! [`blocks`] finds the lists, tables and code that are quoted as a whole; [`passage`] and [`table`] quote them. [`spoken`] quotes what somebody said. Start
//! with [`Reads::answer_from`].

mod blocks;
mod citation;
mod extractive;
mod grounded;
mod lines;
mod passage;
mod question;
mod spoken;
mod table;

use std::sync::atomic::Ordering;

use cuebase_language::claims::{self, AskedPeriod};
use cuebase_language::dates;
use cuebase_retrieval::Currency;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::citation::Citation;
use self::extractive::ExtractiveAnswer;
use self::grounded::{GroundedAnswer, QuestionContext};
use super::reads::Reads;
use super::retrieval::{FoundMemory, HitView, RetrievalRequest, SearchResult};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::model::Deadline;

/// Answers that wait for the chat model at a time. Further answers are extractive, so that waiting does not occupy
/// every thread.
const CHATS_MAX: usize = 64;
/// The `model` of an answer that no model wrote.
const EXTRACTIVE: &str = "extractive";

/// An answer, the quotes that support it, and the hits it was made from.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Answer {
    /// The text of the answer.
    pub answer: String,
    /// The quotes that support the answer.
    pub citations: Vec<Citation>,
    /// The hits that the answer was made from, best first.
    pub hits: Vec<HitView>,
    /// How many candidates were read by the reader.
    pub read: usize,
    /// Name of the chat model that wrote the answer; `extractive` if it consists of quotes.
    pub model: String,
}

/// The text of an answer with its citations, and who wrote it.
struct AnswerText {
    answer: String,
    citations: Vec<Citation>,
    model: String,
}

/// The result of asking the chat model.
enum ModelOutcome {
    Answered(AnswerText),
    /// The model found no answer in the memories, or none that it could support with a quote.
    NoAnswer,
    /// No model is configured, too many answers wait for it, or it failed.
    Unavailable,
}

impl Reads {
    /// Returns which memories an answer is made from by default: only those that hold, or, for a question about the past, all.
    pub fn currency_of_answer(&self, request: &RetrievalRequest) -> Currency {
        let text = request.query.as_deref().unwrap_or("");
        let asked_at = request.asked_at(self.clock.now());
        let times = match &request.zone {
            Some(zone) => dates::question::find(text, asked_at, zone).times,
            None => Vec::new(),
        };
        match claims::question::asked(text, &times, asked_at.as_millisecond()).period {
            AskedPeriod::Present => Currency::Only,
            AskedPeriod::Named(..) | AskedPeriod::Former => Currency::Any,
        }
    }

    /// Answers the request's query from the result of [`Self::find`]. May wait for a chat model.
    ///
    /// # Errors
    ///
    /// `no_answer` when the memories hold no answer.
    pub fn answer_from(&self, findings: SearchResult, request: &RetrievalRequest) -> Result<Answer> {
        let question = request.query.as_deref().unwrap_or("");
        let text = match self.ask_model(question, &findings.hits) {
            ModelOutcome::Answered(text) => Some(text),
            ModelOutcome::NoAnswer => None,
            ModelOutcome::Unavailable => extractive_answer(&findings, request.zone.as_ref())?,
        };
        let Some(text) = text else {
            return Err(Error::not_found(ErrorCode::NoAnswer, "the memories hold no answer to this question"));
        };
        let read = findings.read;
        let hits = findings.into_views(request.detail.full)?;
        Ok(Answer { answer: text.answer, citations: text.citations, hits, read, model: text.model })
    }

    fn ask_model(&self, question: &str, hits: &[FoundMemory]) -> ModelOutcome {
        let Some(chat) = self.models.chat() else { return ModelOutcome::Unavailable };
        if self.waiting_answers.fetch_add(1, Ordering::Relaxed) >= CHATS_MAX {
            self.waiting_answers.fetch_sub(1, Ordering::Relaxed);
            return ModelOutcome::Unavailable;
        }
        let context = QuestionContext { question, hits, now: self.clock.now() };
        let result = grounded::answer(chat, &context, Deadline::urgent(self.models.chat_time()));
        self.waiting_answers.fetch_sub(1, Ordering::Relaxed);
        match result {
            Ok(Some(GroundedAnswer { answer, citations })) => {
                ModelOutcome::Answered(AnswerText { answer, citations, model: chat.name().to_owned() })
            }
            Ok(None) => ModelOutcome::NoAnswer,
            Err(error) => {
                tracing::warn!(failure = error.kind(), "the chat model failed; the answer consists of quotes");
                ModelOutcome::Unavailable
            }
        }
    }
}

/// Returns an answer made of quotes; `None` when the hits hold no answer.
fn extractive_answer(findings: &SearchResult, zone: Option<&TimeZone>) -> Result<Option<AnswerText>> {
    let answered = extractive::answer(&findings.hits, &findings.terms, zone)?;
    let Some(ExtractiveAnswer { answer, citations }) = answered else { return Ok(None) };
    Ok(Some(AnswerText { answer, citations, model: EXTRACTIVE.to_owned() }))
}
