//! Hostile files as documents: the process that reads a file has limits of time and memory, one for each account, and ends
//! with the server. A file beyond a limit is refused with the limit and changes nothing.

use std::io::{Cursor, Write};
use std::process::{Command, Stdio};

use reqwest::blocking::Client;
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::pdf::{Line, pdf, pdf_of_nested_forms, pdf_with_page_loop};
use crate::support::{Server, fresh, wait_for};

const MIB: usize = 1 << 20;
/// Blanks in a row of a table, and its cells without text.
const BLANKS: usize = 4 << 20;
const CELLS: usize = 2 << 20;
/// Paragraphs of a page of 32 MiB, each of four bytes.
const PARAGRAPHS: usize = 8 << 20;
/// Paragraphs of a DOCX that is small as an archive.
const DOCX_PARAGRAPHS: usize = 1 << 20;
/// Pages of a PDF, with as many lines, each in a size of its own.
const SIZED_PAGES: u32 = 80;
const SIZED_LINES: u32 = 1000;
/// The response to an upload.
#[derive(Debug)]
struct Upload {
    status: u16,
    body: Value,
}

impl Upload {
    fn message(&self) -> &str {
        self.body["error"]["message"].as_str().unwrap_or_default()
    }
}

fn upload(server: &Server, name: &str, bytes: Vec<u8>) -> Upload {
    send(&server.url, &server.key, name, bytes)
}

fn send(url: &str, key: &str, name: &str, bytes: Vec<u8>) -> Upload {
    let request = Client::new().post(format!("{url}/v1/documents?filename={name}")).bearer_auth(key);
    let response = request.body(bytes).send().expect("answers");
    Upload { status: response.status().as_u16(), body: response.json().unwrap_or_default() }
}

/// Checks that a file is refused with a limit, and that the server continues with no document.
fn assert_too_large(server: &Server, name: &str, bytes: Vec<u8>, limit: &str) {
    let refused = upload(server, name, bytes);
    assert_eq!((refused.status, &refused.body["error"]["code"]), (413, &json!("payload_too_large")), "{refused:?}");
    assert!(refused.message().contains(limit), "{refused:?}");
    assert_eq!(server.get("/v1/documents").body["documents"], json!([]));
    assert_eq!(upload(server, "a.md", b"The ferry leaves at nine.".to_vec()).status, 202);
}

/// Returns the process that reads a file for a server, if there is one.
fn reader_of(server: u32) -> Option<u32> {
    for entry in std::fs::read_dir("/proc").expect("lists the processes").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let arguments = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        // After the name in brackets come the state and the parent.
        let parent = stat.rsplit(')').next().and_then(|fields| fields.split_whitespace().nth(1));
        if parent == Some(server.to_string().as_str()) && arguments.contains("read-document") {
            return Some(pid);
        }
    }
    None
}

#[test]
fn a_row_of_blanks_and_cells_is_read() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let page = format!("<table><tr>{}{}<td>Tide", " ".repeat(BLANKS), "<td>".repeat(CELLS));
    let uploaded = upload(&server, "row.html", page.into_bytes());
    assert_eq!((uploaded.status, &uploaded.body["passages"]), (202, &json!(1)), "{uploaded:?}");
}

#[test]
fn a_page_of_32_mib_is_read_within_its_memory() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let page = "<p>a".repeat(PARAGRAPHS);
    assert_eq!(page.len(), 32 * MIB);
    // 16 MiB and eight times the file.
    assert_too_large(&server, "page.html", page.into_bytes(), "272 MiB");
}

#[test]
fn a_small_docx_with_much_markup_is_refused() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let document = format!("<w:document>{}</w:document>", "<w:p><w:t>a</w:t></w:p>".repeat(DOCX_PARAGRAPHS));
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    writer.start_file("word/document.xml", options).expect("starts a part");
    writer.write_all(document.as_bytes()).expect("writes a part");
    let bytes = writer.finish().expect("ends the archive").into_inner();
    assert!(bytes.len() < MIB / 2, "{} bytes", bytes.len());
    assert_too_large(&server, "bomb.docx", bytes, " MiB, the limit for its size");
}

#[test]
fn a_pdf_with_many_sizes_of_headings_is_read() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let text = "Most letters of the file are small. ".repeat(10);
    let mut pages: Vec<Vec<Line<'_>>> = Vec::new();
    for page in 0..SIZED_PAGES {
        let mut lines = vec![(1, text.as_str())];
        for line in 0..SIZED_LINES {
            lines.push((10 + page * SIZED_LINES + line, "Tide"));
        }
        pages.push(lines);
    }
    let pages: Vec<&[Line<'_>]> = pages.iter().map(Vec::as_slice).collect();
    let uploaded = upload(&server, "sizes.pdf", pdf(&pages));
    assert_eq!(uploaded.status, 202, "{uploaded:?}");
}

#[test]
fn a_pdf_whose_pages_form_a_loop_is_refused() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let refused = upload(&server, "loop.pdf", pdf_with_page_loop(&[&[(10, "Tide")]]));
    assert_eq!((refused.status, &refused.body["error"]["code"]), (400, &json!("invalid_document")), "{refused:?}");
    assert!(refused.message().contains("loop"), "{refused:?}");
}

#[test]
fn a_second_file_of_an_account_is_refused_while_one_is_read() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| upload(&server, "slow.pdf", pdf_of_nested_forms()));
        wait_for("the process that reads the file", || reader_of(server.pid()).is_some());
        let second = upload(&server, "a.md", b"The ferry leaves at nine.".to_vec());
        assert_eq!((second.status, &second.body["error"]["code"]), (429, &json!("rate_limited")), "{second:?}");
        // What ends the process ends only its upload.
        let reader = reader_of(server.pid()).expect("still reads").to_string();
        assert!(Command::new("kill").args(["-KILL", &reader]).status().expect("kill runs").success());
        let first = first.join().expect("an answer");
        assert_eq!(first.status, 413, "{first:?}");
    });
    assert_eq!(upload(&server, "a.md", b"The ferry leaves at nine.".to_vec()).status, 202);
}

#[test]
fn a_stop_does_not_wait_for_a_file_that_is_read() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let (url, key, pid) = (server.url.clone(), server.key.clone(), server.pid());
    let first = std::thread::spawn(move || send(&url, &key, "slow.pdf", pdf_of_nested_forms()));
    wait_for("the process that reads the file", || reader_of(pid).is_some());
    assert!(server.terminate());
    // At the end of its time the file would be refused with 413.
    let refused = first.join().expect("an answer");
    assert_eq!((refused.status, &refused.body["error"]["code"]), (503, &json!("storage_unavailable")), "{refused:?}");
}

#[test]
fn the_process_that_reads_a_file_limits_itself() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuebase"));
    command.arg("read-document").env_clear().stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut reader = command.spawn().expect("the binary starts");
    let file = format!("/proc/{}/limits", reader.id());
    wait_for("the limits of the process", || {
        let limits = std::fs::read_to_string(&file).unwrap_or_default();
        let is_set = |name: &str, value: &str| {
            let mut lines = limits.lines();
            lines.any(|line| line.strip_prefix(name).is_some_and(|rest| rest.split_whitespace().next() == Some(value)))
        };
        // Seconds, and 2 GiB.
        is_set("Max cpu time", "10") && is_set("Max address space", "2147483648") && is_set("Max core file size", "0")
    });
    drop(reader.stdin.take());
    assert!(!reader.wait().expect("ends").success(), "the input has no header");
}
