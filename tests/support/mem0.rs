//! An imitation of mem0: its self-hosted server, an earlier one that does not know `top_k`, and its platform.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::fake::{self, FakeRequest, FakeResponse};

/// The key that the server accepts.
pub(crate) const KEY: &str = "m0sk-secret";

/// The API that a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mem0Api {
    /// `GET /memories`, with `top_k` of up to 1,000.
    SelfHosted,
    /// `GET /memories`, which always returns up to 100 memories.
    Earlier,
    /// `GET /memories`, which returns the memories of all users.
    Unfiltered,
    /// `POST /v3/memories/`, with pages.
    Platform,
}

/// A mem0 server.
pub(crate) struct Mem0 {
    pub(crate) url: String,
    state: Arc<Mem0State>,
}

struct Mem0State {
    api: Mem0Api,
    memories: Mutex<Vec<Value>>,
    /// Method and path of each request.
    requests: Mutex<Vec<String>>,
}

impl Mem0 {
    /// Starts a server on a free port.
    pub(crate) fn start(api: Mem0Api) -> Self {
        let state = Arc::new(Mem0State { api, memories: Mutex::default(), requests: Mutex::default() });
        let answering = Arc::clone(&state);
        let url = fake::serve(move |request| answering.answer(request));
        Self { url, state }
    }

    /// Adds a memory of a user.
    pub(crate) fn add(&self, user: &str, text: &str) {
        let mut memories = self.state.memories.lock();
        let id = format!("00000000-0000-4000-8000-{:012}", memories.len());
        memories.push(json!({
            "id": id, "memory": text, "user_id": user, "hash": "x", "metadata": null,
            "created_at": "2026-05-02T10:07:58.327868+00:00", "updated_at": "2026-05-02T10:07:58.327868+00:00",
        }));
    }

    /// Adds memories of a user, each with a number.
    pub(crate) fn add_many(&self, user: &str, count: usize) {
        for number in 0..count {
            self.add(user, &format!("Owns boat number {number}"));
        }
    }

    /// Returns method and path of each request.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.state.requests.lock().clone()
    }
}

impl Mem0State {
    fn answer(&self, request: &FakeRequest) -> FakeResponse {
        self.requests.lock().push(format!("{} {}", request.method, request.path));
        let (path, query) = request.path.split_once('?').unwrap_or((request.path.as_str(), ""));
        let parameters: HashMap<String, String> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        match (self.api, request.method.as_str(), path) {
            (Mem0Api::Platform, "POST", "/v3/memories/") => self.page(request, &parameters),
            (Mem0Api::Platform, _, _) => FakeResponse::Json(404, json!({"detail": "Not found."})),
            (_, "GET", "/memories") => self.list(request, &parameters),
            (_, _, _) => FakeResponse::Json(404, json!({"detail": "Not Found"})),
        }
    }

    fn list(&self, request: &FakeRequest, parameters: &HashMap<String, String>) -> FakeResponse {
        if request.api_key != KEY {
            return FakeResponse::Json(401, json!({"detail": format!("Invalid API key {}.", request.api_key)}));
        }
        let Some(user) = parameters.get("user_id") else {
            return FakeResponse::Json(400, json!({"detail": "At least one identifier is required."}));
        };
        let top_k = match (self.api, parameters.get("top_k")) {
            (Mem0Api::Earlier, _) => 100,
            (_, Some(top_k)) => top_k.parse().unwrap_or(usize::MAX),
            (_, None) => 20,
        };
        if top_k > 1000 {
            return FakeResponse::Json(422, json!({"detail": [{"loc": ["query", "top_k"]}]}));
        }
        let mut results = if self.api == Mem0Api::Unfiltered { self.memories.lock().clone() } else { self.of(user) };
        results.truncate(top_k);
        FakeResponse::Json(200, json!({"results": results}))
    }

    fn page(&self, request: &FakeRequest, parameters: &HashMap<String, String>) -> FakeResponse {
        if request.authorization != format!("Token {KEY}") {
            return FakeResponse::Json(401, json!({"detail": "Invalid token."}));
        }
        let Some(user) = request.body["filters"]["user_id"].as_str() else {
            return FakeResponse::Json(400, json!({"detail": "filters are required"}));
        };
        let number = |name: &str| parameters.get(name).and_then(|text| text.parse::<usize>().ok());
        let (page, size) = (number("page").unwrap_or(1), number("page_size").unwrap_or(100));
        let memories = self.of(user);
        let next = if page * size < memories.len() { json!(format!("?page={}", page + 1)) } else { Value::Null };
        let results: Vec<&Value> = memories.iter().skip((page - 1) * size).take(size).collect();
        FakeResponse::Json(200, json!({"count": memories.len(), "next": next, "previous": null, "results": results}))
    }

    /// Returns the memories of a user.
    fn of(&self, user: &str) -> Vec<Value> {
        self.memories.lock().iter().filter(|memory| memory["user_id"] == user).cloned().collect()
    }
}
