//! Answers by a chat model, which must show where they stand.
//!
//! The model is given the question and the hits as data (`prompt.md`) and cites what its answer rests on. A citation
//! counts when its words stand in the memory, one after the other; what is shown then is the memory's text, not the
//! model's. An answer none of whose citations counts is asked for once more, then not given.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::passage::{self, Passage};
use super::{Citation, section_at};
use crate::memory::time::format_ms;
use crate::model::hosted::Chat;
use crate::model::hosted::chat::{ChatMessage, ChatRequest, object_with};
use crate::model::{Deadline, ModelError};
use crate::service::retrieval::Found;

const PROMPT: &str = include_str!("prompt.md");
/// Hits that a model is shown.
const HITS_MAX: usize = 16;
/// Characters of a hit that are shown; a longer one is cut behind a line, with a mark.
const HIT_CHARS_MAX: usize = 2000;
/// A hit that is less likely than this to answer the question is not shown.
const SCORE_MIN: f32 = 0.005;
/// Tokens of an answer with its citations.
const TOKENS_MAX: u32 = 1024;
/// What stands around a quote without belonging to it.
const QUOTES: [char; 8] = ['"', '\'', '“', '”', '„', '«', '»', '…'];

/// An answer with what it rests on.
#[derive(Debug, PartialEq)]
pub(super) struct Grounded {
    pub(super) answer: String,
    pub(super) citations: Vec<Citation>,
}

#[derive(Deserialize)]
struct Reply {
    #[serde(default)]
    answer: Option<String>,
    #[serde(default)]
    citations: Vec<Cited>,
}

#[derive(Deserialize)]
struct Cited {
    number: usize,
    quote: String,
}

/// Has a model answer from hits; none when they hold no answer.
pub(super) fn answer(
    chat: &Chat,
    question: &str,
    hits: &[Found],
    deadline: Deadline,
) -> Result<Option<Grounded>, ModelError> {
    let shown: Vec<&Found> = hits.iter().filter(|hit| hit.score >= SCORE_MIN).take(HITS_MAX).collect();
    if shown.is_empty() {
        return Ok(None);
    }
    let memory = |(number, hit): (usize, &&Found)| {
        let text = shown_text(&hit.memory.content);
        json!({"number": number, "occurred_at": hit.memory.occurred.and_then(format_ms), "text": text})
    };
    let memories: Vec<Value> = (1..).zip(&shown).map(memory).collect();
    let data = json!({"question": question, "now": Timestamp::now().to_string(), "memories": memories});
    let prompt = PROMPT.split_once('\n').map_or(PROMPT, |(_, text)| text).trim();
    let mut turns = vec![
        ChatMessage { role: "system", content: prompt.to_owned() },
        ChatMessage { role: "user", content: data.to_string() },
    ];
    let schema = schema();
    for last in [false, true] {
        let asked = ChatRequest { turns: &turns, name: "answer", schema: &schema, tokens_max: TOKENS_MAX };
        let said = chat.ask(&asked, deadline)?;
        let reply = object_with(&said.text, "answer").and_then(|object| Reply::deserialize(object).ok());
        let complaint = match reply {
            Some(Reply { answer, citations }) => {
                let answer = answer.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
                let Some(answer) = answer else { return Ok(None) };
                let found = citations.iter().filter_map(|cited| {
                    let hit = shown.get(cited.number.checked_sub(1)?)?;
                    locate(&hit.memory.path, &hit.memory.content, &cited.quote)
                });
                let mut citations: Vec<Citation> = Vec::new();
                for citation in found {
                    if !citations.contains(&citation) {
                        citations.push(citation);
                    }
                }
                if !citations.is_empty() {
                    return Ok(Some(Grounded { answer, citations }));
                }
                "No quote stands in the memory that it cites. Quote letter by letter, or answer null."
            }
            None => "That cannot be read. Answer with the JSON object alone.",
        };
        if last && object_with(&said.text, "answer").is_none() {
            return Err(ModelError::Unusable("no answer could be read".into()));
        }
        turns.push(ChatMessage { role: "assistant", content: said.text });
        turns.push(ChatMessage { role: "user", content: complaint.to_owned() });
    }
    Ok(None)
}

/// What a model is shown of a memory. A long one ends behind a line, with a mark that the prompt explains.
fn shown_text(content: &str) -> String {
    let Some(limit) = passage::limit(content, &(0..content.len()), HIT_CHARS_MAX) else {
        return content.to_owned();
    };
    let mut shown = Passage::verbatim(content, 0..passage::line_end(content, 0, limit)).text;
    let left_out = content.chars().count() - shown.chars().count();
    shown.push_str(&format!("\n… (cut here: {left_out} more characters)"));
    shown
}

/// The passage of a memory that a quote means: the same words one after the other, whatever white space is between.
fn locate(path: &str, content: &str, quote: &str) -> Option<Citation> {
    let quote = quote.trim().trim_matches(QUOTES).trim();
    let wanted: Vec<&str> = quote.split_whitespace().collect();
    let (first, last) = (wanted.first()?, wanted.last()?);
    // Where each word of the content begins.
    let words: Vec<(usize, &str)> =
        content.split_whitespace().map(|word| (word.as_ptr() as usize - content.as_ptr() as usize, word)).collect();
    words.windows(wanted.len()).find_map(|window| {
        // A quote may begin and end within a word: before a full stop, after a bracket.
        let inner = window.iter().zip(&wanted).enumerate().all(|(n, ((_, word), wanted_word))| {
            let (at_start, at_end) = (n == 0, n + 1 == wanted.len());
            match (at_start, at_end) {
                (true, true) => word.contains(wanted_word),
                (true, false) => word.ends_with(wanted_word),
                (false, true) => word.starts_with(wanted_word),
                (false, false) => word == wanted_word,
            }
        });
        if !inner {
            return None;
        }
        let (&(start, start_word), &(end, end_word)) = (window.first()?, window.last()?);
        let from = start + if wanted.len() == 1 { start_word.find(first)? } else { start_word.rfind(first)? };
        let to = if wanted.len() == 1 { from + first.len() } else { end + end_word.find(last)? + last.len() };
        let section = section_at(content, from);
        Some(Citation { path: path.to_owned(), section, quote: content.get(from..to)?.to_owned() })
    })
}

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
    fn a_quote_is_found_word_by_word_and_shown_as_it_stands() {
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
    fn a_long_memory_is_shown_up_to_the_end_of_a_line_and_says_that_it_is_cut() {
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
            let found = locate("p", &content, &part).expect("it stands there").quote;
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
