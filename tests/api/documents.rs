//! Documents: uploads in passages, later versions, removal, and files that are refused.

use std::io::{Cursor, Write};

use cuebase::documents::error::DocumentError;
use cuebase::documents::kind::DocumentKind;
use cuebase::documents::read;
use cuebase_language::text::steps::Steps;
use insta::assert_snapshot;
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::{Answer, Api};

/// Most bytes of text of a document.
const TEXT_BYTES_MAX: usize = 8 << 20;
/// Most passages of a document.
const PASSAGES_MAX: usize = 10_000;
const MIB: usize = 1 << 20;
/// Most bytes of an unpacked part of a DOCX.
const PART_BYTES_MAX: usize = 64 << 20;

const GUIDE: &str = "<title>Guide</title><h1>Guide to the boat</h1><p>Ask Iris for the keys.</p><h2>Mooring</h2>\
    <p>Tie the bow line first.</p><h2>Fuel</h2><p>The tank holds forty litres of diesel.</p>";

/// Uploads a file and waits for its passages.
fn upload(api: &Api, query: &str, media_type: &str, body: &str) -> Answer {
    api.answer(&format!("POST /v1/documents?{query}\ncontent-type: {media_type}\n{body}"))
}

/// Uploads a version of the guide, and returns the finished write.
fn upload_guide(api: &Api, body: &str) -> Value {
    let answer = upload(api, "filename=guide.html&wait=30", "text/html", body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[test]
fn a_document_becomes_one_memory_per_passage() {
    let mut api = Api::open();
    api.send(&format!(
        "POST /v1/documents?filename=guide.html&tags=boat&metadata=%7B%22team%22:%22ops%22%7D&occurred_at=2026-05-01
        content-type: text/html
        {GUIDE}"
    ));
    api.settle();
    api.send(
        "GET /v1/documents

        GET /v1/documents/guide-html

        GET /v1/memories/facts/documents/guide-html/guide-to-the-boat/fuel.md",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn a_passage_is_found_with_its_place() {
    let api = Api::open();
    upload_guide(&api, GUIDE);
    let hits = api.get("/v1/retrieve?q=how+much+diesel+fits+into+the+tank&limit=1").hits();
    let expected = json!({
        "id": "guide-html",
        "name": "guide.html",
        "titles": ["Guide to the boat", "Fuel"],
        "position": 2,
        "page": null,
        "line": null,
    });
    assert_eq!(hits[0]["document"], expected, "{hits:?}");
}

#[test]
fn a_new_version_changes_only_what_differs() {
    let api = Api::open();
    let folder = "facts/documents/guide-html";
    let first = upload_guide(&api, GUIDE);
    assert_eq!(first["made"].as_array().map(Vec::len), Some(3), "{first}");
    let head = api.get("/v1/namespaces").json()["namespaces"][0]["head"].clone();
    let same = upload_guide(&api, GUIDE);
    assert_eq!((&same["made"], &same["rewritten"]), (&json!([]), &json!([])), "{same}");
    assert_eq!(api.get("/v1/namespaces").json()["namespaces"][0]["head"], head, "an equal version makes no commit");
    // A passage is inserted, another one changes, and one is gone.
    let changed = GUIDE
        .replace("<h2>Mooring</h2>", "<h2>Lights</h2><p>Switch them on at dusk.</p><h2>Mooring</h2>")
        .replace("forty", "fifty")
        .replace("<p>Ask Iris for the keys.</p>", "");
    let second = upload_guide(&api, &changed);
    assert_eq!(second["made"], json!([format!("{folder}/guide-to-the-boat/lights.md")]), "{second}");
    assert_eq!(second["rewritten"], json!([format!("{folder}/guide-to-the-boat/fuel.md")]), "{second}");
    let document = api.get("/v1/documents/guide-html").json();
    assert_eq!(document["passages"], 3, "{document}");
    let fuel = api.get(&format!("/v1/memories/{folder}/guide-to-the-boat/fuel.md?detail=full")).json();
    assert_eq!(fuel["revisions"].as_array().map(Vec::len), Some(2), "{fuel}");
    assert_eq!(api.get(&format!("/v1/memories/{folder}/guide-to-the-boat.md")).status, 404);
}

#[test]
fn a_removed_document_is_gone_with_its_passages() {
    let mut api = Api::open();
    upload_guide(&api, GUIDE);
    upload(&api, "filename=other.txt&wait=30", "text/plain", "The other file stays.");
    let removed = api.answer("DELETE /v1/documents/guide-html?wait=30");
    assert_eq!(removed.status, 200, "{removed:?}");
    let listed = api.get("/v1/documents").json();
    assert_eq!(listed["documents"].as_array().map(Vec::len), Some(1), "{listed}");
    assert!(api.get("/v1/retrieve?q=diesel+tank").hits().iter().all(|hit| hit["document"]["id"] != "guide-html"));
    api.send("GET /v1/documents/guide-html");
    assert_snapshot!(api.transcript());
}

#[test]
fn a_document_beyond_the_time_limit_becomes_a_dead_letter() {
    let api = Api::open_with("[ingestion]\ntimeout_ms = 1\nretries = 0\n");
    let mut text = String::new();
    for number in 0..5000 {
        text.push_str(&format!("## Buoy {number}\n\nThe buoy {number} is painted red and has a bell.\n\n"));
    }
    let answer = upload(&api, "filename=buoys.md", "text/markdown", &text);
    assert_eq!(answer.status, 202, "{answer:?}");
    api.settle();
    assert_eq!(api.get("/v1/queue").list_length("dead_letters"), 1);
    assert_eq!(api.get("/v1/documents").list_length("documents"), 0);
}

#[test]
fn text_has_lines_and_code_keeps_its_definitions() {
    let api = Api::open();
    upload(&api, "filename=notes.txt&wait=30", "text/plain", "The ferry leaves at nine.");
    upload(&api, "filename=src/tide.rs&wait=30", "application/octet-stream", "pub fn high_tide() -> u8 {\n    6\n}");
    let notes = api.get("/v1/documents/notes-txt").json();
    assert_eq!(notes["memories"][0]["line"], 1, "{notes}");
    let code = api.get("/v1/documents/tide-rs").json();
    assert_eq!(code["memories"][0]["titles"], json!(["tide.rs", "pub fn high_tide() -> u8"]), "{code}");
}

#[test]
fn bad_uploads_are_refused_and_change_nothing() {
    let mut api = Api::open();
    api.send(
        "POST /v1/documents?filename=a.html

        POST /v1/documents
        content-type: text/html
        <p>x</p>

        POST /v1/documents?document_id=A+b
        content-type: text/html
        <p>x</p>

        POST /v1/documents?filename=a.png
        content-type: image/png
        x

        POST /v1/documents?filename=a.txt
        content-type: multipart/form-data; boundary=x
        --x

        POST /v1/documents?filename=a.html
        content-type: text/html
        <script>let x = 1;</script>

        POST /v1/documents?filename=a.docx
        no archive

        POST /v1/documents?filename=a.txt&metadata=team
        content-type: text/plain
        x

        POST /v1/documents?filename=a.txt&occurred_at=soon
        content-type: text/plain
        x

        POST /v1/documents?filename=a.txt&namespace=absent
        content-type: text/plain
        x

        GET /v1/documents",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn documents_are_listed_in_pages() {
    let api = Api::open();
    for name in ["c.txt", "a.txt", "b.txt"] {
        upload(&api, &format!("filename={name}&wait=30"), "text/plain", "Some text.");
    }
    let page = |query: &str| {
        let listed = api.get(&format!("/v1/documents?{query}")).json();
        let documents = listed["documents"].as_array().expect("a list").clone();
        documents.iter().map(|document| document["document_id"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(page(""), ["a-txt", "b-txt", "c-txt"]);
    assert_eq!(page("limit=2"), ["a-txt", "b-txt"]);
    assert_eq!(page("after=b-txt"), ["c-txt"]);
}

#[test]
fn a_document_has_at_most_8_mib_of_text() {
    let api = Api::open();
    let mut text = "x".repeat(TEXT_BYTES_MAX);
    assert!(read(&DocumentKind::PlainText, "a.txt", text.as_bytes(), &Steps::unlimited()).is_ok());
    text.push('x');
    let request = format!("POST /v1/documents?filename=a.txt\ncontent-type: text/plain\n{text}");
    api.assert_refused(&request, 413, "payload_too_large");
    assert_eq!(api.get("/v1/documents").list_length("documents"), 0);
}

#[test]
fn a_document_has_at_most_10_000_passages() {
    let api = Api::open();
    let mut text = String::new();
    for number in 0..PASSAGES_MAX {
        text.push_str(&format!("# Berth {number}\n\nIt is free.\n\n"));
    }
    let passages = read(&DocumentKind::Markdown, "a.md", text.as_bytes(), &Steps::unlimited()).expect("reads");
    assert_eq!(passages.len(), PASSAGES_MAX);
    text.push_str("# One more berth\n\nIt is free.\n");
    let request = format!("POST /v1/documents?filename=a.md\ncontent-type: text/markdown\n{text}");
    api.assert_refused(&request, 413, "payload_too_large");
    assert_eq!(api.get("/v1/documents").list_length("documents"), 0);
}

#[test]
fn a_docx_that_unpacks_to_too_much_is_refused() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    writer.start_file("word/document.xml", options).expect("starts a part");
    writer.write_all(&vec![b' '; PART_BYTES_MAX + 1]).expect("writes a part");
    let bytes = writer.finish().expect("ends the archive").into_inner();
    assert!(bytes.len() < PART_BYTES_MAX / 100, "{} bytes", bytes.len());
    let refused = read(&DocumentKind::Docx, "a.docx", &bytes, &Steps::unlimited());
    assert!(matches!(refused, Err(DocumentError::TooMuchText)), "{refused:?}");
}

#[test]
fn a_document_takes_part_of_the_memory_for_bodies() {
    let api = Api::open_with("[server]\nbody_memory_mib = 24\n");
    // 1 MiB, and 24 MiB of the process that reads it.
    let refused = upload(&api, "filename=a.md", "text/markdown", &"Tide. ".repeat(MIB / 6));
    assert_eq!(refused.refusal(), (413, "payload_too_large".to_owned()));
    let message = refused.json()["error"]["message"].to_string();
    assert!(message.contains("25 MiB") && message.contains("server.body_memory_mib"), "{message}");
    assert_eq!(upload(&api, "filename=a.md", "text/markdown", "The ferry leaves at nine.").status, 202);
}
