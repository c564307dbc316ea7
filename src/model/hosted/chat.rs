//! `POST /chat/completions`, for replies that are JSON of a given schema.
//!
//! The first request has `response_format: json_schema`. If the server refuses it with 400 or 422, the next one has
//! `json_object`, then no `response_format`. If the refusal names `temperature` or `max_completion_tokens`, the next
//! request omits the former or uses the latter. The options that succeeded are remembered. The JSON is searched in the
//! reply, because some models think aloud, fence the JSON, or put prose around it.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::endpoint::Endpoint;
use crate::model::deadline::Deadline;
use crate::model::error::ModelError;
use crate::outgoing::CallError;

/// Characters of a model's refusal that an error repeats.
const REFUSAL_CHARS_MAX: usize = 200;

/// A chat model behind an endpoint.
pub struct Chat {
    endpoint: Arc<Endpoint>,
    model: String,
    /// The options that the server is known to accept.
    options: Mutex<RequestOptions>,
}

/// The options of a request that differ between servers.
#[derive(Clone, Copy)]
struct RequestOptions {
    format: ResponseFormat,
    /// Whether to send `temperature`.
    temperature: bool,
    /// Whether to send the limit of the reply as `max_completion_tokens`, as newer models require, or as `max_tokens`.
    completion_tokens: bool,
}

/// How a request asks for JSON, the strictest form first.
#[derive(Clone, Copy)]
enum ResponseFormat {
    /// `json_schema`.
    Schema,
    /// `json_object`.
    Object,
    /// No `response_format`.
    Plain,
}

impl RequestOptions {
    /// Returns the options to try after a refusal, or `None` if all were tried.
    fn after(self, refusal: &str) -> Option<Self> {
        if !self.completion_tokens && refusal.contains("max_completion_tokens") {
            return Some(Self { completion_tokens: true, ..self });
        }
        if self.temperature && refusal.contains("temperature") {
            return Some(Self { temperature: false, ..self });
        }
        match self.format {
            ResponseFormat::Schema => Some(Self { format: ResponseFormat::Object, ..self }),
            ResponseFormat::Object => Some(Self { format: ResponseFormat::Plain, ..self }),
            ResponseFormat::Plain => None,
        }
    }
}

/// A message of a conversation with a chat model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    /// `system`, `user` or `assistant`.
    pub role: &'static str,
    /// Text of the message.
    pub content: String,
}

/// A request to a chat model.
pub struct ChatRequest<'a> {
    /// The conversation so far.
    pub turns: &'a [ChatMessage],
    /// Name of the schema.
    pub name: &'a str,
    /// JSON schema of the reply.
    pub schema: &'a Value,
    /// Maximum number of tokens of the reply.
    pub tokens_max: u32,
}

/// A reply of a chat model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatReply {
    /// Text of the reply.
    pub text: String,
    /// Whether the reply was cut off at the limit of tokens.
    pub cut: bool,
}

#[derive(Deserialize)]
struct ChatCompletion {
    choices: Vec<CompletionChoice>,
}

#[derive(Deserialize)]
struct CompletionChoice {
    message: CompletionMessage,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct CompletionMessage {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
}

impl Chat {
    /// Returns a client of the model of this name at an endpoint.
    pub fn new(endpoint: Arc<Endpoint>, model: &str) -> Self {
        let options = RequestOptions { format: ResponseFormat::Schema, temperature: true, completion_tokens: false };
        Self { endpoint, model: model.to_owned(), options: Mutex::new(options) }
    }

    /// Returns the name of the model.
    pub fn name(&self) -> &str {
        &self.model
    }

    /// Returns the identity of the model in the records.
    pub fn identity(&self) -> String {
        format!("chat:{}#{}", self.endpoint.url(), self.model)
    }

    /// Returns the endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Asks for a short reply, to see whether the model responds, even if its endpoint is disabled after failures.
    pub fn test(&self, deadline: Deadline) -> Result<ChatReply, ModelError> {
        self.endpoint.allow_probe();
        let schema = json!({
            "type": "object",
            "properties": {"answer": {"type": "string"}},
            "required": ["answer"],
            "additionalProperties": false,
        });
        let content = "Answer with a JSON object whose field \"answer\" is the word \"ready\".".to_owned();
        let turns = [ChatMessage { role: "user", content }];
        self.ask(&ChatRequest { turns: &turns, name: "answer", schema: &schema, tokens_max: 100 }, deadline)
    }

    /// Sends a request and returns the reply.
    pub fn ask(&self, request: &ChatRequest<'_>, deadline: Deadline) -> Result<ChatReply, ModelError> {
        let mut options = *self.options.lock();
        let mut first_refusal = None;
        loop {
            match self.endpoint.ask("/chat/completions", &self.body(request, options), deadline) {
                Ok(response) => {
                    // Stored only on success: the server may have refused for another reason.
                    *self.options.lock() = options;
                    return read_reply(&response);
                }
                Err(CallError::Refused { status: 400 | 422, message }) => {
                    let next = options.after(&message);
                    // If all options are refused, the first refusal describes the actual problem.
                    let first_refusal = first_refusal.get_or_insert(message);
                    match next {
                        Some(next) => options = next,
                        None => return Err(ModelError::Refused(first_refusal.clone())),
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn body(&self, request: &ChatRequest<'_>, options: RequestOptions) -> Value {
        let mut messages = Vec::with_capacity(request.turns.len());
        for turn in request.turns {
            messages.push(json!({"role": turn.role, "content": turn.content}));
        }
        let mut body = json!({"model": self.model, "messages": messages});
        let limit = if options.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
        body[limit] = json!(request.tokens_max);
        if options.temperature {
            body["temperature"] = json!(0);
        }
        match options.format {
            ResponseFormat::Schema => {
                let schema = json!({"name": request.name, "strict": true, "schema": request.schema});
                body["response_format"] = json!({"type": "json_schema", "json_schema": schema});
            }
            ResponseFormat::Object => body["response_format"] = json!({"type": "json_object"}),
            ResponseFormat::Plain => {}
        }
        body
    }
}

fn read_reply(response: &Value) -> Result<ChatReply, ModelError> {
    let completion = ChatCompletion::deserialize(response).map_err(|error| ModelError::Unusable(error.to_string()))?;
    let Some(choice) = completion.choices.into_iter().next() else {
        return Err(ModelError::Unusable("the response has no choices".into()));
    };
    if let Some(refusal) = choice.message.refusal
        && !refusal.is_empty()
    {
        let refusal: String = refusal.chars().take(REFUSAL_CHARS_MAX).collect();
        return Err(ModelError::Unusable(format!("the model refused to reply: {refusal:?}")));
    }
    let cut = choice.finish_reason.as_deref() == Some("length");
    Ok(ChatReply { text: choice.message.content.unwrap_or_default(), cut })
}

/// Returns the last complete JSON object in a reply that has a field of this name.
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

/// Returns the complete elements of an array in JSON that was cut off. The array is the value of the field of this
/// name. No elements if the JSON ends before the array.
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
    fn json_is_found_in_any_surrounding_text() {
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
    fn complete_elements_of_a_cut_array_are_kept() {
        let cut = r#"{"operations": [{"op": "new"}, {"op": "expire", "x": [1, 2]}, {"op": "re"#;
        assert_eq!(elements_of_cut(cut, "operations"), [json!({"op": "new"}), json!({"op": "expire", "x": [1, 2]})]);
        assert!(elements_of_cut(r#"{"operations"#, "operations").is_empty());
        assert!(elements_of_cut(r#"{"operations": [{"op"#, "operations").is_empty());
    }

    #[test]
    fn a_response_without_choices_or_with_a_refusal_is_an_error() {
        assert!(read_reply(&json!({"choices": []})).is_err());
        assert!(read_reply(&json!({"choices": [{"message": {"refusal": "I will not"}}]})).is_err());
        let cut = json!({"choices": [{"message": {"content": "{"}, "finish_reason": "length"}]});
        assert_eq!(read_reply(&cut), Ok(ChatReply { text: "{".into(), cut: true }));
    }

    proptest! {
        #[test]
        fn any_text_is_searched_without_panic(text in "[{}\\[\\]\",:a-zé0-9 ]{0,80}") {
            let _ = object_with(&text, "a");
            let _ = elements_of_cut(&text, "a");
        }
    }
}
