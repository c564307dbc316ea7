//! Answering a question from the memories that fit it.
//!
//! With a chat model it is the model's, as far as it can show where it stands ([`grounded`]). Without one, or while it
//! fails, the answer is extractive ([`extractive`]): the passages of the best hits that say most about the question, word
//! for word. [`blocks`] finds the lists, tables and code that are quoted as a whole, [`passage`] and [`table`] quote them.

mod blocks;
mod extractive;
mod grounded;
mod passage;
mod question;
mod table;

use std::sync::atomic::{AtomicUsize, Ordering};

use cuebase_storage::memory_file::markdown;
use serde::Serialize;

use self::extractive::Extract;
use super::Service;
use super::retrieval::{Found, HitView, Retrieve};
use crate::error::{Error, Result};
use crate::model::Deadline;

/// Answers that wait for the chat model at once; beyond that they are extractive, so that waiting ones do not take every
/// thread.
const CHATS_MAX: usize = 64;
/// What an answer without a model says of it.
const EXTRACTIVE: &str = "extractive";

/// An answer with what it rests on.
#[derive(Debug, Serialize)]
pub struct Answer {
    answer: String,
    citations: Vec<Citation>,
    hits: Vec<HitView>,
    model: String,
}

/// Where a part of the answer stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Citation {
    path: String,
    section: Option<String>,
    quote: String,
}

impl Service {
    /// Answers the request's query, or says that the memories hold no answer. `searched` is called when the search is over
    /// and only a model is waited for.
    pub fn answer(
        &self,
        account: &str,
        namespace: &str,
        request: &Retrieve,
        searched: impl FnOnce(),
    ) -> Result<Answer> {
        let found = self.find(account, namespace, request)?;
        searched();
        let no_answer = || Error::not_found("no_answer", "the memories hold no answer to this");
        let question = request.query.as_deref().unwrap_or_default();
        if let Some((answer, citations, model)) = self.by_model(question, &found.hits) {
            if citations.is_empty() {
                return Err(no_answer());
            }
            return Ok(Answer { answer, hits: found.views(request.full)?, citations, model });
        }
        let Some(Extract { answer, citations }) = extractive::answer(&found.hits, &found.terms) else {
            return Err(no_answer());
        };
        let model = EXTRACTIVE.to_owned();
        Ok(Answer { answer, hits: found.views(request.full)?, citations, model })
    }

    /// The chat model's answer, with no citation where it finds none; none where there is no model, or where it fails.
    fn by_model(&self, question: &str, hits: &[Found]) -> Option<(String, Vec<Citation>, String)> {
        static WAITING: AtomicUsize = AtomicUsize::new(0);
        let chat = self.models.chat()?;
        if WAITING.fetch_add(1, Ordering::Relaxed) >= CHATS_MAX {
            WAITING.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let answered = grounded::answer(chat, question, hits, Deadline::urgent(self.models.chat_time()));
        WAITING.fetch_sub(1, Ordering::Relaxed);
        match answered {
            Ok(Some(grounded)) => Some((grounded.answer, grounded.citations, chat.name().to_owned())),
            Ok(None) => Some((String::new(), Vec::new(), chat.name().to_owned())),
            Err(error) => {
                tracing::warn!(
                    failure = error.kind(),
                    "a question is answered with quotes, since the chat model fails"
                );
                None
            }
        }
    }
}

/// The innermost section that a place is in.
fn section_at(content: &str, at: usize) -> Option<String> {
    let sections = markdown::sections(content).into_iter();
    sections
        .filter(|section| section.range.contains(&at))
        .max_by_key(|section| section.level)
        .map(|section| section.name)
}
