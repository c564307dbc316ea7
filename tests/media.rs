//! Uploaded files and the addresses that open them.

use reqwest::blocking::{Client, Response};
use serde_json::{Value, json};

use crate::support::{Server, files_below, fresh, stdout, wait_for};

fn upload(server: &Server, query: &str, kind: &str, bytes: Vec<u8>) -> (u16, Value) {
    let request = Client::new().post(format!("{}/v1/media?{query}", server.url)).bearer_auth(&server.key);
    let response = request.header("content-type", kind).body(bytes).send().expect("answers");
    (response.status().as_u16(), response.json().unwrap_or_default())
}

fn open(url: &str) -> Response {
    Client::new().get(url).send().expect("answers")
}

#[test]
fn a_file_is_kept_and_opened_by_a_signed_address_alone() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let bytes = b"<script>alert(1)</script>\0\xff".to_vec();
    let (status, body) = upload(&server, "filename=caf%C3%A9%22.html", "text/html", bytes.clone());
    assert_eq!(
        (status, &body["namespace"], &body["content_type"]),
        (201, &json!("default"), &json!("text/html")),
        "{body}"
    );
    assert_eq!(body["bytes"], json!(bytes.len()));
    assert_eq!(body["sha256"].as_str().map(str::len), Some(64));
    let id = body["id"].as_str().expect("an id").to_owned();
    server.kill();

    let server = Server::start(&data);
    let address = server.get(&format!("/v1/media/{id}"));
    assert_eq!(address.status, 200, "{address:?}");
    let url = address.body["url"].as_str().expect("an address");
    assert!(url.starts_with(&server.url), "{url}");
    let opened = open(url);
    assert_eq!(opened.status(), 200);
    let header = |name: &str| opened.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
    assert_eq!(header("content-type"), "application/octet-stream", "a browser must not run it");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert!(
        header("content-security-policy").contains("sandbox")
            && header("content-disposition").starts_with("attachment")
    );
    assert_eq!(opened.bytes().expect("bytes"), bytes);

    let altered = url.replace("signature=", "signature=A");
    let prolonged = url.replace("expires=", "expires=9");
    let other = url.replace(&id, "01KR0000000000000000000000");
    for bad in [&altered, &prolonged, &other, &format!("{}/v1/media/{id}/content", server.url)] {
        let refused = open(bad);
        assert_eq!(refused.status(), 403, "{bad}");
        assert_eq!(refused.json::<Value>().expect("JSON"), json!({"message": "Forbidden"}));
    }
    assert_eq!(server.get("/v1/media/none").code(), "not_found");
    let stranger = stdout(&data, &["keys", "create", "--account", "stranger"]);
    assert_eq!(server.call_as(&stranger, "GET", &format!("/v1/media/{id}"), None).status, 404);
}

#[test]
fn a_deleted_namespace_takes_its_files_along() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("gone");
    let ids = ["gone", "default"].map(|namespace| {
        let (_, body) = upload(&server, &format!("namespace={namespace}"), "text/plain", vec![1, 2, 3]);
        body["id"].as_str().expect("an id").to_owned()
    });
    let url = server.get(&format!("/v1/media/{}", ids[0])).body["url"].as_str().expect("an address").to_owned();
    let session = stdout(&data, &["token"]);
    assert_eq!(server.call_as(&session, "DELETE", "/v1/namespaces/gone", None).status, 200);
    assert_eq!(server.get(&format!("/v1/media/{}", ids[0])).status, 404);
    assert_eq!(open(&url).status(), 403);
    // The deletion is answered before its files are gone.
    let names = || -> Vec<String> {
        let name = |path: &std::path::PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
        files_below(&data.join("media")).iter().map(name).collect()
    };
    wait_for("the files of the namespace to be removed", || names() == [ids[1].clone()]);
}

#[test]
fn an_image_keeps_its_type_and_sizes_have_their_limits() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let (status, body) = upload(&server, "", "image/png", vec![7; 9 << 20]);
    assert_eq!(status, 201, "more than a JSON body may have: {body}");
    let url = server.get(&format!("/v1/media/{}", body["id"].as_str().expect("an id"))).body["url"].clone();
    let opened = open(url.as_str().expect("an address"));
    assert_eq!(opened.headers()["content-type"], "image/png");
    assert_eq!(opened.bytes().expect("bytes").len(), 9 << 20);
    let (status, body) = upload(&server, "", "image/png", vec![0; (32 << 20) + 1]);
    assert_eq!((status, &body["error"]["code"]), (413, &json!("payload_too_large")));
    let (status, body) = upload(&server, "", "image/png", Vec::new());
    assert_eq!((status, &body["error"]["code"]), (400, &json!("invalid_body")));
    let (status, body) = upload(&server, "namespace=none", "image/png", vec![1]);
    assert_eq!((status, &body["error"]["code"]), (404, &json!("namespace_not_found")));
}
