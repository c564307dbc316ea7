//! Rows of the specification's tables that need the binary. The others are tested in `tests/api`.
//!
//! The limit of concurrent retrievals is in `retrieve`. The sizes of bodies are in `memories` and `media`, the animals
//! API in `pets`, paid plans in `billing`, and the order within a namespace in `memories`. Retries, dead letters and
//! retention are in `memories` and `crash`. The row about missing vectors has no test here, since the built-in embedding
//! does not fail.

use serde_json::{Value, json};

use crate::support::{Server, fresh, index};

/// An index that can be neither opened nor rebuilt. The body must contain neither a path nor a reason.
#[test]
fn an_internal_error_does_not_show_its_cause() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    assert_eq!(server.post("/v1/memories/facts/a.md", &json!({"content": "x"})).status, 201);
    server.kill();
    let index = index(&data, "default");
    std::fs::remove_dir_all(&index).expect("removes");
    std::fs::write(&index, "a file at the index's path").expect("writes");
    let server = Server::start(&data);
    let read = server.get("/v1/memories/facts/a.md");
    assert_eq!((read.status, read.code(), &read.retry_after), (500, "internal", &None), "{read:?}");
    assert_eq!(field_names(&read.body), ["error"]);
    assert_eq!(field_names(&read.body["error"]), ["code", "message"]);
    let found = server.retrieve("default", "q=x");
    assert_eq!((found.status, &found.body["error"], &found.retry_after), (500, &json!("internal"), &None), "{found:?}");
    assert_eq!(field_names(&found.body), ["error", "message", "namespace"]);
    for text in [&read.body["error"]["message"], &found.body["message"], &found.body["namespace"]] {
        assert!(text.as_str().is_some_and(|text| !text.is_empty()), "{read:?} {found:?}");
    }
    assert!(!read.body.to_string().contains("indexes"), "{read:?}");
}

/// Returns the names of the fields of an object.
fn field_names(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}
