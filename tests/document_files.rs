//! Files as documents: PDF, imports of files and folders, and kills. The route is tested in `tests/api`, and the limits of
//! the process that reads a file in [`super::document_limits`].

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

use cuebase::model::StaticTable;
use reqwest::blocking::Client;
use serde_json::{Value, json};

use crate::support::fake::{self, FakeRequest, FakeResponse};
use crate::support::pdf::{Line, pdf, pdf_with_password};
use crate::support::{Server, fresh, run, stdout, wait_for};

/// Random changes to a PDF.
const DAMAGED_FILES: usize = 60;
/// Pages of a PDF with more text than its reader collects, which is 16 MiB, and the characters of the line of each.
const LONG_LINES: usize = 17;
const LONG_LINE_CHARS: usize = 1 << 20;
/// Sections of a long document. Each becomes a passage.
const SECTIONS: u64 = 130;
/// Passages that are embedded before the progress changes.
const PASSAGES_PER_STEP: u64 = 64;
/// The number of a section in the second step.
const HELD_SECTION: &str = "100";

const HANDBOOK: [&[Line<'_>]; 2] = [
    &[(24, "Handbook"), (16, "Leave"), (10, "Everybody has thirty days of"), (10, "paid leave a year.")],
    &[(16, "Travel"), (10, "Book trains before flights.")],
];

/// The response to an upload.
#[derive(Debug)]
struct Upload {
    status: u16,
    body: Value,
}

fn upload(server: &Server, query: &str, bytes: Vec<u8>) -> Upload {
    let request = Client::new().post(format!("{}/v1/documents?{query}", server.url)).bearer_auth(&server.key);
    let response = request.header("content-type", "application/pdf").body(bytes).send().expect("answers");
    Upload { status: response.status().as_u16(), body: response.json().unwrap_or_default() }
}

#[test]
fn a_pdf_is_read_by_page_and_heading() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let uploaded = upload(&server, "filename=handbook.pdf&wait=30", pdf(&HANDBOOK));
    assert_eq!(uploaded.status, 200, "{uploaded:?}");
    let document = server.get("/v1/documents/handbook-pdf").body;
    assert_eq!((&document["passages"], &document["pages"]), (&json!(2), &json!(2)), "{document}");
    assert_eq!(document["memories"][1]["titles"], json!(["Handbook", "Travel"]), "{document}");
    let found = server.get("/v1/retrieve?q=how+many+days+of+paid+leave&limit=1").body["hits"][0].clone();
    assert_eq!(found["document"]["page"], 1, "{found}");
    assert!(found["content"].as_str().is_some_and(|text| text.contains("thirty days of paid leave")), "{found}");
}

#[test]
fn damaged_pdf_files_are_refused_and_the_server_goes_on() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let whole = pdf(&HANDBOOK);
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..DAMAGED_FILES {
        let mut bytes = whole.clone();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(0..bytes.len());
            match random.u8(0..3) {
                0 => bytes[at] = random.u8(..),
                1 => bytes.truncate(at.max(1)),
                _ => drop(bytes.splice(at..at, b"<< /Kids [2 0 R 9 0 R] >>".iter().copied())),
            }
        }
        let answer = upload(&server, "filename=damaged.pdf", bytes);
        assert!(matches!(answer.status, 202 | 400 | 413), "{answer:?}");
    }
    let refused = upload(&server, "filename=a.pdf", b"no pdf".to_vec());
    assert_eq!((refused.status, &refused.body["error"]["code"]), (400, &json!("invalid_document")), "{refused:?}");
    assert_eq!(upload(&server, "filename=whole.pdf&wait=30", whole).status, 200);
}

#[test]
fn an_accepted_document_is_stored_after_a_kill() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let uploaded = upload(&server, "filename=handbook.pdf", pdf(&HANDBOOK));
    assert_eq!(uploaded.status, 202, "{uploaded:?}");
    server.kill();
    let server = Server::start(&data);
    server.settle("default");
    assert_eq!(server.get("/v1/documents/handbook-pdf").body["passages"], 2);
}

#[test]
fn files_are_imported_as_documents_once() {
    let (folder, data) = fresh();
    let files = folder.path().join("files");
    std::fs::create_dir_all(files.join("notes")).expect("creates");
    std::fs::write(files.join("handbook.pdf"), pdf(&HANDBOOK)).expect("writes");
    std::fs::write(files.join("notes/tides.md"), "# Tides\n\nHigh tide is at six.\n").expect("writes");
    std::fs::write(files.join("picture.png"), "x").expect("writes");
    let server = Server::start(&data);
    let import = |more: &[&str]| {
        let from = files.to_str().expect("a path");
        stdout(&data, &[&["import", from, "--format", "documents"], more].concat())
    };
    let tried = import(&["--dry-run"]);
    assert!(tried.contains("2 documents, 3 passages, 1 skipped would be imported"), "{tried}");
    assert!(server.get("/v1/documents").body["documents"].as_array().is_some_and(Vec::is_empty));
    let imported = import(&[]);
    assert!(imported.contains("2 documents, 3 passages, 1 skipped"), "{imported}");
    let again = import(&[]);
    assert!(again.contains("3 passages unchanged"), "{again}");
    let listed: Vec<Value> = server.get("/v1/documents").body["documents"].as_array().expect("a list").clone();
    let ids: Vec<&Value> = listed.iter().map(|document| &document["document_id"]).collect();
    assert_eq!(ids, ["handbook-pdf", "notes-tides-md"]);
}

#[test]
fn a_file_that_cannot_be_read_is_not_imported() {
    let (folder, data) = fresh();
    drop(Server::start(&data));
    let file = folder.path().join("broken.docx");
    std::fs::write(&file, "no archive").expect("writes");
    let output = run(&data, &["import", file.to_str().expect("a path")]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.contains("broken.docx") && error.contains("DOCX"), "{error}");
}

#[test]
fn a_pdf_with_a_password_is_refused() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let refused = upload(&server, "filename=secret.pdf", pdf_with_password(&HANDBOOK));
    assert_eq!((refused.status, &refused.body["error"]["code"]), (400, &json!("invalid_document")), "{refused:?}");
    let message = refused.body["error"]["message"].as_str().expect("a message");
    assert!(message.contains("protected by a password"), "{message}");
}

#[test]
fn a_pdf_with_more_text_than_its_reader_collects_is_too_large() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let line = "a".repeat(LONG_LINE_CHARS);
    let page: &[Line<'_>] = &[(10, line.as_str())];
    let refused = upload(&server, "filename=long.pdf", pdf(&[page; LONG_LINES]));
    assert_eq!((refused.status, &refused.body["error"]["code"]), (413, &json!("payload_too_large")), "{refused:?}");
    let message = refused.body["error"]["message"].as_str().expect("a message");
    assert!(message.contains("bytes of text"), "{message}");
}

/// Answers embedding requests. One with [`HELD_SECTION`] waits until the other end of the channel is dropped.
fn embed(request: &FakeRequest, gate: &Mutex<Receiver<()>>) -> FakeResponse {
    let table = StaticTable::built_in().expect("the built-in table loads");
    let mut data = Vec::new();
    let mut is_held = false;
    for (index, text) in request.body["input"].as_array().into_iter().flatten().enumerate() {
        let text = text.as_str().unwrap_or_default();
        is_held |= text.contains(HELD_SECTION);
        data.push(json!({"object": "embedding", "index": index, "embedding": table.vector(text)}));
    }
    if is_held {
        let _ = gate.lock().expect("not poisoned").recv();
    }
    let tokens = data.len();
    let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    FakeResponse::Json(200, json!({"object": "list", "data": data, "usage": usage}))
}

#[test]
fn a_long_document_shows_its_progress() {
    let (_folder, data) = fresh();
    let (release, held) = channel::<()>();
    let gate = Mutex::new(held);
    let url = fake::serve(move |request| embed(request, &gate));
    let settings = format!("[model]\nbase_url = '{url}/v1'\napi_key = 'sk-test-secret'\nembedding = 'imitation'\n");
    let server = Server::start_with_models(&data, &settings);
    let mut page = String::new();
    for number in 0..SECTIONS {
        page.push_str(&format!("<h1>Berth {number}</h1><p>Boat {number} lies here.</p>"));
    }
    let request = Client::new().post(format!("{}/v1/documents?filename=berths.html", server.url));
    let request = request.bearer_auth(&server.key).header("content-type", "text/html").body(page);
    let accepted: Value = request.send().expect("answers").json().expect("JSON");
    assert_eq!(accepted["passages"], SECTIONS, "{accepted}");
    let write = format!("/v1/writes/{}", accepted["id"].as_str().expect("an id"));
    let expected = json!({"done": PASSAGES_PER_STEP, "total": SECTIONS});
    wait_for("the progress of the write", || {
        let state = server.get(&write).body;
        state["status"] == "ingesting" && state["progress"] == expected
    });
    drop(release);
    wait_for("the end of the write", || server.get(&write).body["status"] == "ingested");
    assert_eq!(server.get(&write).body.get("progress"), None);
}
