//! `POST /chat/completions`, for answers that are JSON of a given schema.
//!
//! A server is asked with `response_format: json_schema` first. One that refuses with 400 or 422 is asked with
//! `json_object`, then with nothing; one whose refusal names `temperature` or `max_completion_tokens` is asked without
//! the one, or with the other; and what it took is remembered. Whatever comes back is searched for its JSON: some
//! models think aloud, fence it, or put prose around it. An answer that was cut off says so.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Endpoint;
use crate::model::{Deadline, ModelError};
use crate::outgoing::CallError;

/// A chat model behind an endpoint.
pub struct Chat {
    endpoint: Arc<Endpoint>,
    model: String,
    /// How the server wants to be asked, as far as is known.
    manner: Mutex<Manner>,
}

/// How a server is asked.
#[derive(Clone, Copy)]
struct Manner {
    format: Format,
    temperature: bool,
    /// Whether the limit of an answer is called `max_completion_tokens`, as newer models have it, not `max_tokens`.
    completion_tokens: bool,
}

/// Ways of asking for JSON, the strictest first.
#[derive(Clone, Copy)]
enum Format {
    Schema,
    Object,
    Plain,
}

impl Manner {
    /// What to try after a refusal; none when there is nothing left.
    fn after(self, refusal: &str) -> Option<Self> {
        if !self.completion_tokens && refusal.contains("max_completion_tokens") {
            return Some(Self { completion_tokens: true, ..self });
        }
        if self.temperature && refusal.contains("temperature") {
            return Some(Self { temperature: false, ..self });
        }
        match self.format {
            Format::Schema => Some(Self { format: Format::Object, ..self }),
            Format::Object => Some(Self { format: Format::Plain, ..self }),
            Format::Plain => None,
        }
    }
}

/// One side's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    /// `system`, `user` or `assistant`.
    pub role: &'static str,
    /// What is said.
    pub content: String,
}

/// What is asked.
pub struct ChatRequest<'a> {
    /// The conversation so far.
    pub turns: &'a [ChatMessage],
    /// A name for the schema.
    pub name: &'a str,
    /// What the answer must look like.
    pub schema: &'a Value,
    /// Tokens that the answer may have.
    pub tokens_max: u32,
}

/// What a model said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatReply {
    /// Its words.
    pub text: String,
    /// Whether it was stopped before its end.
    pub cut: bool,
}

#[derive(Deserialize)]
struct Answer {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
}

impl Chat {
    /// A model by its name at an endpoint.
    pub fn new(endpoint: Arc<Endpoint>, model: &str) -> Self {
        let manner = Manner { format: Format::Schema, temperature: true, completion_tokens: false };
        Self { endpoint, model: model.to_owned(), manner: Mutex::new(manner) }
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.model
    }

    /// What stands for it in the records.
    pub fn identity(&self) -> String {
        format!("chat:{}#{}", self.endpoint.url(), self.model)
    }

    /// Where it is.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Asks, and returns what was said.
    pub fn ask(&self, question: &ChatRequest<'_>, deadline: Deadline) -> Result<ChatReply, ModelError> {
        let mut manner = *self.manner.lock();
        let mut refused = None;
        loop {
            match self.endpoint.ask("/chat/completions", &self.body(question, manner), deadline) {
                Ok(answer) => {
                    // Only now: what was refused may have been something else.
                    *self.manner.lock() = manner;
                    return read(&answer);
                }
                Err(CallError::Refused { status: 400 | 422, told }) => {
                    let next = manner.after(&told);
                    // The first refusal is the one that tells what is wrong, should all be refused.
                    let first = refused.get_or_insert(told);
                    manner = next.ok_or_else(|| ModelError::Refused(first.clone()))?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn body(&self, question: &ChatRequest<'_>, manner: Manner) -> Value {
        let turn = |turn: &ChatMessage| json!({"role": turn.role, "content": turn.content});
        let turns: Vec<Value> = question.turns.iter().map(turn).collect();
        let mut body = json!({"model": self.model, "messages": turns});
        let limit = if manner.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
        body[limit] = json!(question.tokens_max);
        if manner.temperature {
            body["temperature"] = json!(0);
        }
        match manner.format {
            Format::Schema => {
                let schema = json!({"name": question.name, "strict": true, "schema": question.schema});
                body["response_format"] = json!({"type": "json_schema", "json_schema": schema});
            }
            Format::Object => body["response_format"] = json!({"type": "json_object"}),
            Format::Plain => {}
        }
        body
    }
}

fn read(answer: &Value) -> Result<ChatReply, ModelError> {
    let answer = Answer::deserialize(answer).map_err(|error| ModelError::Unusable(error.to_string()))?;
    let choice = answer.choices.into_iter().next();
    let choice = choice.ok_or_else(|| ModelError::Unusable("it said nothing at all".into()))?;
    if let Some(refusal) = choice.message.refusal.filter(|refusal| !refusal.is_empty()) {
        let refusal: String = refusal.chars().take(200).collect();
        return Err(ModelError::Unusable(format!("it would not: {refusal:?}")));
    }
    let cut = choice.finish_reason.as_deref() == Some("length");
    Ok(ChatReply { text: choice.message.content.unwrap_or_default(), cut })
}

/// The JSON object in what a model said that has a field of this name: the last whole one.
pub fn object_with(text: &str, field: &str) -> Option<Value> {
    let mut found = None;
    let mut at = 0;
    while let Some(next) = text.get(at..)?.find('{') {
        let start = at + next;
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                at = start + values.byte_offset().max(1);
                if value.get(field).is_some() {
                    found = Some(value);
                }
            }
            _ => at = start + 1,
        }
    }
    found
}

/// The whole elements of an array by its field's name in JSON that was cut off; nothing where it does not get that far.
pub fn elements_of_cut(text: &str, field: &str) -> Vec<Value> {
    let Some(at) = text.find(&format!("\"{field}\"")) else { return Vec::new() };
    let Some(open) = text[at..].find('[') else { return Vec::new() };
    let mut rest = text[at + open + 1..].trim_start();
    let mut elements = Vec::new();
    loop {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else { return elements };
        let end = values.byte_offset();
        elements.push(value);
        rest = rest[end..].trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None => return elements,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn json_is_found_in_whatever_is_around_it() {
        for text in [
            r#"{"answer": 1}"#,
            "Sure! Here it is:\n```json\n{\"answer\": 1}\n```\nAnything else?",
            "<think>{\"answer\": 0} or {maybe}</think>{\"answer\": 1}",
            r#"{"other": {"answer": 2}} {"answer": 1}"#,
        ] {
            assert_eq!(object_with(text, "answer"), Some(json!({"answer": 1})), "{text}");
        }
        assert_eq!(object_with("{\"answer\": ", "answer"), None);
        assert_eq!(object_with("no { json } here", "answer"), None);
    }

    #[test]
    fn what_is_whole_of_a_cut_array_is_kept() {
        let cut = r#"{"operations": [{"op": "new"}, {"op": "expire", "x": [1, 2]}, {"op": "re"#;
        assert_eq!(elements_of_cut(cut, "operations"), [json!({"op": "new"}), json!({"op": "expire", "x": [1, 2]})]);
        assert!(elements_of_cut(r#"{"operations"#, "operations").is_empty());
        assert!(elements_of_cut(r#"{"operations": [{"op"#, "operations").is_empty());
    }

    #[test]
    fn an_answer_without_words_or_with_a_refusal_is_told() {
        assert!(read(&json!({"choices": []})).is_err());
        assert!(read(&json!({"choices": [{"message": {"refusal": "I will not"}}]})).is_err());
        let cut = json!({"choices": [{"message": {"content": "{"}, "finish_reason": "length"}]});
        assert_eq!(read(&cut), Ok(ChatReply { text: "{".into(), cut: true }));
    }

    proptest! {
        #[test]
        fn any_text_is_searched_without_panic(text in "[{}\\[\\]\",:a-zé0-9 ]{0,80}") {
            let _ = object_with(&text, "a");
            let _ = elements_of_cut(&text, "a");
        }
    }
}
