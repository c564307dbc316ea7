//! Answering a question from the memories that fit it.
//!
//! Without a chat model the answer is extractive: the sentences of the best hits that say most about the question,
//! word for word, each with where it stands.

use cuebase_retrieval::content_terms;
use cuebase_storage::memory_file::markdown;
use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation;

use super::Service;
use super::error::{Failure, Outcome};
use super::retrieval::{Found, HitView, Retrieve};

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
/// A sentence that says less than this share of what the best one says is left out.
const SHARE_OF_BEST: f32 = 0.5;

/// An answer with what it rests on.
#[derive(Debug, Serialize)]
pub struct Answer {
    answer: String,
    citations: Vec<Citation>,
    hits: Vec<HitView>,
    model: &'static str,
}

/// Where a part of the answer stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Citation {
    path: String,
    section: Option<String>,
    quote: String,
}

impl Service {
    /// Answers the request's query, or says that the memories hold no answer.
    pub fn answer(&self, account: &str, namespace: &str, request: &Retrieve) -> Outcome<Answer> {
        let found = self.find(account, namespace, request)?;
        let citations = quote(&found.hits, &found.terms);
        if citations.is_empty() {
            return Err(Failure::not_found("no_answer", "the memories hold no answer to this"));
        }
        let quotes: Vec<&str> = citations.iter().map(|citation| citation.quote.as_str()).collect();
        Ok(Answer { answer: quotes.join(" "), hits: found.views(request.full)?, citations, model: "extractive" })
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
