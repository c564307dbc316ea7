//! Clients that repeat a valid request that takes as much work as possible: they read each response and ask again.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::corpus::Corpus;
use crate::loopback::{Client, Server};

/// Concurrent clients.
pub(crate) const CLIENTS: usize = 200;
/// Namespaces of one request, the most that one may name.
const NAMESPACES: usize = 8;
/// Conversations in each namespace, of 20 messages.
const CONVERSATIONS: usize = 60;
/// Writes about one attribute, and values in each.
const VALUE_WRITES: usize = 8;
const VALUES_PER_WRITE: usize = 250;
/// Characters of a long query. The limit is 8,192.
const QUERY_CHARS: usize = 7800;
/// The namespace with many values of one attribute.
const VALUES: &str = "values";
/// The namespace with large memories, their number, and the bytes of each.
const BOOKS: &str = "books";
const BOOK_COUNT: usize = 20;
const BOOK_BYTES: usize = 300 << 10;

/// A request that takes much work.
pub(crate) struct ExpensiveRequest {
    pub(crate) name: &'static str,
    method: &'static str,
    target: String,
    body: String,
}

/// Stores what the requests search.
pub(crate) fn fill(client: &mut Client, corpus: &mut Corpus) -> io::Result<()> {
    for number in 0..NAMESPACES {
        let namespace = namespace(number);
        client.send("POST", "/v1/namespaces", &json!({"name": namespace}).to_string())?;
        for _ in 0..CONVERSATIONS {
            let mut turns = Vec::new();
            for (name, text) in corpus.conversation(20) {
                turns.push(json!({"role": "user", "name": name, "content": text}));
            }
            write(client, &namespace, &turns)?;
        }
    }
    client.send("POST", "/v1/namespaces", &json!({"name": VALUES}).to_string())?;
    for write_number in 0..VALUE_WRITES {
        let mut turns = Vec::new();
        for number in 0..VALUES_PER_WRITE {
            let text = format!("I weigh {} kg.", write_number * VALUES_PER_WRITE + number);
            turns.push(json!({"role": "user", "name": "Ann", "content": text}));
        }
        write(client, VALUES, &turns)?;
    }
    client.send("POST", "/v1/namespaces", &json!({"name": BOOKS}).to_string())?;
    for number in 0..BOOK_COUNT {
        let mut content = format!("# The harbour book, volume {number}\n");
        while content.len() < BOOK_BYTES {
            for (name, text) in corpus.conversation(20) {
                content.push_str(&format!("\n{name} wrote into the harbour book: {text}\n"));
            }
        }
        let body = json!({"namespace": BOOKS, "content": content, "cues": ["the harbour book"]});
        let (status, body) = client.send("POST", &format!("/v1/memories/facts/book{number}.md"), &body.to_string())?;
        if status != 201 {
            return Err(io::Error::other(format!("a write was refused: {status} {}", String::from_utf8_lossy(&body))));
        }
    }
    Ok(())
}

fn write(client: &mut Client, namespace: &str, turns: &[Value]) -> io::Result<()> {
    let body = json!({"namespace": namespace, "occurred_at": "2026-05-04T09:00:00Z", "messages": turns});
    let (status, body) = client.send("POST", "/v1/memories", &body.to_string())?;
    if status == 202 {
        return Ok(());
    }
    Err(io::Error::other(format!("a write was refused: {status} {}", String::from_utf8_lossy(&body))))
}

fn namespace(number: usize) -> String {
    format!("many{number}")
}

/// Returns the requests.
pub(crate) fn requests(corpus: &mut Corpus) -> Vec<ExpensiveRequest> {
    let mut query = String::new();
    while query.len() < QUERY_CHARS {
        for (_, text) in corpus.conversation(1) {
            query.push_str(&text);
            query.push(' ');
        }
    }
    let names: Vec<String> = (0..NAMESPACES).map(namespace).collect();
    let (names, encoded) = (names.join(","), query.replace(' ', "+").replace(['%', '&', '#', '?', '\''], ""));
    let answer = json!({"q": query, "namespace": names, "limit": 200}).to_string();
    let question = "How+much+did+Ann+weigh+in+May+2026?";
    let context = "admit=all&limit=200&max_tokens=32000";
    vec![
        ExpensiveRequest::get("longest query, 8 namespaces", format!("/v1/retrieve?q={encoded}&namespace={names}")),
        ExpensiveRequest {
            name: "answer, 8 namespaces",
            method: "POST",
            target: "/v1/answer".to_owned(),
            body: answer,
        },
        ExpensiveRequest::get(
            "context of 32,000 tokens, 8 namespaces",
            format!("/v1/context?q={encoded}&namespace={names}&{context}"),
        ),
        ExpensiveRequest::get(
            "retrieve, an attribute with 2,000 values",
            format!("/v1/retrieve?q={question}&namespace={VALUES}"),
        ),
        ExpensiveRequest::get(
            "context, an attribute with 2,000 values",
            format!("/v1/context?q={question}&namespace={VALUES}&{context}"),
        ),
        ExpensiveRequest::get(
            "context, 20 memories of 300 KiB",
            format!("/v1/context?q=What+stands+in+the+harbour+book?&namespace={BOOKS}&{context}"),
        ),
    ]
}

impl ExpensiveRequest {
    fn get(name: &'static str, target: String) -> Self {
        Self { name, method: "GET", target, body: String::new() }
    }

    /// Sends the request once and returns the status of the response.
    pub(crate) fn status(&self, server: &Server, key: &str) -> io::Result<u16> {
        let mut client = Client::connect(&server.address, key)?;
        Ok(client.send(self.method, &self.target, &self.body)?.0)
    }

    /// Repeats the request on all clients while `work` runs.
    pub(crate) fn repeat_while<T>(&self, server: &Server, key: &str, work: impl FnOnce() -> T) -> T {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| self.repeat(server, key, &done));
            }
            let outcome = work();
            done.store(true, Ordering::Relaxed);
            outcome
        })
    }

    fn repeat(&self, server: &Server, key: &str, done: &AtomicBool) {
        while !done.load(Ordering::Relaxed) {
            let Ok(mut client) = Client::connect(&server.address, key) else { return };
            // The server may refuse a request, and close the connection.
            while !done.load(Ordering::Relaxed) && client.send(self.method, &self.target, &self.body).is_ok() {}
        }
    }
}
