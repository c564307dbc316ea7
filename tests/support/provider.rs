//! An imitation of a hosted provider: OpenAI's dialect, with the habits and the illnesses of the servers that people run.
//!
//! Its embeddings are the built-in table's, its extractions the built-in extractor's, so that whatever holds without a
//! provider must hold with it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cuebase::ingest::extract::extract;
use cuebase::memory::draft::Draft;
use cuebase::memory::request::conversation;
use cuebase::model::StaticTable;
use cuebase::text::steps::Steps;
use cuebase_retrieval::content_terms;
use cuebase_storage::memory_file::OccurredSource;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::fake::{self, Asked, Told};

/// What a server does differently from OpenAI's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Habit {
    /// Nothing.
    #[default]
    None,
    /// Knows no `dimensions`, and says so as FastAPI does.
    NoDimensions,
    /// Knows no JSON schema.
    NoSchema,
    /// Knows no `response_format` at all.
    NoFormat,
    /// Wants `max_completion_tokens` and no `temperature`.
    NewNames,
    /// Puts prose and a fence around its JSON.
    Prose,
    /// Thinks aloud first.
    Thinks,
    /// Cuts off answers about more than one message.
    Cuts,
    /// Its vectors have 1,536 dimensions.
    LongVectors,
}

/// What is wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A status with an error body that repeats the key.
    Status(u16),
    /// 429, with `retry-after: 0`.
    Later,
    /// 429, with a `retry-after` of that many seconds.
    LaterBy(u64),
    /// The connection is closed.
    Closed,
    /// Nothing until the caller gives up.
    Silence,
    /// An answer after so many milliseconds.
    Slow(u64),
    /// Half of a JSON document.
    HalfJson,
    /// Vectors that are too short for their number, and an answer that is no object.
    WrongShape,
    /// Vectors with a number that is none, and operations outside all rules.
    Nonsense,
    /// Nothing in the list.
    Empty,
    /// No vector in the list; for a chat, an answer that is no object.
    NoVectors,
}

/// A running imitation.
#[derive(Clone)]
pub(crate) struct Provider {
    pub(crate) url: String,
    state: Arc<State>,
}

type Chance = Box<dyn FnMut() -> Option<Fault> + Send>;
type Scripted = Box<dyn Fn(&Value) -> Value + Send>;

#[derive(Default)]
struct State {
    habit: Mutex<Habit>,
    /// What is wrong with embeddings, asked before each.
    embedding_fault: Mutex<Option<Fault>>,
    chat_fault: Mutex<Option<Fault>>,
    /// Calls that hold this word are answered with 500.
    cursed: Mutex<Option<String>>,
    /// Draws a fault for each call, where it is set.
    chance: Mutex<Option<Chance>>,
    /// Answers extractions instead of the built-in extractor: from what the model was shown to operations.
    script: Mutex<Option<Scripted>>,
    /// Every text that was embedded, in order.
    embedded: Mutex<Vec<String>>,
    /// What the latest question showed.
    shown: Mutex<Option<Value>>,
    /// Calls of either kind that were answered well.
    calls: Mutex<Calls>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) embeddings: usize,
    pub(crate) chats: usize,
    pub(crate) refused: usize,
    /// Calls that are never answered.
    pub(crate) silent: usize,
    /// Calls that are answered with an error status, or with a closed connection.
    pub(crate) failed: usize,
}

impl Provider {
    /// One on a free port.
    pub(crate) fn start() -> Self {
        let state = Arc::new(State::default());
        let answering = Arc::clone(&state);
        let url = fake::serve(move |asked| answering.answer(asked));
        Self { url: format!("{url}/v1"), state }
    }

    /// The one that the whole suite shares where it is run with a hosted model.
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

    /// Answers calls that hold a word with 500, from now on.
    pub(crate) fn curse(&self, word: &str) {
        *self.state.cursed.lock() = Some(word.to_owned());
    }

    pub(crate) fn chance(&self, chance: impl FnMut() -> Option<Fault> + Send + 'static) {
        *self.state.chance.lock() = Some(Box::new(chance));
    }

    /// Answers extractions with what a function makes of what was shown.
    pub(crate) fn script(&self, script: impl Fn(&Value) -> Value + Send + 'static) {
        *self.state.script.lock() = Some(Box::new(script));
    }

    pub(crate) fn embedded(&self) -> Vec<String> {
        self.state.embedded.lock().clone()
    }

    /// What the latest question showed: the question and the memories.
    pub(crate) fn shown(&self) -> Option<Value> {
        self.state.shown.lock().clone()
    }

    pub(crate) fn calls(&self) -> Calls {
        *self.state.calls.lock()
    }

    /// Settings for a server that embeds here.
    pub(crate) fn embedding_settings(&self) -> String {
        format!("[model]\nbase_url = '{}'\napi_key = 'sk-test-secret'\nembedding = 'imitation'\n", self.url)
    }

    /// Settings for a server that extracts here.
    pub(crate) fn chat_settings(&self) -> String {
        format!("[model]\nbase_url = '{}'\napi_key = 'sk-test-secret'\nchat = 'imitation'\n", self.url)
    }
}

impl State {
    fn answer(&self, asked: &Asked) -> Told {
        let chat = asked.path == "/v1/chat/completions";
        if !chat && asked.path != "/v1/embeddings" {
            return Told::Text(404, "404 page not found".into());
        }
        let set = if chat { *self.chat_fault.lock() } else { *self.embedding_fault.lock() };
        let cursed = self.cursed.lock().as_ref().is_some_and(|word| asked.body.to_string().contains(word.as_str()));
        let set = if cursed { Some(Fault::Status(500)) } else { set };
        let fault = set.or_else(|| self.chance.lock().as_mut().and_then(|draw| draw()));
        if matches!(fault, Some(Fault::Status(_) | Fault::Later | Fault::LaterBy(_) | Fault::Closed)) {
            self.calls.lock().failed += 1;
        }
        match fault {
            Some(Fault::Status(status)) => {
                let message = format!("the model is unwell; your key is {}", asked.authorization);
                return Told::Json(status, json!({"error": {"message": message}}));
            }
            Some(Fault::Later) => return Told::Later(429, 0, json!({"error": "slow down"})),
            Some(Fault::LaterBy(seconds)) => return Told::Later(429, seconds, json!({"error": "slow down"})),
            Some(Fault::Closed) => return Told::Nothing,
            Some(Fault::Silence) => {
                self.calls.lock().silent += 1;
                return Told::Silence;
            }
            Some(Fault::HalfJson) => return Told::Text(200, "{\"data\": [{\"embedding\": [0.1,".into()),
            Some(Fault::Slow(milliseconds)) => std::thread::sleep(Duration::from_millis(milliseconds)),
            _ => {}
        }
        if let Some(refusal) = self.refusal(&asked.body) {
            self.calls.lock().refused += 1;
            return refusal;
        }
        let body = if chat { self.chat(&asked.body, fault) } else { self.embed(&asked.body, fault) };
        Told::Json(200, body)
    }

    /// What the habit does not know is refused, each in its own form of error.
    fn refusal(&self, body: &Value) -> Option<Told> {
        let has = |field: &str| body.get(field).is_some();
        match *self.habit.lock() {
            Habit::NoDimensions if has("dimensions") => {
                Some(Told::Json(422, json!({"detail": [{"loc": ["body", "dimensions"], "msg": "extra"}]})))
            }
            Habit::NoSchema if body["response_format"]["type"] == "json_schema" => {
                let message = "'response_format.type' must be 'json_object' or 'text'";
                Some(Told::Json(400, json!({"object": "error", "message": message})))
            }
            Habit::NoFormat if has("response_format") => Some(Told::Text(400, "unknown field response_format".into())),
            Habit::NewNames if has("max_tokens") => {
                let message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
                Some(Told::Json(400, json!({"error": {"message": message}})))
            }
            Habit::NewNames if has("temperature") => {
                Some(Told::Json(400, json!({"error": {"message": "Unsupported value: 'temperature'"}})))
            }
            _ => None,
        }
    }

    fn embed(&self, body: &Value, fault: Option<Fault>) -> Value {
        let table = StaticTable::built_in().expect("the table is whole");
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
        let said = match (fault, shown.get("question")) {
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
        let said = said.to_string();
        let said = match habit {
            Habit::Prose => format!("Of course! Here is what I found:\n```json\n{said}\n```\nLet me know."),
            Habit::Thinks => format!("<think>Is {{this}} right? {{\"operations\": 1}}</think>\n{said}"),
            _ if cut => said[..said.floor_char_boundary(said.len() / 2)].to_owned(),
            _ => said,
        };
        json!({
            "choices": [{"index": 0, "message": {"role": "assistant", "content": said},
                "finish_reason": if cut { "length" } else { "stop" }}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        })
    }
}

/// What the built-in extractor makes of what was shown.
fn operations(shown: &Value) -> Vec<Value> {
    let pieces: Vec<&Value> = shown["messages"].as_array().into_iter().flatten().collect();
    let message = |piece: &&Value| json!({"role": piece["role"], "name": piece["speaker"], "content": piece["text"], "occurred_at": piece["at"]});
    let messages: Vec<Value> = pieces.iter().map(message).collect();
    let body = json!({"messages": messages, "timezone": shown["conversation"]["timezone"]});
    let Ok(conversation) = conversation(body.as_object().expect("an object")) else { return Vec::new() };
    let steps = Steps::unlimited();
    let drafts = extract(&conversation, jiff::Timestamp::UNIX_EPOCH, &steps).expect("nothing interrupts");
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
            // As it was told, it keeps to 400 characters a cue.
            "cues": draft.cues.iter().map(|cue| cue.chars().take(400).collect()).collect::<Vec<String>>(),
            "tags": [],
            "entities": draft.entities,
            "speaker": draft.speaker,
            "occurred_at": (draft.occurred_source == OccurredSource::Extracted).then(|| day()[..10].to_owned()),
            "expires_at": null,
            "confidence": 0.9,
            "messages": draft.messages.iter().map(index).collect::<Vec<_>>(),
            "relations": [],
        })
    };
    drafts.iter().map(operation).collect()
}

/// Everything that a model must not be able to bring about.
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

/// The first line of the memory that shares most words with the question; nothing when none shares any.
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
