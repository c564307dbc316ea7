//! Answering a question from the memories that fit it.
//!
//! With a chat model it is the model's, as far as it can show where it stands ([`grounded`]). Without one, or while it
//! fails, the answer is extractive: the sentences of the best hits that say most about the question, word for word, each
//! with where it stands.

mod grounded;

use std::sync::atomic::{AtomicUsize, Ordering};

use cuebase_retrieval::content_terms;
use cuebase_storage::memory_file::markdown;
use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation;

use super::Service;
use super::error::{Failure, Outcome};
use super::retrieval::{Found, HitView, Retrieve};
use crate::model::Patience;

/// A hit that is less likely than this to answer the question is not quoted.
const SCORE_MIN: f32 = 0.02;
/// From a hit at least this likely a sentence is quoted whatever its words.
const SCORE_SURE: f32 = 0.5;
/// From any other, a sentence must hold this share of the question's telling words.
const SHARE_MIN: f32 = 0.3;
/// Hits that are quoted from.
const HITS_QUOTED: usize = 5;
/// Sentences in an answer.
const SENTENCES_MAX: usize = 3;
/// Answers that wait for the chat model at once; beyond that they are extractive, so that waiting ones do not take every
/// thread.
const CHATS_MAX: usize = 64;
/// What an answer without a model says of it.
const EXTRACTIVE: &str = "extractive";
/// A sentence that says less than this share of what the best one says is left out.
const SHARE_OF_BEST: f32 = 0.5;

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
    ) -> Outcome<Answer> {
        let found = self.find(account, namespace, request)?;
        searched();
        let no_answer = || Failure::not_found("no_answer", "the memories hold no answer to this");
        let question = request.query.as_deref().unwrap_or_default();
        if let Some((answer, citations, model)) = self.by_model(question, &found.hits) {
            if citations.is_empty() {
                return Err(no_answer());
            }
            return Ok(Answer { answer, hits: found.views(request.full)?, citations, model });
        }
        let citations = quote(&found.hits, &found.terms);
        if citations.is_empty() {
            return Err(no_answer());
        }
        let quotes: Vec<&str> = citations.iter().map(|citation| citation.quote.as_str()).collect();
        let model = EXTRACTIVE.to_owned();
        Ok(Answer { answer: quotes.join(" "), hits: found.views(request.full)?, citations, model })
    }

    /// The chat model's answer, with no citation where it finds none; none where there is no model, or where it fails.
    fn by_model(&self, question: &str, hits: &[Found]) -> Option<(String, Vec<Citation>, String)> {
        static WAITING: AtomicUsize = AtomicUsize::new(0);
        let chat = self.models.chat()?;
        if WAITING.fetch_add(1, Ordering::Relaxed) >= CHATS_MAX {
            WAITING.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let answered = grounded::answer(chat, question, hits, Patience::urgent(self.models.chat_time()));
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

/// The most telling sentences, the most telling first.
fn quote(hits: &[Found], terms: &[String]) -> Vec<Citation> {
    let mut sentences = Vec::new();
    for hit in hits.iter().filter(|hit| hit.score >= SCORE_MIN).take(HITS_QUOTED) {
        let memory = &hit.memory;
        for (start, sentence) in sentences_of(&memory.content) {
            let words = content_terms(sentence);
            let shared = terms.iter().filter(|term| words.contains(term)).count();
            let share = shared as f32 / terms.len().max(1) as f32;
            if words.is_empty() || (share < SHARE_MIN && hit.score < SCORE_SURE) {
                continue;
            }
            let citation = Citation {
                path: memory.path.clone(),
                section: section_at(&memory.content, start),
                quote: sentence.to_owned(),
            };
            sentences.push((hit.score * (0.5 + share), citation));
        }
    }
    sentences.sort_by(|a, b| b.0.total_cmp(&a.0));
    let best = sentences.first().map_or(0.0, |(value, _)| *value);
    let telling = sentences.into_iter().filter(|(value, _)| *value >= best * SHARE_OF_BEST);
    telling.take(SENTENCES_MAX).map(|(_, citation)| citation).collect()
}

/// The sentences of a text with where they begin, markdown's line marks left out.
fn sentences_of(content: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = content.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    });
    lines.flat_map(|(start, line)| {
        let text = line.trim_start_matches(['#', '-', '*', '>', ' ', '\t']);
        let start = start + line.len() - text.len();
        text.split_sentence_bound_indices().filter_map(move |(at, sentence)| {
            let trimmed = sentence.trim();
            (!trimmed.is_empty()).then_some((start + at, trimmed))
        })
    })
}

/// The innermost section that a place is in.
fn section_at(content: &str, at: usize) -> Option<String> {
    let sections = markdown::sections(content).into_iter();
    sections
        .filter(|section| section.range.contains(&at))
        .max_by_key(|section| section.level)
        .map(|section| section.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_keep_their_place() {
        let content = "# Tea. Green.\n\n- Boil it. Wait 3.5 minutes!\n\n## Cups\n\nFour\n";
        let found: Vec<(usize, &str)> = sentences_of(content).collect();
        let texts: Vec<&str> = found.iter().map(|(_, text)| *text).collect();
        assert_eq!(texts, ["Tea.", "Green.", "Boil it.", "Wait 3.5 minutes!", "Cups", "Four"]);
        assert!(found.iter().all(|(at, text)| content[*at..].starts_with(text)));
        assert_eq!(section_at(content, found[5].0).as_deref(), Some("Cups"));
        assert_eq!(section_at(content, found[2].0).as_deref(), Some("Tea. Green."));
    }
}
