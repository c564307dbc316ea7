//! Queued writes that choose their files when they are ingested: terms and documents. They leave files unchanged that
//! were pushed or written directly after they were accepted.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use reqwest::blocking::Client;
use serde_json::{Value, json};

use super::{blocked_model, content, holds, memory_at, post_accepted, write};
use crate::support::provider::Provider;
use crate::support::working_copy::WorkingCopy;
use crate::support::{Server, fresh};

/// Path of the term in the working copy.
const TERM: &str = "vocab/skadi.md";
/// Paths of two passages of the guide.
const MOORING: &str = "facts/documents/guide-html/guide-to-the-boat/mooring.md";
const FUEL: &str = "facts/documents/guide-html/guide-to-the-boat/fuel.md";

/// A server that accepts pushes, with a term and a document, and a working copy of its namespace.
struct Fixture {
    server: Server,
    copy: WorkingCopy,
    /// Folder of the working copy.
    copy_folder: PathBuf,
    /// While it is locked, the chat model does not answer, and queued writes wait.
    gate: Arc<Mutex<()>>,
    /// Ended when this is dropped.
    _provider: Provider,
    /// Removed when this is dropped.
    _folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let (provider, gate) = blocked_model();
        let (folder, data) = fresh();
        let settings = format!("{}[git]\naccept_push = true\n", provider.chat_settings());
        let server = Server::start_with_models(&data, &settings);
        teach(&server, &[("Skadi", "Our oldest pair of skis.")]);
        upload_guide(&server, "Tie the bow line first.", "The tank holds forty litres.");
        server.settle("default");
        let copy_folder = folder.path().join("copy");
        let copy = WorkingCopy::of(&server, "default", &copy_folder);
        Self { server, copy, copy_folder, gate, _provider: provider, _folder: folder }
    }

    /// Pushes a file in which one text replaces another.
    fn push_replacement(&self, path: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.copy_folder.join(path)).expect("reads");
        assert!(text.contains(from), "{text}");
        self.copy.commit(path, &text.replace(from, to));
        assert!(self.copy.push());
    }
}

/// Queues terms with their definitions.
fn teach(server: &Server, terms: &[(&str, &str)]) {
    let mut sent = Vec::new();
    for (term, definition) in terms {
        sent.push(json!({"term": term, "definition": definition}));
    }
    post_accepted(server, "/v1/vocab", &json!({"terms": sent}));
}

fn definition(server: &Server, word: &str) -> Value {
    server.get(&format!("/v1/vocab?word={word}")).body["term"]["definition"].clone()
}

/// Queues a version of the guide, with the texts of two of its passages.
fn upload_guide(server: &Server, mooring: &str, fuel: &str) {
    let guide = format!(
        "<title>Guide</title><h1>Guide to the boat</h1><p>Ask Iris for the keys.</p>\
         <h2>Mooring</h2><p>{mooring}</p><h2>Fuel</h2><p>{fuel}</p>"
    );
    let url = format!("{}/v1/documents?filename=guide.html", server.url);
    let request = Client::new().post(url).bearer_auth(&server.key).header("content-type", "text/html");
    assert_eq!(request.body(guide).send().expect("answers").status().as_u16(), 202);
}

#[test]
fn a_queued_term_does_not_undo_a_later_push() {
    let fixture = Fixture::new();
    let server = &fixture.server;
    let closed = fixture.gate.lock();
    server.remember("default", &["The ski lift opens at nine"]);
    teach(server, &[("Skadi", "A goddess of winter."), ("Ull", "A god of archery.")]);
    fixture.push_replacement(TERM, "Our oldest pair", "Our newest pair");
    drop(closed);
    server.settle("default");
    assert_eq!(definition(server, "skadi"), "Our newest pair of skis.");
    assert_eq!(definition(server, "ull"), "A god of archery.", "the other term of the request is stored");
}

#[test]
fn a_queued_removal_of_a_term_keeps_a_later_push() {
    let fixture = Fixture::new();
    let server = &fixture.server;
    let closed = fixture.gate.lock();
    server.remember("default", &["The ski lift opens at nine"]);
    assert_eq!(server.call("DELETE", "/v1/vocab?term=Skadi", None).status, 202);
    fixture.push_replacement(TERM, "Our oldest pair", "Our newest pair");
    drop(closed);
    server.settle("default");
    assert_eq!(definition(server, "skadi"), "Our newest pair of skis.");
}

#[test]
fn a_queued_document_does_not_undo_a_later_push() {
    let fixture = Fixture::new();
    let server = &fixture.server;
    let closed = fixture.gate.lock();
    server.remember("default", &["The harbour office opens at nine"]);
    upload_guide(server, "Tie the spring line first.", "The tank holds fifty litres.");
    fixture.push_replacement(MOORING, "the bow line", "the stern line");
    drop(closed);
    server.settle("default");
    assert!(holds(server, MOORING, "Tie the stern line first."), "{}", content(server, MOORING));
    assert!(holds(server, FUEL, "fifty litres"), "{}", content(server, FUEL));
    let listed = server.get("/v1/documents/guide-html").body;
    let passages = listed["memories"].as_array().expect("a list").iter();
    let paths: Vec<&str> = passages.filter_map(|passage| passage["path"].as_str()).collect();
    let is_stored = paths.iter().any(|path| holds(server, path, "Tie the spring line first."));
    assert!(is_stored, "the new passage is stored at another path: {paths:?}");
}

#[test]
fn a_queued_removal_of_a_document_keeps_a_later_push() {
    let fixture = Fixture::new();
    let server = &fixture.server;
    let closed = fixture.gate.lock();
    server.remember("default", &["The harbour office opens at nine"]);
    assert_eq!(server.call("DELETE", "/v1/documents/guide-html", None).status, 202);
    fixture.push_replacement(MOORING, "the bow line", "the stern line");
    drop(closed);
    server.settle("default");
    assert!(holds(server, MOORING, "Tie the stern line first."), "{}", content(server, MOORING));
    assert_eq!(server.get(&memory_at(FUEL)).status, 404, "the other passage is removed");
}

#[test]
fn a_queued_document_does_not_undo_a_later_direct_write() {
    let fixture = Fixture::new();
    let server = &fixture.server;
    let closed = fixture.gate.lock();
    server.remember("default", &["The harbour office opens at nine"]);
    upload_guide(server, "Tie the spring line first.", "The tank holds fifty litres.");
    write(server, MOORING, "# Mooring\n\nTie the stern line first.\n");
    drop(closed);
    server.settle("default");
    assert_eq!(content(server, MOORING), "# Mooring\n\nTie the stern line first.\n");
    assert!(holds(server, FUEL, "fifty litres"), "{}", content(server, FUEL));
}
