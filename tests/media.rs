//! Uploaded files and the signed URLs that open them.

use std::path::PathBuf;

use reqwest::blocking::{Client, Response};
use serde_json::{Value, json};

use crate::support::{Server, files_below, fresh, stdout, wait_for};

/// A file that a browser would run as a page.
const PAGE: &[u8] = b"<script>alert(1)</script>\0\xff";
/// More than a JSON body may have.
const LARGE_BYTES: usize = 9 << 20;
/// The largest upload.
const BYTES_MAX: usize = 32 << 20;

/// The response to an upload.
#[derive(Debug)]
struct Upload {
    status: u16,
    body: Value,
}

impl Upload {
    fn id(&self) -> String {
        self.body["id"].as_str().expect("an id").to_owned()
    }
}

fn upload(server: &Server, query: &str, content_type: &str, bytes: Vec<u8>) -> Upload {
    let request = Client::new().post(format!("{}/v1/media?{query}", server.url)).bearer_auth(&server.key);
    let response = request.header("content-type", content_type).body(bytes).send().expect("answers");
    Upload { status: response.status().as_u16(), body: response.json().unwrap_or_default() }
}

fn open(url: &str) -> Response {
    Client::new().get(url).send().expect("answers")
}

/// Returns the signed URL of an upload.
fn signed_url(server: &Server, id: &str) -> String {
    let media = server.get(&format!("/v1/media/{id}"));
    assert_eq!(media.status, 200, "{media:?}");
    media.body["url"].as_str().expect("a URL").to_owned()
}

/// A server with [`PAGE`] as an upload.
struct ServerWithUpload {
    server: Server,
    data: PathBuf,
    id: String,
    /// Removed when this is dropped.
    _folder: tempfile::TempDir,
}

impl ServerWithUpload {
    fn start() -> Self {
        let (folder, data) = fresh();
        let server = Server::start(&data);
        let uploaded = upload(&server, "filename=caf%C3%A9%22.html", "text/html", PAGE.to_vec());
        assert_eq!(uploaded.status, 201, "{uploaded:?}");
        Self { server, data, id: uploaded.id(), _folder: folder }
    }
}

#[test]
fn an_upload_is_described_in_the_response() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let uploaded = upload(&server, "filename=caf%C3%A9%22.html", "text/html", PAGE.to_vec());
    assert_eq!(
        (uploaded.status, &uploaded.body["namespace"], &uploaded.body["content_type"]),
        (201, &json!("default"), &json!("text/html")),
        "{uploaded:?}"
    );
    assert_eq!(uploaded.body["bytes"], json!(PAGE.len()));
    assert_eq!(uploaded.body["sha256"].as_str().map(str::len), Some(64));
    assert!(uploaded.body["id"].is_string());
}

#[test]
fn an_upload_can_be_opened_after_a_kill() {
    let ServerWithUpload { server, data, id, _folder } = ServerWithUpload::start();
    server.kill();
    let server = Server::start(&data);
    let url = signed_url(&server, &id);
    assert!(url.starts_with(&server.url), "{url}");
    let opened = open(&url);
    assert_eq!(opened.status(), 200);
    assert_eq!(opened.bytes().expect("bytes"), PAGE);
}

#[test]
fn a_browser_does_not_run_an_uploaded_page() {
    let uploaded = ServerWithUpload::start();
    let opened = open(&signed_url(&uploaded.server, &uploaded.id));
    assert_eq!(opened.status(), 200);
    assert_eq!(header(&opened, "content-type"), "application/octet-stream");
    assert_eq!(header(&opened, "x-content-type-options"), "nosniff");
    assert!(header(&opened, "content-security-policy").contains("sandbox"));
    assert!(header(&opened, "content-disposition").starts_with("attachment"));
}

/// Returns a header of a response; empty if it is absent.
fn header(response: &Response, name: &str) -> String {
    let Some(value) = response.headers().get(name) else { return String::new() };
    value.to_str().expect("text").to_owned()
}

#[test]
fn an_upload_is_opened_by_its_signed_url_only() {
    let uploaded = ServerWithUpload::start();
    let (server, id) = (&uploaded.server, &uploaded.id);
    let url = signed_url(server, id);
    let rows = [
        ("another signature", url.replace("signature=", "signature=A")),
        ("a later expiry", url.replace("expires=", "expires=9")),
        ("another upload", url.replace(id.as_str(), "01KR0000000000000000000000")),
        ("no signature", format!("{}/v1/media/{id}/content", server.url)),
    ];
    let mut failures = Vec::new();
    for (what, changed) in rows {
        assert_ne!(changed, url, "{what}");
        let refused = open(&changed);
        let status = refused.status().as_u16();
        let body: Value = refused.json().expect("JSON");
        if (status, &body) != (403, &json!({"message": "Forbidden"})) {
            failures.push(format!("{what}: {status} {body}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn an_unknown_upload_is_not_found() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    assert_eq!(server.get("/v1/media/none").code(), "not_found");
}

#[test]
fn an_upload_of_another_account_is_not_found() {
    let uploaded = ServerWithUpload::start();
    let stranger = stdout(&uploaded.data, &["keys", "create", "--account", "stranger"]);
    let answer = uploaded.server.call_as(&stranger, "GET", &format!("/v1/media/{}", uploaded.id), None);
    assert_eq!(answer.status, 404, "{answer:?}");
}

#[test]
fn the_uploads_of_a_deleted_namespace_are_deleted() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("deleted");
    let [deleted, kept] = ["deleted", "default"]
        .map(|namespace| upload(&server, &format!("namespace={namespace}"), "text/plain", vec![1, 2, 3]).id());
    let url = signed_url(&server, &deleted);
    let session = stdout(&data, &["token"]);
    assert_eq!(server.call_as(&session, "DELETE", "/v1/namespaces/deleted", None).status, 200);
    assert_eq!(server.get(&format!("/v1/media/{deleted}")).status, 404);
    assert_eq!(open(&url).status(), 403);
    // The response to the deletion does not wait for the removal of the files.
    let media = data.join("media");
    wait_for("the files of the namespace to be removed", || file_names_below(&media) == [kept.as_str()]);
}

fn file_names_below(folder: &std::path::Path) -> Vec<String> {
    let mut names = Vec::new();
    for file in files_below(folder) {
        names.push(file.file_name().expect("a name").to_string_lossy().into_owned());
    }
    names
}

#[test]
fn an_image_keeps_its_content_type_and_may_be_large() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let uploaded = upload(&server, "", "image/png", vec![7; LARGE_BYTES]);
    assert_eq!(uploaded.status, 201, "{uploaded:?}");
    let opened = open(&signed_url(&server, &uploaded.id()));
    assert_eq!(opened.headers()["content-type"], "image/png");
    assert_eq!(opened.bytes().expect("bytes").len(), LARGE_BYTES);
}

#[test]
fn invalid_uploads_are_rejected() {
    struct Row {
        query: &'static str,
        bytes: Vec<u8>,
        status: u16,
        code: &'static str,
    }
    let rows = [
        Row { query: "", bytes: vec![0; BYTES_MAX + 1], status: 413, code: "payload_too_large" },
        Row { query: "", bytes: Vec::new(), status: 400, code: "invalid_body" },
        Row { query: "namespace=none", bytes: vec![1], status: 404, code: "namespace_not_found" },
    ];
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let mut failures = Vec::new();
    for Row { query, bytes, status, code } in rows {
        let rejected = upload(&server, query, "image/png", bytes);
        if rejected.status != status || rejected.body["error"]["code"] != code {
            failures.push(format!("{query:?}: not {status} {code}: {rejected:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
