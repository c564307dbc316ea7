//! `cuebase reextract`: extracts kept conversations again without undoing later changes by users.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::provider::Provider;
use crate::support::working_copy::WorkingCopy;
use crate::support::{Server, fresh, git, run, stdout, with_models};

const KEEPER: &str = "The lighthouse keeper is called Agatha";
const BAKER: &str = "The baker in Oban closes on Tuesdays";
const FERRY: &str = "The ferry to Skye leaves at nine";

/// Returns a model that makes one memory of each message. The title of the memory begins with `word`.
fn model(word: &'static str) -> Provider {
    let provider = Provider::start();
    provider.script(move |shown| {
        let mut operations = Vec::new();
        for message in shown["messages"].as_array().into_iter().flatten() {
            let text = message["text"].as_str().unwrap_or_default();
            operations.push(json!({
                "op": "new", "tier": "facts", "topic": "Oban", "title": format!("{word} {text}"),
                "cues": [text], "messages": [message["index"]], "confidence": 0.8,
            }));
        }
        json!({"operations": operations})
    });
    provider
}

/// A data directory with two conversations that were extracted without a model. They have two messages and one message.
struct ExtractedData {
    data: PathBuf,
    /// The id of the write of the first conversation.
    first: String,
    /// Keeps the temporary folder.
    _folder: tempfile::TempDir,
}

impl ExtractedData {
    fn new() -> (Self, Server) {
        let (folder, data) = fresh();
        let server = Server::start_with_models(&data, "[git]\naccept_push = true\n");
        let first = server.remember("default", &[KEEPER, BAKER]);
        let body = json!({"session_id": "ferry", "messages": [{"role": "user", "content": FERRY}]});
        assert_eq!(server.post("/v1/memories", &body).status, 202);
        server.drain();
        assert_eq!(contents(&server).len(), 3);
        (Self { data, first, _folder: folder }, server)
    }

    /// Starts the server with a model, runs `reextract` with further options, and returns its output.
    fn reextract(&self, provider: &Provider, options: &[&str]) -> (Server, String) {
        let server = Server::start_with_models(&self.data, &provider.chat_settings());
        let report = stdout(&self.data, &[&["reextract"], options].concat());
        (server, report)
    }
}

/// Returns the memories of the namespace.
fn hits(server: &Server) -> Vec<Value> {
    server.retrieve("default", "tiers=facts,incidents,rules,skills&limit=200&detail=full").hits()
}

/// Returns the texts of the memories, sorted.
fn contents(server: &Server) -> Vec<String> {
    let mut contents = server.retrieve("default", "tiers=facts,incidents,rules,skills&limit=200").contents();
    contents.sort();
    contents
}

/// Returns whether any memory contains a text.
fn has_memory_with(server: &Server, text: &str) -> bool {
    contents(server).iter().any(|content| content.contains(text))
}

fn path_of(server: &Server, text: &str) -> String {
    let hits = hits(server);
    let hit = hits.iter().find(|hit| hit["content"].as_str().expect("content").contains(text)).expect("a memory");
    hit["path"].as_str().expect("a path").to_owned()
}

fn head(server: &Server) -> String {
    git(&server.repository("default"), &["rev-parse", "main"])
}

#[test]
fn the_same_extractor_changes_nothing() {
    let (kept, server) = ExtractedData::new();
    let before = head(&server);
    assert_eq!(stdout(&kept.data, &["reextract"]), "2 conversations extracted again");
    assert_eq!(head(&server), before);
    assert!(server.terminate());
    // The command also changes nothing without a server.
    let alone = with_models(&kept.data, "", &["reextract"]).output().expect("the binary runs");
    assert!(alone.status.success(), "{}", String::from_utf8_lossy(&alone.stderr));
    assert_eq!(String::from_utf8_lossy(&alone.stdout).trim_end(), "2 conversations extracted again");
    assert_eq!(head(&Server::start_with_models(&kept.data, "")), before);
}

#[test]
fn another_models_memories_replace_the_earlier_ones() {
    let (kept, server) = ExtractedData::new();
    let path = path_of(&server, "Agatha");
    assert!(server.terminate());
    let provider = model("Better:");
    let (server, report) = kept.reextract(&provider, &[]);
    assert_eq!(report, "2 conversations extracted again");
    let contents = contents(&server);
    assert_eq!(contents.len(), 3, "{contents:?}");
    assert!(contents.iter().all(|content| content.contains("Better:")), "{contents:?}");
    let hits = hits(&server);
    let hit = hits.iter().find(|hit| hit["content"].as_str().expect("content").contains("Agatha")).expect("a memory");
    assert_eq!(hit["path"], json!(path), "a memory of the same messages keeps its path");
    assert_eq!(hit["sources"], json!([{"message": 0, "write": kept.first}]));
    let source = server.get(&format!("/v1/sources/{}", kept.first));
    assert_eq!(source.body["memories"].as_array().map(Vec::len), Some(2), "{source:?}");
    let log = git(&server.repository("default"), &["log", "-2", "--format=%B"]);
    assert!(log.contains(&format!("Cuebase-Source: {}", kept.first)), "{log}");
    assert!(log.contains("Cuebase-Extractor: imitation, prompt"), "{log}");
    // A repetition changes nothing, and a third model replaces the memories of the second.
    let before = head(&server);
    stdout(&kept.data, &["reextract"]);
    assert_eq!(head(&server), before);
    assert!(server.terminate());
    let (server, _) = kept.reextract(&model("Best:"), &[]);
    assert!(self::contents(&server).iter().all(|content| content.contains("Best:")));
    assert!(server.terminate());
    assert!(run(&kept.data, &["doctor"]).status.success());
}

#[test]
fn a_dry_run_prints_the_changes_of_the_extraction_and_changes_nothing() {
    let (kept, server) = ExtractedData::new();
    let nothing = stdout(&kept.data, &["reextract", "--dry-run"]);
    assert_eq!(nothing, "2 conversations: would add 0, change 0 and forget 0 memories");
    let forgotten = path_of(&server, "ferry");
    assert!(server.terminate());
    let provider = Provider::start();
    provider.script(|shown| {
        let text = shown["messages"][0]["text"].as_str().unwrap_or_default();
        let kept = json!({
            "op": "new", "tier": "facts", "topic": "Oban", "title": format!("Better: {text}"),
            "cues": [text], "messages": [0], "confidence": 0.8,
        });
        json!({"operations": if text == FERRY { json!([]) } else { json!([kept]) }})
    });
    let (server, preview) = kept.reextract(&provider, &["--dry-run"]);
    let (before, all) = (head(&server), contents(&server));
    assert!(all.iter().all(|content| !content.contains("Better")), "{all:?}");
    assert!(preview.contains(&format!("--- {forgotten}\n+++ /dev/null\n")), "{preview}");
    assert!(preview.contains(&format!("+# Better: {KEEPER}")), "{preview}");
    assert!(
        preview.ends_with("2 conversations: would add 0, change 1 and forget 2 memories"),
        "the baker and the ferry: {preview}"
    );
    stdout(&kept.data, &["reextract"]);
    let changed = git(&server.repository("default"), &["diff", "--name-status", before.trim(), "main"]);
    let counts = ["A", "M", "D"].map(|kind| changed.lines().filter(|line| line.starts_with(kind)).count());
    assert_eq!(counts, [0, 1, 2], "{changed}");
}

#[test]
fn only_the_named_session_is_extracted_again() {
    let (kept, server) = ExtractedData::new();
    assert!(server.terminate());
    let (server, report) = kept.reextract(&model("Better:"), &["--session", "ferry"]);
    assert_eq!(report, "1 conversations extracted again");
    assert!(has_memory_with(&server, "Better: The ferry") && !has_memory_with(&server, "Better: The baker"));
}

#[test]
fn a_deleted_conversation_is_not_extracted_again() {
    let (kept, server) = ExtractedData::new();
    assert_eq!(server.call("DELETE", &format!("/v1/sources/{}", kept.first), None).status, 200);
    assert!(server.terminate());
    let (server, report) = kept.reextract(&model("Better:"), &[]);
    assert_eq!(report, "1 conversations extracted again");
    assert!(has_memory_with(&server, "Agatha") && !has_memory_with(&server, "Better: The lighthouse"));
}

#[test]
fn a_directly_rewritten_memory_stays_and_others_are_replaced() {
    let (kept, server) = ExtractedData::new();
    let path = path_of(&server, "Agatha");
    let corrected = json!({"content": "# The keeper is called Berta"});
    assert_eq!(server.post(&format!("/v1/memories/{path}"), &corrected).status, 200);
    assert!(server.terminate());
    let (server, _) = kept.reextract(&model("Better:"), &[]);
    assert!(has_memory_with(&server, "Berta") && !has_memory_with(&server, "Agatha"), "{:?}", contents(&server));
    assert!(
        has_memory_with(&server, "Better: The baker") && has_memory_with(&server, "Better: The ferry"),
        "{:?}",
        contents(&server)
    );
    assert_eq!(contents(&server).len(), 3);
}

#[test]
fn a_forgotten_memory_does_not_return() {
    let (kept, server) = ExtractedData::new();
    let path = path_of(&server, "Agatha");
    assert_eq!(server.call("DELETE", &format!("/v1/memories/{path}"), None).status, 202);
    server.drain();
    assert!(!has_memory_with(&server, "Agatha"));
    assert!(server.terminate());
    let (server, _) = kept.reextract(&model("Better:"), &[]);
    assert!(!has_memory_with(&server, "Agatha"), "{:?}", contents(&server));
    assert!(has_memory_with(&server, "Better: The baker"), "{:?}", contents(&server));
}

#[test]
fn a_memory_edited_by_a_push_stays() {
    let (kept, server) = ExtractedData::new();
    let path = path_of(&server, "Agatha");
    let folder = kept.data.with_extension("clone");
    let copy = WorkingCopy::of(&server, "default", &folder);
    let file = std::fs::read_to_string(folder.join(&path)).expect("reads");
    // The front matter still names the write.
    copy.commit(&path, &file.replace("Agatha", "Berta"));
    assert!(copy.push());
    assert!(server.terminate());
    let (server, _) = kept.reextract(&model("Better:"), &[]);
    assert!(has_memory_with(&server, "Berta") && !has_memory_with(&server, "Agatha"), "{:?}", contents(&server));
    assert!(has_memory_with(&server, "Better: The baker"), "{:?}", contents(&server));
}

#[test]
fn a_missing_namespace_is_reported_by_name() {
    let (_folder, data) = fresh();
    let _server = Server::start(&data);
    let refused = run(&data, &["reextract", "--namespace", "nothing"]);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("nothing"), "{error}");
}

#[test]
fn an_export_is_extracted_into_a_new_namespace_by_another_model() {
    let (kept, server) = ExtractedData::new();
    assert!(server.terminate());
    let server = Server::start_with_models(&kept.data, &model("Better:").chat_settings());
    let out = kept.data.with_extension("jsonl");
    let out = out.to_str().expect("a path");
    stdout(&kept.data, &["export", out]);
    stdout(&kept.data, &["import", out, "--namespace", "better"]);
    let made = server.retrieve("better", "tiers=facts,incidents,rules,skills&limit=200").contents();
    assert!(made.len() == 3 && made.iter().all(|content| content.contains("Better:")), "{made:?}");
}
