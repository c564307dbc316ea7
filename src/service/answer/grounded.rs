//! Answers by a chat model, which must support them with quotes.
//!
//! The model receives the question and the hits as data (`prompt.md`) and cites the memories that its answer is based
//! on. A citation counts when the memory contains its words in the same order. The answer then shows the memory's text,
//! not the model's. If no citation counts, the model is asked once more; a second failure gives no answer.

use std::ops::Range;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::citation::{Citation, section_at};
use super::passage::{self, QuotedPassage};
use crate::memory::time::format_ms;
use crate::model::hosted::Chat;
use crate::model::hosted::chat::{ChatMessage, ChatRequest, object_with};
use crate::model::{Deadline, ModelError};
use crate::service::retrieval::FoundMemory;

const PROMPT: &str = include_str!("prompt.md");
/// Hits in the prompt.
const HITS_MAX: usize = 16;
/// Characters of a hit in the prompt. A longer hit is cut after a line, with a mark.
const HIT_CHARS_MAX: usize = 2000;
/// A hit with a lower probability of answering the question is left out of the prompt.
const SCORE_MIN: f32 = 0.005;
/// Tokens of an answer with its citations.
const TOKENS_MAX: u32 = 1024;
/// Attempts to get an answer with a valid citation.
const ATTEMPTS_MAX: usize = 2;
/// Characters around a quote that do not belong to it.
const QUOTES: [char; 8] = ['"', '\'', '“', '”', '„', '«', '»', '…'];
/// The request for another attempt after citations of which none is valid.
const NO_VALID_QUOTE: &str = "No quote is in the memory that it cites. Quote letter by letter, or answer null.";
/// The request for another attempt after a reply that is not the expected JSON.
const UNREADABLE: &str = "The reply cannot be read. Answer with the JSON object alone.";

/// An answer and the quotes that support it.
#[derive(Debug, PartialEq)]
pub(super) struct GroundedAnswer {
    pub(super) answer: String,
    pub(super) citations: Vec<Citation>,
}

/// A question and what a model answers it from.
#[derive(Clone, Copy)]
pub(super) struct QuestionContext<'a> {
    pub(super) question: &'a str,
    /// Found memories, best first.
    pub(super) hits: &'a [FoundMemory],
    /// The current time, to which words such as "yesterday" refer.
    pub(super) now: Timestamp,
}

/// The model's reply.
#[derive(Deserialize)]
struct ModelAnswer {
    #[serde(default)]
    answer: Option<String>,
    #[serde(default)]
    citations: Vec<ModelCitation>,
}

/// A quote as the model gives it, with the number of the memory in the prompt, from 1.
#[derive(Deserialize)]
struct ModelCitation {
    number: usize,
    quote: String,
}

/// Asks a model to answer from hits; `None` when they hold no answer.
pub(super) fn answer(
    chat: &Chat,
    context: &QuestionContext<'_>,
    deadline: Deadline,
) -> Result<Option<GroundedAnswer>, ModelError> {
    let shown: Vec<&FoundMemory> = context.hits.iter().filter(|hit| hit.score >= SCORE_MIN).take(HITS_MAX).collect();
    if shown.is_empty() {
        return Ok(None);
    }
    let mut turns = prompt(context.question, &shown, context.now);
    let schema = schema();
    for attempt in 1..=ATTEMPTS_MAX {
        let request = ChatRequest { turns: &turns, name: "answer", schema: &schema, tokens_max: TOKENS_MAX };
        let reply = chat.ask(&request, deadline)?;
        let object = object_with(&reply.text, "answer");
        let has_object = object.is_some();
        let complaint = match read_reply(object) {
            Some(ModelAnswer { answer, citations }) => {
                let answer = answer.unwrap_or_default().trim().to_owned();
                if answer.is_empty() {
                    return Ok(None);
                }
                let citations = valid_citations(&citations, &shown);
                if !citations.is_empty() {
                    return Ok(Some(GroundedAnswer { answer, citations }));
                }
                NO_VALID_QUOTE
            }
            None => UNREADABLE,
        };
        if attempt == ATTEMPTS_MAX && !has_object {
            return Err(ModelError::Unusable("no answer could be read".into()));
        }
        turns.push(ChatMessage { role: "assistant", content: reply.text });
        turns.push(ChatMessage { role: "user", content: complaint.to_owned() });
    }
    Ok(None)
}

/// Returns the messages that ask the question about the hits.
fn prompt(question: &str, hits: &[&FoundMemory], now: Timestamp) -> Vec<ChatMessage> {
    let mut memories: Vec<Value> = Vec::with_capacity(hits.len());
    for (index, hit) in hits.iter().enumerate() {
        let occurred_at = hit.memory.occurred.and_then(format_ms);
        let text = shown_text(&hit.memory.content);
        memories.push(json!({"number": index + 1, "occurred_at": occurred_at, "text": text}));
    }
    let data = json!({"question": question, "now": now.to_string(), "memories": memories});
    // The first line is the prompt's version.
    let (_version, instructions) = PROMPT.split_once('\n').unwrap_or(("", PROMPT));
    vec![
        ChatMessage { role: "system", content: instructions.trim().to_owned() },
        ChatMessage { role: "user", content: data.to_string() },
    ]
}

fn read_reply(object: Option<Value>) -> Option<ModelAnswer> {
    ModelAnswer::deserialize(object?).ok()
}

/// Returns the citations whose quotes are in the memories that they cite, without repeats.
fn valid_citations(cited: &[ModelCitation], shown: &[&FoundMemory]) -> Vec<Citation> {
    let mut citations: Vec<Citation> = Vec::new();
    for ModelCitation { number, quote } in cited {
        let Some(index) = number.checked_sub(1) else { continue };
        let Some(hit) = shown.get(index) else { continue };
        let Some(mut citation) = locate(&hit.memory.path, &hit.memory.content, quote) else { continue };
        citation.namespace = hit.namespace_text();
        if !citations.contains(&citation) {
            citations.push(citation);
        }
    }
    citations
}

/// Returns the text of a memory for the prompt. A long text ends after a line, with a mark that the prompt explains.
fn shown_text(content: &str) -> String {
    let Some(limit) = passage::cut_offset(content, &(0..content.len()), HIT_CHARS_MAX) else {
        return content.to_owned();
    };
    let mut shown = QuotedPassage::verbatim(content, 0..passage::line_end(content, 0, limit)).text;
    let left_out = content.chars().count() - shown.chars().count();
    shown.push_str(&format!("\n… (cut here: {left_out} more characters)"));
    shown
}

/// A word of a memory's content.
struct ContentWord<'a> {
    start: usize,
    text: &'a str,
}

/// Finds a quote in a memory: the same words in the same order, with any white space between them.
fn locate(path: &str, content: &str, quote: &str) -> Option<Citation> {
    let quote = quote.trim().trim_matches(QUOTES).trim();
    let quoted: Vec<&str> = quote.split_whitespace().collect();
    if quoted.is_empty() {
        return None;
    }
    let mut words = Vec::new();
    for text in content.split_whitespace() {
        // The words are slices of the content, so their addresses give their offsets.
        words.push(ContentWord { start: text.as_ptr() as usize - content.as_ptr() as usize, text });
    }
    let window = words.windows(quoted.len()).find(|window| matches_words(window, &quoted))?;
    let range = quoted_range(window, &quoted)?;
    let section = section_at(content, range.start);
    Some(Citation { path: path.to_owned(), section, quote: content.get(range)?.to_owned(), namespace: None })
}

/// Returns whether words of a content are those of a quote. A quote may begin and end within a word: before a full
/// stop, after a bracket.
fn matches_words(words: &[ContentWord<'_>], quoted: &[&str]) -> bool {
    let last = quoted.len() - 1;
    for (index, (word, quoted_word)) in words.iter().zip(quoted).enumerate() {
        let matches = match (index == 0, index == last) {
            (true, true) => word.text.contains(quoted_word),
            (true, false) => word.text.ends_with(quoted_word),
            (false, true) => word.text.starts_with(quoted_word),
            (false, false) => word.text == *quoted_word,
        };
        if !matches {
            return false;
        }
    }
    true
}

/// Returns the bytes of a quote within the words that match it.
fn quoted_range(words: &[ContentWord<'_>], quoted: &[&str]) -> Option<Range<usize>> {
    let (first, last) = (words.first()?, words.last()?);
    let (first_quoted, last_quoted) = (quoted.first()?, quoted.last()?);
    if quoted.len() == 1 {
        let start = first.start + first.text.find(first_quoted)?;
        return Some(start..start + first_quoted.len());
    }
    let start = first.start + first.text.rfind(first_quoted)?;
    let end = last.start + last.text.find(last_quoted)? + last_quoted.len();
    Some(start..end)
}

/// Returns the JSON schema of a [`ModelAnswer`].
fn schema() -> Value {
    let citation = json!({
        "type": "object",
        "properties": {"number": {"type": "integer"}, "quote": {"type": "string"}},
        "required": ["number", "quote"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "answer": {"type": ["string", "null"]},
            "citations": {"type": "array", "items": citation},
        },
        "required": ["answer", "citations"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CONTENT: &str = "# Ann: I sold the boat (in May).\n\n## Why\n\nIt  leaked,\nand I was tired.\n";

    fn quoted(quote: &str) -> Option<String> {
        locate("p", CONTENT, quote).map(|citation| citation.quote)
    }

    #[test]
    fn a_quote_is_found_word_by_word_and_shown_as_in_the_memory() {
        assert_eq!(quoted("I sold the boat"), Some("I sold the boat".into()));
        assert_eq!(quoted("“in May”"), Some("in May".into()));
        assert_eq!(quoted("It leaked, and I was tired"), Some("It  leaked,\nand I was tired".into()));
        assert_eq!(quoted("tired"), Some("tired".into()));
        assert_eq!(locate("p", CONTENT, "leaked").expect("found").section.as_deref(), Some("Why"));
        for made_up in ["I sold the car", "sold boat", "", "  ", "IT LEAKED"] {
            assert_eq!(quoted(made_up), None, "{made_up:?}");
        }
    }

    #[test]
    fn a_long_memory_is_cut_after_a_line_with_a_mark() {
        assert_eq!(shown_text(CONTENT), CONTENT);
        let content = "ChatMessage the valve by half.\n".repeat(200);
        let shown = shown_text(&content);
        let (text, mark) = shown.rsplit_once('\n').expect("a mark");
        assert!(content.starts_with(text) && text.ends_with("half."), "{text}");
        assert!(text.chars().count() > HIT_CHARS_MAX - 30 && text.chars().count() <= HIT_CHARS_MAX);
        let left_out = content.chars().count() - text.chars().count();
        assert_eq!(mark, format!("… (cut here: {left_out} more characters)"));
        assert_eq!(locate("p", &content, mark), None);
        let one_line = "é".repeat(3000);
        assert!(shown_text(&one_line).ends_with("é\n… (cut here: 1000 more characters)"));
    }

    proptest! {
        #[test]
        fn any_part_of_a_memory_can_be_quoted(content in "[a-zé.,# \n]{1,60}", from in 0usize..60, length in 1usize..60) {
            let part: String = content.chars().skip(from).take(length).collect();
            let trimmed = part.trim().trim_matches(QUOTES).trim();
            prop_assume!(!trimmed.is_empty());
            let found = locate("p", &content, &part).expect("a citation").quote;
            prop_assert!(content.contains(&found));
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(words(&found), words(trimmed));
        }

        #[test]
        fn no_quote_panics(content in "\\PC{0,60}", quote in "\\PC{0,30}") {
            let _ = locate("p", &content, &quote);
        }
    }
}
