//! An imitation of a hosted provider with OpenAI's API, and with the differences and the faults of other servers.
//!
//! Its embeddings are the built-in table's, its extractions the built-in extractor's. Results must therefore
//! not differ from those without a provider.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cuebase::ingest::extraction::extract;
use cuebase::memory::request::conversation;
use cuebase::model::StaticTable;
use cuebase_language::extract::draft::Draft;
use cuebase_language::text::steps::Steps;
use cuebase_language::tokenize::content_terms;
use cuebase_storage::memory_file::{OccurredSource, Polarity};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::fake::{self, FakeRequest, FakeResponse};

/// A difference from OpenAI's API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Habit {
    /// No difference.
    #[default]
    None,
    /// Rejects `dimensions`, with an error in FastAPI's format.
    NoDimensions,
    /// Rejects JSON schemas.
    NoSchema,
    /// Rejects `response_format`.
    NoFormat,
    /// Requires `max_completion_tokens` and rejects `temperature`.
    NewNames,
    /// Writes prose and a code fence around its JSON.
    Prose,
    /// Writes its reasoning before its JSON.
    Thinks,
    /// Truncates responses about more than one message.
    Cuts,
    /// Returns vectors of 1,536 dimensions.
    LongVectors,
}

/// A fault in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An error status, with a body that repeats the API key.
    Status(u16),
    /// 429, with `retry-after: 0`.
    Later,
    /// 429, with this `retry-after` in seconds.
    LaterBy(u64),
    /// The connection is closed.
    Closed,
    /// No response until the client gives up.
    Silence,
    /// A correct response after this number of milliseconds.
    Slow(u64),
    /// Half of a JSON document.
    HalfJson,
    /// Vectors of another length, and a chat answer that is not an object.
    WrongShape,
    /// Vectors with `null` in place of a number, and operations that break the rules.
    Nonsense,
    /// An empty list.
    Empty,
    /// An empty list of vectors; for a chat, an answer that is not an object.
    NoVectors,
}

/// A running imitation of a provider.
#[derive(Clone)]
pub(crate) struct Provider {
    pub(crate) url: String,
    state: Arc<ProviderState>,
}

type FaultSource = Box<dyn FnMut() -> Option<Fault> + Send>;
type ExtractionScript = Box<dyn Fn(&Value) -> Value + Send>;

#[derive(Default)]
struct ProviderState {
    habit: Mutex<Habit>,
    /// Fault of every embedding call.
    embedding_fault: Mutex<Option<Fault>>,
    /// Fault of every chat call.
    chat_fault: Mutex<Option<Fault>>,
    /// Calls that contain this word are answered with 500.
    failing_word: Mutex<Option<String>>,
    /// Chooses a fault for each call without another fault.
    fault_source: Mutex<Option<FaultSource>>,
    /// Replaces the built-in extractor: maps the content of a request to operations.
    script: Mutex<Option<ExtractionScript>>,
    /// Every text that was embedded, in order.
    embedded: Mutex<Vec<String>>,
    /// Content of the latest request with a question.
    shown: Mutex<Option<Value>>,
    /// Numbers of calls.
    calls: Mutex<Calls>,
}

/// Numbers of calls to a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) embeddings: usize,
    pub(crate) chats: usize,
    /// Calls that a habit rejects.
    pub(crate) refused: usize,
    /// Calls that are never answered.
    pub(crate) silent: usize,
    /// Calls that are answered with an error status, or with a closed connection.
    pub(crate) failed: usize,
}

impl Provider {
    /// Starts a provider on a free port.
    pub(crate) fn start() -> Self {
        let state = Arc::new(ProviderState::default());
        let answering = Arc::clone(&state);
        let url = fake::serve(move |request| answering.answer(request));
        Self { url: format!("{url}/v1"), state }
    }

    /// Returns the provider that the whole suite shares when it runs with a hosted model.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Provider> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    pub(crate) fn habit(&self, habit: Habit) {
        *self.state.habit.lock() = habit;
    }

    pub(crate) fn embedding_fault(&self, fault: Option<Fault>) {
        *self.state.embedding_fault.lock() = fault;
    }

    pub(crate) fn chat_fault(&self, fault: Option<Fault>) {
        *self.state.chat_fault.lock() = fault;
    }

    /// Answers all further calls that contain a word with 500.
    pub(crate) fn fail_calls_with(&self, word: &str) {
        *self.state.failing_word.lock() = Some(word.to_owned());
    }

    /// Calls a function for each further call, which chooses its fault.
    pub(crate) fn inject_faults(&self, source: impl FnMut() -> Option<Fault> + Send + 'static) {
        *self.state.fault_source.lock() = Some(Box::new(source));
    }

    /// Answers extractions with the operations that a function returns for the content of the request.
    pub(crate) fn script(&self, script: impl Fn(&Value) -> Value + Send + 'static) {
        *self.state.script.lock() = Some(Box::new(script));
    }

    /// Returns every text that was embedded, in order.
    pub(crate) fn embedded(&self) -> Vec<String> {
        self.state.embedded.lock().clone()
    }

    /// Returns the content of the latest request with a question: the question and the memories.
    pub(crate) fn shown(&self) -> Option<Value> {
        self.state.shown.lock().clone()
    }

    pub(crate) fn calls(&self) -> Calls {
        *self.state.calls.lock()
    }

    /// Returns settings for a server that embeds with this provider.
    pub(crate) fn embedding_settings(&self) -> String {
        format!("[model]\nbase_url = '{}'\napi_key = 'sk-test-secret'\nembedding = 'imitation'\n", self.url)
    }

    /// Returns settings for a server that extracts with this provider.
    pub(crate) fn chat_settings(&self) -> String {
        format!("[model]\nbase_url = '{}'\napi_key = 'sk-test-secret'\nchat = 'imitation'\n", self.url)
    }
}

impl ProviderState {
    fn answer(&self, request: &FakeRequest) -> FakeResponse {
        let is_chat = request.path == "/v1/chat/completions";
        if !is_chat && request.path != "/v1/embeddings" {
            return FakeResponse::Text(404, "404 page not found".into());
        }
        let fault = self.choose_fault(request, is_chat);
        if matches!(fault, Some(Fault::Status(_) | Fault::Later | Fault::LaterBy(_) | Fault::Closed)) {
            self.calls.lock().failed += 1;
        }
        match fault {
            Some(Fault::Status(status)) => {
                let message = format!("the model is unwell; your key is {}", request.authorization);
                return FakeResponse::Json(status, json!({"error": {"message": message}}));
            }
            Some(Fault::Later) => return FakeResponse::RetryAfter(429, 0, json!({"error": "slow down"})),
            Some(Fault::LaterBy(seconds)) => {
                return FakeResponse::RetryAfter(429, seconds, json!({"error": "slow down"}));
            }
            Some(Fault::Closed) => return FakeResponse::Closed,
            Some(Fault::Silence) => {
                self.calls.lock().silent += 1;
                return FakeResponse::Silence;
            }
            Some(Fault::HalfJson) => return FakeResponse::Text(200, "{\"data\": [{\"embedding\": [0.1,".into()),
            Some(Fault::Slow(milliseconds)) => std::thread::sleep(Duration::from_millis(milliseconds)),
            _ => {}
        }
        if let Some(refusal) = self.refusal(&request.body) {
            self.calls.lock().refused += 1;
            return refusal;
        }
        let body = if is_chat { self.chat(&request.body, fault) } else { self.embed(&request.body, fault) };
        FakeResponse::Json(200, body)
    }

    /// Chooses the fault of a call: by its words, by its kind, or from the source of faults.
    fn choose_fault(&self, request: &FakeRequest, is_chat: bool) -> Option<Fault> {
        if let Some(word) = self.failing_word.lock().as_ref()
            && request.body.to_string().contains(word.as_str())
        {
            return Some(Fault::Status(500));
        }
        let fault = if is_chat { *self.chat_fault.lock() } else { *self.embedding_fault.lock() };
        if fault.is_some() {
            return fault;
        }
        let mut source = self.fault_source.lock();
        let choose = source.as_mut()?;
        choose()
    }

    /// Rejects a request that the habit does not support, with an error in the format of the servers with this habit.
    fn refusal(&self, body: &Value) -> Option<FakeResponse> {
        let has = |field: &str| body.get(field).is_some();
        match *self.habit.lock() {
            Habit::NoDimensions if has("dimensions") => {
                Some(FakeResponse::Json(422, json!({"detail": [{"loc": ["body", "dimensions"], "msg": "extra"}]})))
            }
            Habit::NoSchema if body["response_format"]["type"] == "json_schema" => {
                let message = "'response_format.type' must be 'json_object' or 'text'";
                Some(FakeResponse::Json(400, json!({"object": "error", "message": message})))
            }
            Habit::NoFormat if has("response_format") => {
                Some(FakeResponse::Text(400, "unknown field response_format".into()))
            }
            Habit::NewNames if has("max_tokens") => {
                let message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
                Some(FakeResponse::Json(400, json!({"error": {"message": message}})))
            }
            Habit::NewNames if has("temperature") => {
                Some(FakeResponse::Json(400, json!({"error": {"message": "Unsupported value: 'temperature'"}})))
            }
            _ => None,
        }
    }

    fn embed(&self, body: &Value, fault: Option<Fault>) -> Value {
        let table = StaticTable::built_in().expect("the built-in table loads");
        let inputs: Vec<&str> = body["input"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        self.calls.lock().embeddings += 1;
        let long = *self.habit.lock() == Habit::LongVectors;
        let vector = |(index, text): (usize, &&str)| {
            let mut vector = table.vector(text);
            if long {
                vector.resize(1536, 0.1);
            }
            let mut vector = json!(vector);
            match fault {
                Some(Fault::WrongShape) => vector = json!(vec![0.1; 1536]),
                Some(Fault::Nonsense) => vector[0] = Value::Null,
                _ => {}
            }
            json!({"object": "embedding", "index": index, "embedding": vector})
        };
        let mut data: Vec<Value> = inputs.iter().enumerate().map(vector).collect();
        if matches!(fault, Some(Fault::Empty | Fault::NoVectors)) {
            data.clear();
        }
        if fault.is_none_or(|fault| matches!(fault, Fault::Slow(_))) {
            self.embedded.lock().extend(inputs.iter().map(|text| (*text).to_owned()));
        }
        json!({"object": "list", "data": data, "usage": {"prompt_tokens": inputs.len(), "total_tokens": inputs.len()}})
    }

    fn chat(&self, body: &Value, fault: Option<Fault>) -> Value {
        self.calls.lock().chats += 1;
        let shown = body["messages"].as_array().and_then(|turns| {
            turns
                .iter()
                .filter(|turn| turn["role"] == "user")
                .find_map(|turn| serde_json::from_str::<Value>(turn["content"].as_str()?).ok())
        });
        let shown: Value = shown.unwrap_or_default();
        if shown.get("question").is_some() {
            *self.shown.lock() = Some(shown.clone());
        }
        let habit = *self.habit.lock();
        let content = match (fault, shown.get("question")) {
            (Some(Fault::WrongShape | Fault::NoVectors), _) => json!(["no", "object"]),
            (Some(Fault::Nonsense), None) => json!({"operations": hostile()}),
            (Some(Fault::Empty), None) => json!({"operations": []}),
            (_, Some(_)) => answer(&shown),
            (_, None) => {
                let scripted = self.script.lock().as_ref().map(|script| script(&shown));
                scripted.unwrap_or_else(|| json!({"operations": operations(&shown)}))
            }
        };
        let messages = shown["messages"].as_array().map_or(0, Vec::len);
        let cut = habit == Habit::Cuts && messages > 1;
        let content = content.to_string();
        let content = match habit {
            Habit::Prose => format!("Of course! Here is what I found:\n```json\n{content}\n```\nLet me know."),
            Habit::Thinks => format!("<think>Is {{this}} right? {{\"operations\": 1}}</think>\n{content}"),
            _ if cut => content[..content.floor_char_boundary(content.len() / 2)].to_owned(),
            _ => content,
        };
        json!({
            "choices": [{"index": 0, "message": {"role": "assistant", "content": content},
                "finish_reason": if cut { "length" } else { "stop" }}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        })
    }
}

/// Returns the operations of the built-in extractor for the content of a request.
fn operations(shown: &Value) -> Vec<Value> {
    let pieces: Vec<&Value> = shown["messages"].as_array().into_iter().flatten().collect();
    let message = |piece: &&Value| json!({"role": piece["role"], "name": piece["speaker"], "content": piece["text"], "occurred_at": piece["at"]});
    let messages: Vec<Value> = pieces.iter().map(message).collect();
    let body = json!({"messages": messages, "timezone": shown["conversation"]["timezone"]});
    let Ok(conversation) = conversation(body.as_object().expect("an object")) else { return Vec::new() };
    let steps = Steps::unlimited();
    let drafts = extract(&conversation, jiff::Timestamp::UNIX_EPOCH, &steps).expect("nothing interrupts").drafts;
    let index = |place: &usize| pieces[*place]["index"].clone();
    let operation = |draft: &Draft| {
        let (title, rest) = draft.body.split_once('\n').unwrap_or((&draft.body, ""));
        let day = || draft.occurred.at.to_string();
        json!({
            "op": "new",
            "path": null,
            "tier": draft.tier.name(),
            "topic": draft.topic,
            "title": title.trim_start_matches("# "),
            "body": rest.trim(),
            // The prompt limits a cue to 400 characters.
            "cues": draft.cues.iter().map(|cue| cue.chars().take(400).collect()).collect::<Vec<String>>(),
            "tags": [],
            "entities": draft.entities,
            "speaker": draft.speaker,
            "occurred_at": (draft.occurred_source == OccurredSource::Extracted).then(|| day()[..10].to_owned()),
            "expires_at": null,
            "confidence": 0.9,
            "messages": draft.messages.iter().map(index).collect::<Vec<_>>(),
            "relations": [],
            "claims": claims(draft),
        })
    };
    drafts.iter().map(operation).collect()
}

/// Returns the claims of a draft as a model words them, which always names a subject.
fn claims(draft: &Draft) -> Vec<Value> {
    let mut claims = Vec::new();
    for claim in &draft.inferred.claims {
        if claim.subject.is_empty() {
            continue;
        }
        claims.push(json!({
            "subject": claim.subject,
            "attribute": claim.attribute,
            "value": claim.value,
            "polarity": if claim.polarity == Polarity::Positive { "positive" } else { "negative" },
            "from": claim.from.map(|from| from.to_string()),
        }));
    }
    claims
}

/// Operations that a model must not be able to perform.
fn hostile() -> Vec<Value> {
    let paths = ["../../../etc/passwd", "/etc/passwd", "facts/../../x.md", "vocab/x.md", ".git/hooks/post-commit"];
    let mut operations: Vec<Value> = paths
        .iter()
        .flat_map(|path| {
            let write = json!({"op": "rewrite", "path": path, "title": "owned", "body": "owned", "messages": [0]});
            let expire = json!({"op": "expire", "path": path, "expires_at": "2020-01-01"});
            let tier = json!({"op": "new", "tier": path, "title": "owned", "messages": [0]});
            [write, expire, tier]
        })
        .collect();
    operations.push(json!({"op": "delete", "path": "facts"}));
    operations.push(json!("drop everything"));
    operations
}

/// Answers with the first line of the memory that shares most words with the question, or `null` if none shares a word.
fn answer(shown: &Value) -> Value {
    let wanted = content_terms(shown["question"].as_str().unwrap_or_default());
    let shared = |memory: &&Value| {
        let terms = content_terms(memory["text"].as_str().unwrap_or_default());
        wanted.iter().filter(|term| terms.contains(term)).count()
    };
    let best = shown["memories"].as_array().into_iter().flatten().max_by_key(shared);
    let Some(best) = best.filter(|memory| shared(memory) > 0) else { return json!({"answer": null, "citations": []}) };
    let line = best["text"].as_str().and_then(|text| text.lines().next()).unwrap_or_default().trim_start_matches("# ");
    json!({"answer": format!("They say: {line}"), "citations": [{"number": best["number"], "quote": line}]})
}
