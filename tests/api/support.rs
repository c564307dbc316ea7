//! The API of a temporary data directory, and the transcript of a test.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cuebase::app::App;
use cuebase::clock::Clock;
use cuebase::config::{Config, setting};
use cuebase::server::InProcess;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName};
use hyper::{HeaderMap, Request};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::names::Names;
use crate::template::Template;

/// The time at which every test begins: a Monday.
const START: &str = "2026-05-04T09:00:00Z";
/// Longest wait for the queue to be empty.
const WAIT_MAX: Duration = Duration::from_secs(120);
/// Pause between two looks at the queue, so that the workers have the processor.
const PAUSE: Duration = Duration::from_millis(1);
/// A longer line of a request is cut in the transcript.
const LINE_CHARS_MAX: usize = 200;
/// Fields whose values differ between runs: measured numbers, and the states of the jobs.
const MEASURED_FIELDS: [&str; 6] = ["score", "millis", "vector_ms", "lexical_ms", "graph_ms", "jobs"];

/// The API of a temporary data directory with running jobs.
pub(crate) struct Api {
    in_process: InProcess,
    runtime: Runtime,
    clock: Clock,
    app: Arc<App>,
    callers: Callers,
    names: Names,
    transcript: String,
    /// The parent of the data directory; removed after everything else is closed.
    _folder: TempDir,
}

/// Credentials of the callers.
struct Callers {
    /// Key of the whole account.
    key: String,
    /// Dashboard session of the account.
    session: String,
    /// Key of the namespace `mine`.
    scoped: String,
    /// Dashboard session of another account.
    stranger: String,
}

/// A request as text, in its parts.
struct WrittenRequest<'a> {
    caller: &'a str,
    method: &'a str,
    target: &'a str,
    headers: Vec<(&'a str, &'a str)>,
    body: String,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    /// Returns the body as JSON; null for other bodies.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the hits of a retrieve, which must succeed; none if the field is absent.
    pub(crate) fn hits(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()["hits"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the contents of the hits, best first.
    pub(crate) fn contents(&self) -> Vec<String> {
        self.hits().iter().map(|hit| hit["content"].as_str().expect("content").to_owned()).collect()
    }

    /// Returns the length of a list in the body; zero if it is absent.
    pub(crate) fn list_length(&self, field: &str) -> usize {
        self.json()[field].as_array().map_or(0, Vec::len)
    }

    /// Returns the status and the code of an error. The body must have a code, a message and, in the format of
    /// `GET /v1/retrieve`, the namespace, and nothing else.
    pub(crate) fn refusal(&self) -> (u16, String) {
        let body = self.json();
        let (error, expected, code): (&Value, &[&str], &str) = if body["error"].is_object() {
            assert_eq!(body.as_object().map(Map::len), Some(1), "{self:?}");
            (&body["error"], &["code", "message"], "code")
        } else {
            (&body, &["error", "message", "namespace"], "error")
        };
        let fields: Vec<&String> = error.as_object().expect("an object").keys().collect();
        assert_eq!(fields, expected, "{self:?}");
        for field in expected {
            assert!(error[*field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {self:?}");
        }
        (self.status, error[code].as_str().expect("a code").to_owned())
    }
}

impl Api {
    /// Opens the API with the default settings, but with the built-in table, whose vectors are there at once.
    pub(crate) fn open() -> Self {
        Self::open_with("")
    }

    /// Opens the API with the settings of a file. The built-in model is the table, unless they name one.
    pub(crate) fn open_with(settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        let file = folder.path().join("cuebase.toml");
        std::fs::write(&file, settings).expect("writes");
        let mut options = BTreeMap::new();
        if !settings.contains("builtin") {
            options.insert(setting::model::builtin.key, "table".to_owned());
        }
        let mut config = Config::resolve(&options, |_| None, Some(&file)).expect("the settings are valid");
        config.data = folder.path().join("data");
        let template = Template::shared();
        template.copy_to(&config.data);
        let clock = Clock::manual(START.parse::<Timestamp>().expect("a time"));
        let app = App::open_with_clock(&config, &clock).expect("opens");
        // This program is a test, which reads no files.
        app.intake.document_readers().use_program(env!("CARGO_BIN_EXE_cuebase").into());
        app.jobs.start().expect("the jobs start");
        let in_process = InProcess::new(Arc::clone(&app), config).expect("the API opens");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let callers = Callers {
            key: String::new(),
            session: template.session.clone(),
            scoped: String::new(),
            stranger: template.stranger.clone(),
        };
        let mut api = Self {
            in_process,
            runtime,
            clock,
            app,
            callers,
            names: Names::default(),
            transcript: String::new(),
            _folder: folder,
        };
        api.callers.key = api.new_key(r#"{"name": "account"}"#);
        api
    }

    /// Opens the API with a namespace `mine` and the caller `scoped`, which has a key of that namespace.
    pub(crate) fn open_with_scoped_key() -> Self {
        let mut api = Self::open();
        assert_eq!(api.answer("POST /v1/namespaces\n{\"name\": \"mine\"}").status, 201);
        api.callers.scoped = api.new_key(r#"{"name": "scoped", "namespace": "mine"}"#);
        api
    }

    fn new_key(&self, body: &str) -> String {
        let created = self.answer(&format!("session POST /v1/keys\n{body}")).json();
        created["key"].as_str().expect("a key").to_owned()
    }

    /// Sends requests, which blank lines separate, and adds them with their responses to the transcript.
    pub(crate) fn send(&mut self, requests: &str) {
        let mut paragraph = String::new();
        for line in requests.lines().map(str::trim).chain([""]) {
            if !line.is_empty() {
                paragraph.push_str(line);
                paragraph.push('\n');
            } else if !paragraph.is_empty() {
                let answer = self.answer(&paragraph);
                self.record(&paragraph, &answer);
                paragraph.clear();
            }
        }
    }

    /// Sends a request for a list of memories, and adds only the status and the paths to the transcript.
    pub(crate) fn send_for_paths(&mut self, request: &str) {
        let answer = self.answer(request);
        let body = answer.json();
        let list = body.get("hits").or(body.get("skills")).and_then(Value::as_array);
        self.transcript.push_str(&format!("> {request}\n{}", answer.status));
        for memory in list.into_iter().flatten() {
            self.transcript.push_str(&format!(" {}", memory["path"].as_str().unwrap_or("(no path)")));
        }
        self.transcript.push_str("\n\n");
    }

    /// Sends one request and returns its response. The transcript does not change.
    pub(crate) fn answer(&self, request: &str) -> Answer {
        let revealed = self.names.reveal(request);
        let written = WrittenRequest::parse(&revealed);
        let mut builder = Request::builder().method(written.method).uri(written.target).header(HOST, "api.test");
        if let Some(credential) = self.credential(written.caller) {
            builder = builder.header(AUTHORIZATION, format!("Bearer {credential}"));
        }
        if !written.body.is_empty() && !written.headers.iter().any(|(name, _)| *name == CONTENT_TYPE.as_str()) {
            builder = builder.header(CONTENT_TYPE, "application/json");
        }
        for (name, value) in &written.headers {
            builder = builder.header(*name, *value);
        }
        let request = builder.body(Bytes::from(written.body)).expect("a valid request");
        let response = self.runtime.block_on(self.in_process.respond(request)).expect("a whole response");
        let (head, body) = response.into_parts();
        Answer { status: head.status.as_u16(), headers: head.headers, body }
    }

    /// Sends a `GET` with the account's key.
    pub(crate) fn get(&self, target: &str) -> Answer {
        self.answer(&format!("GET {target}"))
    }

    /// Sends a `POST` with the account's key.
    pub(crate) fn post(&self, target: &str, body: &Value) -> Answer {
        self.answer(&format!("POST {target}\n{body}"))
    }

    /// Posts a conversation of messages with the role `user` and returns the id of the write.
    pub(crate) fn remember(&self, namespace: &str, texts: &[&str]) -> String {
        let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
        let accepted = self.post("/v1/memories", &json!({"namespace": namespace, "messages": messages}));
        assert_eq!(accepted.status, 202, "{accepted:?}");
        accepted.json()["id"].as_str().expect("an id").to_owned()
    }

    /// Sends a request that must be refused with a status and a code.
    pub(crate) fn assert_refused(&self, request: &str, status: u16, code: &str) {
        let answer = self.answer(request);
        assert_eq!(answer.refusal(), (status, code.to_owned()), "{request:.200}");
        assert_eq!(answer.headers.contains_key("retry-after"), status == 429, "{request:.200}");
    }

    /// Checks that no request of the account was counted, so that none changed anything.
    pub(crate) fn assert_nothing_counted(&self) {
        let used = self.get("/v1/usage").json()["used"].clone();
        assert_eq!(used, json!({"writes": 0, "reads": 0, "memories": 0, "chats": 0, "media_bytes": 0}));
    }

    fn credential(&self, caller: &str) -> Option<&str> {
        match caller {
            "key" => Some(&self.callers.key),
            "session" => Some(&self.callers.session),
            "scoped" => Some(&self.callers.scoped),
            "stranger" => Some(&self.callers.stranger),
            "nobody" => None,
            other => panic!("no caller has the name {other:?}"),
        }
    }

    /// Adds a request and its response to the transcript.
    fn record(&mut self, request: &str, answer: &Answer) {
        for line in request.lines() {
            let mut shown: String = line.chars().take(LINE_CHARS_MAX).collect();
            if shown.len() < line.len() {
                shown.push('…');
            }
            self.transcript.push_str(&format!("> {shown}\n"));
        }
        let text = self.names.hide(&answer_text(answer));
        self.transcript.push_str(&text);
        self.transcript.push_str("\n\n");
    }

    /// Returns all requests and responses so far.
    pub(crate) fn transcript(&self) -> &str {
        self.transcript.trim_end()
    }

    /// Waits until no write of the account is in the queue.
    pub(crate) fn settle(&self) {
        let deadline = Instant::now() + WAIT_MAX;
        while self.answer("GET /v1/queue").json()["waiting"] != 0 {
            assert!(Instant::now() < deadline, "timed out waiting for the queue");
            std::thread::sleep(PAUSE);
        }
    }

    /// Moves the clock forward, and notes it in the transcript.
    pub(crate) fn advance(&mut self, time: SignedDuration) {
        self.clock.advance(time);
        self.transcript.push_str(&format!("-- {time:#} later --\n\n"));
    }

    /// Moves the clock forward.
    pub(crate) fn advance_silently(&self, time: SignedDuration) {
        self.clock.advance(time);
    }

    /// Returns the time of the clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.app.jobs.drain();
    }
}

impl<'a> WrittenRequest<'a> {
    fn parse(text: &'a str) -> Self {
        let mut lines = text.lines().peekable();
        let words: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
        let (caller, method, target) = match words[..] {
            [method, target] => ("key", method, target),
            [caller, method, target] => (caller, method, target),
            _ => panic!("not a request: {text:?}"),
        };
        let mut headers = Vec::new();
        while let Some(line) = lines.peek()
            && let Some((name, value)) = line.split_once(": ")
            && HeaderName::from_bytes(name.as_bytes()).is_ok()
        {
            headers.push((name, value));
            lines.next();
        }
        let body = lines.collect::<Vec<&str>>().join("\n");
        Self { caller, method, target, headers, body }
    }
}

/// Returns a response as text: the status, the headers that not every response has, and the body. The body of an error
/// is on one line.
fn answer_text(answer: &Answer) -> String {
    let mut headers: Vec<String> = Vec::new();
    for (name, value) in &answer.headers {
        let value = value.to_str().unwrap_or("(not text)");
        let is_usual = name == CONTENT_TYPE && value == "application/json";
        if !is_usual && name != "x-request-id" {
            headers.push(format!("{name}: {value}\n"));
        }
    }
    headers.sort();
    let body = match serde_json::from_slice::<Value>(&answer.body) {
        Ok(value) if answer.status >= 400 => value.to_string(),
        Ok(mut value) => {
            hide_measured(&mut value);
            serde_json::to_string_pretty(&value).expect("JSON")
        }
        Err(_) => String::from_utf8_lossy(&answer.body).into_owned(),
    };
    format!("{}\n{}{body}", answer.status, headers.concat())
}

/// Replaces the values of measured fields.
fn hide_measured(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if MEASURED_FIELDS.contains(&name.as_str()) && (field.is_number() || field.is_array()) {
                    *field = json!("[measured]");
                } else {
                    hide_measured(field);
                }
            }
        }
        Value::Array(entries) => {
            for entry in entries {
                hide_measured(entry);
            }
        }
        _ => {}
    }
}
