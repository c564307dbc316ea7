//! Files as documents: PDF, which another process reads, imports of files and folders, and kills. The route is tested in
//! `tests/api`.

use reqwest::blocking::Client;
use serde_json::{Value, json};

use crate::support::pdf::{Line, pdf};
use crate::support::{Server, fresh, run, stdout};

/// Random changes to a PDF.
const DAMAGED_FILES: usize = 60;

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
