//! Uploaded files: large ones, and those on disk. The routes are tested in `tests/api`.

use reqwest::blocking::{Client, Response};
use serde_json::{Value, json};

use crate::support::{Server, files_below, fresh, stdout, wait_for};

/// A file that is not text.
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

#[test]
fn an_upload_can_be_opened_after_a_kill() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let uploaded = upload(&server, "filename=caf%C3%A9%22.html", "text/html", PAGE.to_vec());
    assert_eq!((uploaded.status, &uploaded.body["bytes"]), (201, &json!(PAGE.len())), "{uploaded:?}");
    server.kill();
    let server = Server::start(&data);
    let url = signed_url(&server, &uploaded.id());
    assert!(url.starts_with(&server.url), "{url}");
    let opened = open(&url);
    assert_eq!(opened.status(), 200);
    assert_eq!(opened.bytes().expect("bytes"), PAGE);
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
fn an_upload_above_the_maximum_is_rejected() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let rejected = upload(&server, "", "image/png", vec![0; BYTES_MAX + 1]);
    assert_eq!((rejected.status, &rejected.body["error"]["code"]), (413, &json!("payload_too_large")), "{rejected:?}");
}
